"""The executor's entry point. Ray itself is imported when a run starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from t2i_core.api.environment import Environment, EnvironmentRequest
from t2i_core.api.executor import ComponentSettings, Executor, ExecutorInfo, ExecutorSettings
from t2i_core.api.progress import Progress
from t2i_core.api.resolver import ResolvedComponent


@contextmanager
def _create(settings: ExecutorSettings, progress: Progress) -> Iterator[Executor]:
    from .on_demand import OnDemandExecutor

    with ExitStack() as held:
        yield OnDemandExecutor(settings, progress, held)


def _build_environment(request: EnvironmentRequest) -> Environment:
    from .environment import build_environment

    return build_environment(request)


def _count_workers(
    asked: ExecutorSettings, settings: ComponentSettings, components: Sequence[ResolvedComponent[Any]]
) -> list[int | None]:
    from .on_demand import count_workers

    return count_workers(asked, settings, components)


EXECUTOR = ExecutorInfo(
    name="ray",
    summary="Workers on the GPUs of this machine or of a Ray cluster.",
    create=_create,
    build_environment=_build_environment,
    count_workers=_count_workers,
)
