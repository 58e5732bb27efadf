"""The executor `ray` for a run: it connects to Ray when the first component needs workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from t2i_core.api.executor import ComponentSettings, ComponentTask, Executor, ExecutorSettings, Workers
from t2i_core.api.plugin_info import ExistingImagesInfo, JudgeInfo
from t2i_core.api.progress import Progress
from t2i_core.api.resolver import ResolvedComponent

from .cluster import connect, survey_machines
from .placement import place_workers


class OnDemandExecutor:
    """Runs components as workers of a Ray cluster, and those that take no work in this process.

    Args:
        settings: The user's settings of workers.
        progress: Gets a note when the workers change.
        held: Holds the connection until the run ends.
    """

    def __init__(self, settings: ExecutorSettings, progress: Progress, held: ExitStack) -> None:
        self._settings, self._progress, self._held = settings, progress, held
        self._executor: Executor | None = None

    @contextmanager
    def open(self, task: ComponentTask) -> Iterator[Workers]:
        """Create a component, and release it afterwards.

        Raises:
            BadOption: If no cluster answers at the address, or it has no room for a worker.
            MissingDependency: If Ray cannot start here, or a worker lacks a distribution.
            T2IError: Any other of `RayExecutor.open`.
        """
        executor = self._settings.local if runs_on_driver(task.component) else self._connect()
        with executor.open(task) as workers:
            yield workers

    def _connect(self) -> Executor:
        if self._executor is None:
            self._held.enter_context(connect(self._settings.address))
            from .executor import RayExecutor  # it imports Ray, which reads the environment that `connect` has set

            self._executor = RayExecutor(self._settings, self._progress)
        return self._executor


def count_workers(
    asked: ExecutorSettings, settings: ComponentSettings, components: Sequence[ResolvedComponent[Any]]
) -> list[int | None]:
    """Return the number of workers of each of some components; None for one that runs in this process.

    A cluster that runs already is asked what it has; none is started.

    Raises:
        BadOption: If no cluster answers at the address, or it has no room for a worker.
    """
    if all(map(runs_on_driver, components)):
        return [None] * len(components)
    machines = survey_machines(asked.address)
    count = place_workers(machines, asked.workers, asked.gpus_per_worker, settings.device).workers
    return [None if runs_on_driver(each) else count for each in components]


def runs_on_driver(component: ResolvedComponent[Any]) -> bool:
    """Return whether a component runs in this process.

    Images that exist already and people's answers lie here and take no work; code that no plugin holds cannot be
    found elsewhere.
    """
    info = component.info
    by_people = isinstance(info, JudgeInfo) and info.by_people
    return not component.module or isinstance(info, ExistingImagesInfo) or by_people
