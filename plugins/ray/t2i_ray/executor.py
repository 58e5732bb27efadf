"""The executor `ray`. It imports Ray, which reads the environment that `connect` has set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from t2i_core.api.executor import ComponentTask, ExecutorSettings, Workers
from t2i_core.api.plugin_guard import describe_component
from t2i_core.api.progress import Progress

from .cluster import list_machines
from .environment_check import check_environment
from .member import Launch
from .placement import place_workers
from .sent_component import send_component
from .workers import RayWorkers


@dataclass(frozen=True)
class RayExecutor:
    """Runs components as workers of a Ray cluster.

    Attributes:
        settings: The user's settings of workers.
        progress: Gets a note when the workers change.
    """

    settings: ExecutorSettings
    progress: Progress

    @contextmanager
    def open(self, task: ComponentTask) -> Iterator[Workers]:
        """Start the workers of a component, and stop them afterwards.

        Raises:
            BadOption: If the cluster has no room for a worker.
            MissingDependency: If a worker lacks a distribution, or has another version.
            BadFolder: If a machine of the cluster does not see the component's environment.
            BadModel: If the component's code or weights on a worker are not the driver's.
            T2IError: Any that the component raises.
        """
        own, asked = task.settings, self.settings
        placement = place_workers(list_machines(), asked.workers, asked.gpus_per_worker, own.device)
        if placement.room < placement.workers:
            self.progress.note(f"the cluster has room for {placement.room} of {placement.workers} workers now")
        environment = task.component.environment
        python = str(environment.python) if environment else None
        if python is not None:
            check_environment(python, describe_component(task.component))
        launch = Launch(placement, send_component(task.component), asked.local, asked.cache, python)
        workers = RayWorkers(task, launch, self.progress)
        try:
            workers.start()
            yield workers
        except BaseException:
            workers.kill()
            raise
        workers.close()
