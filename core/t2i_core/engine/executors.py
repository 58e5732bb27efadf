"""Executors by name: `local`, and those of plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..api.errors import AmbiguousName, BadOption, BrokenPlugin, MissingDependency, T2IError, UnknownName
from ..api.executor import (
    ComponentSettings,
    ComponentTask,
    Executor,
    ExecutorInfo,
    ExecutorSettings,
    Workers,
)
from ..api.extension import Extension
from ..api.prices import find_price
from ..api.progress import Progress
from ..api.resolver import ResolvedComponent, Resolver
from ..api.text import describe_error
from ..storage.store import Store
from .lifecycle import Execution
from .local_executor import LocalExecutor
from .request import LOCAL, Request

GROUP = "t2i.executors"


def find_executor(request: Request, resolver: Resolver[Any]) -> ExecutorInfo | None:
    """Return the executor of a request; None for `local`.

    Raises:
        BadOption: If the request says where workers run, and none are used.
        MissingDependency: If it is not installed.
        UnknownName: If no plugin offers it.
        AmbiguousName: If several do.
        BrokenPlugin: If its plugin does not load.
    """
    name = request.executor or LOCAL
    if name == LOCAL:
        for option in ("address", "workers", "gpus_per_worker"):
            if getattr(request, option) is not None:
                raise BadOption(f"--{option.replace('_', '-')} needs an executor with workers; add --executor ray")
        return None
    offered = resolver.list_extensions(GROUP)
    found = [each for each in offered if each.name == name]
    if not found and (dist := resolver.find_missing_dist(name)) is not None:
        raise MissingDependency(f"executor {name!r} is not installed; install {dist}")
    if not found:
        raise UnknownName.among("executor", name, {LOCAL, *(each.name for each in offered)})
    if len(found) > 1:
        raise AmbiguousName(f"executor {name!r} is offered by {' and '.join(each.dist for each in found)}")
    return _load(found[0])


def _load(entry: Extension) -> ExecutorInfo:
    module, _, attribute = entry.target.partition(":")
    try:
        info = getattr(import_module(module), attribute)
    except T2IError:
        raise
    except Exception as error:  # any fault of the plugin
        raise BrokenPlugin(f"executor {entry.name!r} of {entry.origin}: {describe_error(error)}") from error
    if not isinstance(info, ExecutorInfo):
        raise BrokenPlugin(f"executor {entry.name!r} of {entry.origin} is {type(info).__name__}, not ExecutorInfo")
    return info


@contextmanager
def open_executor(
    info: ExecutorInfo | None, request: Request, store: Store, progress: Progress
) -> Iterator[Executor]:
    """Start the executor of a run, and stop what it has started afterwards.

    Raises:
        T2IError: If it cannot start.
    """
    if info is None:
        yield LocalExecutor()
        return
    with info.create(_make_settings(request, store), progress) as executor:
        yield executor


def count_workers(
    info: ExecutorInfo | None, request: Request, store: Store, components: Sequence[ResolvedComponent[Any]]
) -> list[int | None]:
    """Return the number of workers that each component would get, without starting any.

    Args:
        info: The executor; None for `local`.
        request: The request.
        store: The cache.
        components: The components that have work.

    Returns:
        The numbers. None for a component that runs in this process, or if the executor does not know the number
        before a run.

    Raises:
        T2IError: If a run would refuse what the request says about workers.
    """
    elsewhere = [each for each in components if not _runs_here(each)]
    if info is None or info.count_workers is None or not elsewhere:
        return [None] * len(components)
    settings = ComponentSettings(request.device, request.batch_size, request.offline)
    counts = iter(info.count_workers(_make_settings(request, store), settings, elsewhere))
    return [None if _runs_here(each) else next(counts) for each in components]


def _make_settings(request: Request, store: Store) -> ExecutorSettings:
    return ExecutorSettings(
        request.address, request.workers, request.gpus_per_worker, store.folder, LocalExecutor()
    )


def _runs_here(component: ResolvedComponent[Any]) -> bool:
    """Return whether a component runs in this process under any executor.

    One that asks a paid service does, because several processes could not hold one limit of costs.
    """
    return component.environment is None and find_price(component) is not None


@contextmanager
def open_workers(task: ComponentTask, how: Execution) -> Iterator[Workers]:
    """Create a component, and release it afterwards.

    Raises:
        T2IError: If it cannot be created.
    """
    component = task.component
    executor = LocalExecutor(how.budget) if _runs_here(component) else how.executor
    with how.budget.charge_to(f"{component.kind} {component.spec}"), executor.open(task) as workers:
        yield workers
