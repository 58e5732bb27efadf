"""Calls of plugin code: every exception becomes an error of one line that names the plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..files.image_file import DamagedImage
from .errors import BadFolder, BrokenPlugin, MissingDependency, NotHere, T2IError
from .redaction import redact_error
from .resolver import ResolvedComponent
from .text import describe_error


@contextmanager
def guard_plugin(component: ResolvedComponent[Any], doing: str, reraise_damage: bool = False) -> Iterator[None]:
    """Turn every exception of a plugin's code, SystemExit too, into an error that names the plugin.

    Args:
        component: The component whose code the block runs.
        doing: What it does, for the message.
        reraise_damage: Whether a DamagedImage passes through, for callers that make the image again.

    Raises:
        T2IError: An error of t2i passes through.
        MissingDependency: If a package is not installed; not for a missing module of an installed package, which
            may have another version, or of the plugin itself.
        BadFolder: If an image is damaged, because it is the user's file.
        BrokenPlugin: For any other exception.
    """
    try:
        yield
    except BaseException as error:
        redact_error(error)
        explained = _explain(error, component, doing, reraise_damage)
        if explained is error:
            raise
        raise explained from error


def _explain(
    error: BaseException, component: ResolvedComponent[Any], doing: str, reraise_damage: bool
) -> BaseException:
    """Return the error to raise for one that a plugin's code raised: the same one if it passes through."""
    who = describe_component(component)
    if isinstance(error, NotHere):  # only the caller knows the name that the user gave
        return error.rename(component.asked)
    if isinstance(error, KeyboardInterrupt | T2IError):
        return error
    if isinstance(error, DamagedImage):
        return error if reraise_damage else BadFolder(f"{who} cannot go on {doing}: {error}")
    if isinstance(error, ModuleNotFoundError):
        missing, own = (name.partition(".")[0] for name in (error.name or "", component.module))
        installed = missing != error.name and sys.modules.get(missing) is not None
        if missing not in ("", own) and not installed:
            return MissingDependency(
                f"{who} needs the module {missing!r}, which is not installed: install "
                f"{component.dist or 'it'} with all that it depends on"
            )
    return BrokenPlugin(f"{who} failed {doing}: {describe_error(error)}")


def describe_component(component: ResolvedComponent[Any]) -> str:
    """Name a component with what it comes from, for messages."""
    origin = f" ({component.dist} {component.version}, {component.module})" if component.dist else ""
    return f"{component.kind.replace('_', ' ')} {component.spec!r}{origin}"
