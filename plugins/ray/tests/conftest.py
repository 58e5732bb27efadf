from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The toy plugin, for this process and the workers."""
    from ray_toy import add_to_path, install_toy

    folder = tmp_path_factory.mktemp("toy")
    install_toy(folder)
    path, before = list(sys.path), os.environ.get("PYTHONPATH")
    add_to_path(folder)
    yield folder
    sys.path[:] = path
    os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@pytest.fixture(scope="module")
def cluster(toy: Path) -> Iterator[Any]:
    """A cluster of three machines on this one.

    This process stays connected until the module's tests end, because other modules test a process without a
    connection.
    """
    from ray_nodes import start_cluster

    with start_cluster(3) as started:
        yield started
