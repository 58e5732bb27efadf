"""The contract of executors: where components run, and how a stream of items gets to them and back.

The engine gives an executor a `ComponentTask` and a stream of items, and gets each item back with what is to be
stored. It does not know in which thread, process or machine the component ran. An executor that is not `local`
comes from a plugin with an entry point in the group `t2i.executors`, whose target is an `ExecutorInfo`:

    [project.entry-points."t2i.executors"]
    ray = "t2i_ray.plugin:EXECUTOR"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from .environment import Environment, EnvironmentRequest
    from .image import Image
    from .progress import Progress
    from .resolver import ResolvedComponent

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class ComponentSettings:
    """Settings of all components of a run, which do not affect results.

    Attributes:
        device: `cpu`, `cuda`, `cuda:N` or `mps`. If None, the plugin chooses.
        batch_size: Batch size. If None, the plugin chooses.
        offline: True if nothing may be downloaded.
    """

    device: str | None = None
    batch_size: int | None = None
    offline: bool = False


class ComponentTask(Protocol):
    """The work of a component on a stream of items.

    It can be pickled without its component, which an executor creates again by name where it runs.
    """

    @property
    def component(self) -> ResolvedComponent[Any]:
        """The generator or judge."""
        ...

    @property
    def settings(self) -> ComponentSettings:
        """Settings that its factory takes."""
        ...

    def with_component(self, component: ResolvedComponent[Any] | None) -> ComponentTask:
        """Return the same task for a component that was found elsewhere; without one, plain data."""
        ...

    def work(self, instance: Any, items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Call the component with a stream of items; yield what it yields."""
        ...

    def list_images(self, item: Any) -> Sequence[Image]:
        """Return the images that the component reads for an item."""
        ...

    def take(self, item: Any, answer: Any) -> Callable[[], Any]:
        """Take an answer before the component goes on, which may use its memory again.

        Returns:
            A function that returns the answer as it is stored, or a Failure. It may run in any thread.
        """
        ...

    def write(self, encoded: Any, cache: Path) -> Any:
        """Write the part of an encoded answer that is a file into the cache folder, and return the rest.

        Raises:
            OSError: If it cannot be written.
        """
        ...


class WorkerAnswer(NamedTuple, Generic[ItemT]):
    """One item with its answer.

    Attributes:
        item: The item, the same object that was given.
        encode: Returns what is to be stored, or a Failure; or the DamagedImage that kept the item's images from
            being read. It may be called in any thread.
        raised: True if the component raised, for this item alone.
    """

    item: ItemT
    encode: Callable[[], Any]
    raised: bool = False


def make_constant(value: Any) -> Callable[[], Any]:
    """Return a function that returns this value, for an answer that is encoded already."""
    return lambda: value


class Workers(Protocol):
    """A component that runs somewhere, ready to answer."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the component reports about itself, after its work."""
        ...

    @property
    def note(self) -> str:
        """A word about where it runs, for progress (`4 workers`); empty if it runs in this process."""
        ...

    @property
    def busy_seconds(self) -> float | None:
        """Seconds that all workers together have worked on items; None if one process works, whose time counts."""
        ...

    def answer(self, items: Iterable[ItemT]) -> Iterator[WorkerAnswer[ItemT]]:
        """Yield each item once with its answer, in any order.

        Items are taken lazily, in the caller's thread.

        Raises:
            T2IError: Any that the component raises, and BrokenPlugin if it breaks its contract.
        """
        ...


class Executor(Protocol):
    """Runs components."""

    def open(self, task: ComponentTask) -> AbstractContextManager[Workers]:
        """Create a component, and release it afterwards.

        Raises:
            MissingDependency: If a module is not installed.
            BrokenPlugin: If the factory fails.
        """
        ...


@dataclass(frozen=True)
class ExecutorSettings:
    """Settings of an executor, as the user gives them.

    Attributes:
        address: Address of a running cluster. If None, the executor starts its own.
        workers: Number of workers of a component. If None, the executor chooses.
        gpus_per_worker: GPUs of a worker; a part of one lets workers share it. If None, the executor chooses.
        cache: The cache folder, whose images workers read and write where they see it.
        local: The executor `local`, which can be pickled: it runs a component within a worker, and those in this
            process that need no worker.
    """

    address: str | None
    workers: int | None
    gpus_per_worker: float | None
    cache: Path
    local: Executor


WorkerCounts = Callable[
    ["ExecutorSettings", ComponentSettings, Sequence["ResolvedComponent[Any]"]], Sequence["int | None"]
]


@dataclass(frozen=True)
class ExecutorInfo:
    """Describe an executor.

    Attributes:
        name: The entry point's name.
        summary: One line.
        create: Starts the executor; leaving the block stops what it has started. Imports heavy libraries here.
        build_environment: Returns the environment of a component, built if need be, in which the executor then
            runs the component (`ResolvedComponent.environment`). None if it has no environments.
        count_workers: Returns the number of workers of each of some components, without starting any; None for a
            component that runs in this process. The arguments are the executor's settings, those of the
            components, and the components. Raises what a run raises for these settings. None if the numbers are
            not known before a run.
    """

    name: str
    summary: str
    create: Callable[[ExecutorSettings, Progress], AbstractContextManager[Executor]]
    build_environment: Callable[[EnvironmentRequest], Environment] | None = None
    count_workers: WorkerCounts | None = None
