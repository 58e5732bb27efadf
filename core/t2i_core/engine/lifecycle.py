"""Loading of components and release of their memory."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..api.errors import BadModel, NotHere, T2IError
from ..api.plugin_guard import guard_plugin
from ..storage.store import Store
from .component import Component


@dataclass(frozen=True)
class Execution:
    """Settings of the execution, which do not affect results.

    Attributes:
        device: `cpu`, `cuda`, `cuda:N` or `mps`. If None, the plugin chooses.
        batch_size: Batch size. If None, the plugin chooses.
        offline: True if nothing may be downloaded.
    """

    device: str | None = None
    batch_size: int | None = None
    offline: bool = False


@contextmanager
def open_component(component: Component[Any], how: Execution) -> Iterator[Any]:
    """Create a generator or judge, and release it and its memory afterwards.

    Raises:
        MissingDependency: If a module is not installed.
        BrokenPlugin: If the factory fails.
    """
    with guard_plugin(component, "to load"):
        instance = component.info.create(component.setup(how.device, how.batch_size, how.offline))
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
        gc.collect()


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


def _close(component: Component[Any], instance: Any) -> None:
    if hasattr(instance, "close"):
        with guard_plugin(component, "to let go"):
            instance.close()


def keep_settings(store: Store, component: Component[Any], instance: Any, fingerprint: str) -> None:
    """Store the settings that a model or judge reports after its work."""
    with guard_plugin(component, "to say its settings as plain data"):
        store.put_settings(fingerprint, getattr(instance, "settings", None) or {})
