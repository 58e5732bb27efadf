"""Loading of components and release of their memory."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..api.budget import Budget
from ..api.errors import BadModel, NotHere, T2IError
from ..api.executor import ComponentSettings, Executor, Workers
from ..api.plugin_guard import guard_plugin
from ..api.resolver import ResolvedComponent
from ..results.manifest import SpeedRecord
from ..storage.store import Store
from .component import Component
from .run_journal import RunJournal


@dataclass(frozen=True)
class Execution:
    """Settings and executor of components, which do not affect results.

    Attributes:
        settings: Settings of all components.
        executor: Runs them.
        budget: What paid components may spend.
        journal: Notes images and failures for those who follow the run.
    """

    settings: ComponentSettings
    executor: Executor
    budget: Budget = field(default_factory=Budget)
    journal: RunJournal = field(default_factory=RunJournal)


@contextmanager
def open_component(
    component: ResolvedComponent[Any], how: ComponentSettings, budget: Budget | None = None
) -> Iterator[Any]:
    """Create a generator or judge, and release it and its memory afterwards.

    Args:
        component: The component.
        how: Settings of its setup.
        budget: What it may spend. If None, that is not limited.

    Raises:
        MissingDependency: If a module is not installed.
        BrokenPlugin: If the factory fails.
    """
    with _collect_garbage():
        with guard_plugin(component, "to load"):
            setup = component.setup(how.device, how.batch_size, how.offline)
            instance = component.info.create(replace(setup, budget=budget or setup.budget))
        try:
            yield instance
        except BaseException as error:
            try:
                _close(component, instance)
            except T2IError as another:  # the first error is the one to report
                error.add_note(str(another))
            raise
        else:
            _close(component, instance)
        finally:
            del instance


@dataclass
class _FrozenObjects:
    """Which objects the garbage collector does not search now.

    Attributes:
        by_component: Whether a component that is open froze those that were there before it.
        by_caller: Whether the program that runs t2i froze some. If so, it is not asked again: the collector counts
            them for its answer, and counting a million takes as long as a small run.
    """

    by_component: bool = False
    by_caller: bool = False


_frozen = _FrozenObjects()


@contextmanager
def _collect_garbage() -> Iterator[None]:
    """Collect, at the end of the block, the garbage that came into being in it.

    The memory of a device is released with the last tensor, even in a cycle. Older objects are not searched: those
    of torch and other libraries alone would take longer than a small run.
    """
    if not (_frozen.by_component or _frozen.by_caller):
        _frozen.by_caller = gc.get_freeze_count() > 0
    outermost = not (_frozen.by_component or _frozen.by_caller)
    if outermost:
        gc.freeze()
        _frozen.by_component = True
    try:
        yield
    finally:
        if "torch" in sys.modules:
            gc.collect()
        if outermost:
            gc.unfreeze()
            _frozen.by_component = False


def settle_on_machine(component: Component[Any], device: str | None, offline: bool = False) -> Component[Any]:
    """Return a component whose options are settled for this machine."""
    resolve = component.info.loading.resolve
    if resolve is None:
        return component
    with guard_plugin(component, "to settle its options for this machine"):
        return replace(component, options=resolve(component.setup(device, offline=offline)))


def has_fingerprint(component: Component[Any]) -> bool:
    """Return whether the weights that results depend on are on this machine, or known by their revision.

    Raises:
        BadModel: If they are here and cannot be read.
    """
    try:
        return bool(component.fingerprint)
    except BadModel as error:
        if isinstance(error, NotHere) or isinstance(error.__cause__, FileNotFoundError):
            return False
        raise


def fetch_weights(component: Component[Any], device: str | None = None) -> list[str] | None:
    """Have a component download everything that it loads.

    Returns:
        The revisions of its weights (ORG/NAME@COMMIT), as far as it tells them; None if it downloads nothing.

    Raises:
        T2IError: If a download fails, or something is wrong with the component, its argument or its options.
    """
    settled = settle_on_machine(component, device)
    loading = settled.info.loading
    if loading.prefetch is not None:
        with guard_plugin(settled, "to fetch what it loads"):
            loading.prefetch(settled.setup(device))
    if loading.check is not None:  # files that are here may be damaged
        with guard_plugin(settled, "to check its argument and options"):
            loading.check(settled.setup(device))
    if loading.prefetch is None:
        return None
    with guard_plugin(settled, "to say what it depends on"):
        depends_on = loading.weights(settled.argument, settled.options) if loading.weights else ()
        return [text for text in depends_on if isinstance(text, str) and re.search("@[0-9a-f]{40}$", text)]


def find_missing_weights(component: Component[Any], device: str | None = None) -> NotHere | None:
    """Return which weights of a component are not on this machine, without using the network; None if all are.

    Files are looked for and need not be valid.

    Raises:
        T2IError: If that cannot be determined, or something else is wrong with the component.
    """
    try:
        settled = settle_on_machine(component, device, offline=True)
        check = settled.info.loading.check
        if check is not None:
            with guard_plugin(settled, "to check its argument and options"):
                check(settled.setup(device, offline=True, dry=True))
    except NotHere as error:
        return error
    return None


def _close(component: ResolvedComponent[Any], instance: Any) -> None:
    if hasattr(instance, "close"):
        with guard_plugin(component, "to let go"):
            instance.close()


def keep_settings(store: Store, component: Component[Any], settings: Mapping[str, Any], fingerprint: str) -> None:
    """Store the settings that a model or judge reports after its work."""
    with guard_plugin(component, "to say its settings as plain data"):
        store.put_settings(fingerprint, settings)


def keep_rate(store: Store, fingerprint: str, workers: Workers, elapsed: float, count: int) -> None:
    """Store how many seconds of one worker an item takes.

    Args:
        store: The cache.
        fingerprint: Fingerprint of the component.
        workers: The workers, after their work.
        elapsed: Seconds that the work has taken.
        count: Number of items.
    """
    if count:
        store.put_rate(fingerprint, (elapsed if workers.busy_seconds is None else workers.busy_seconds) / count)


def keep_speed(store: Store, fingerprint: str, speed: SpeedRecord | None) -> None:
    """Store the speed of a model, if it was measured."""
    if speed is not None:
        store.put_settings(f"speed {fingerprint}", speed.model_dump())


def read_speed(store: Store, fingerprint: str) -> dict[str, Any] | None:
    """Return the speed of a model when it was last measured; None if it never was."""
    return store.settings(f"speed {fingerprint}")


def add_note(title: str, note: str) -> str:
    """Return the title of a task with a word about where it runs."""
    return f"{title} ({note})" if note else title
