"""Turning descriptors into working parts, and letting go of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..components import Component
from ..errors import BrokenPlugin, MissingDependency, T2IError


@dataclass(frozen=True)
class Execution:
    """How work is done: nothing of it changes results."""

    device: str | None = None
    batch_size: int | None = None
    offline: bool = False


@contextmanager
def made(component: Component[Any], how: Execution) -> Iterator[Any]:
    """Make a generator or judge, and let go of it and of its memory afterwards.

    Raises MissingDependency where an import fails and BrokenPlugin where the factory does.
    """
    who = described(component)
    try:
        instance = component.info.create(component.setup(how.device, how.batch_size, how.offline))
    except T2IError:
        raise
    except ImportError as error:
        raise MissingDependency(f"{who} cannot be loaded: {error}; install what it needs") from error
    except Exception as error:
        raise BrokenPlugin(f"{who} cannot be made: {type(error).__name__}: {error}") from error
    try:
        yield instance
    finally:
        if hasattr(instance, "close"):
            instance.close()
        del instance
        gc.collect()


def described(component: Component[Any]) -> str:
    """Name a component with what it comes from, for messages."""
    origin = f" ({component.dist} {component.version}, {component.module})" if component.dist else ""
    return f"{component.kind.replace('_', ' ')} {component.spec!r}{origin}"
