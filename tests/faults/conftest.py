"""One fork server and one undisturbed run of each kind for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from faults.command import ForkServer, Undisturbed

settings.register_profile("thorough", max_examples=500, stateful_step_count=20)


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def undisturbed(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return {kind: server.measure_undisturbed(folder, kind) for kind in ("scores", "data")}
