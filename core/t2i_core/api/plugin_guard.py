"""Calls of plugin code: every exception becomes an error of one line that names the plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..files.image_file import DamagedImage
from .errors import BadFolder, BrokenPlugin, MissingDependency, NotHere, T2IError
from .redaction import redacted_errors
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
        with redacted_errors():
            yield
    except NotHere as error:  # only the caller knows the name that the user gave
        raise error.rename(component.asked) from error
    except (KeyboardInterrupt, T2IError):
        raise
    except DamagedImage as error:
        if reraise_damage:
            raise
        raise BadFolder(f"{describe_component(component)} cannot go on {doing}: {error}") from error
    except ModuleNotFoundError as error:
        missing, own = (name.partition(".")[0] for name in (error.name or "", component.module))
        installed = missing != error.name and sys.modules.get(missing) is not None
        if missing in ("", own) or installed:
            raise BrokenPlugin(
                f"{describe_component(component)} failed {doing}: {describe_error(error)}"
            ) from error
        raise MissingDependency(
            f"{describe_component(component)} needs the module {missing!r}, which is not installed: install "
            f"{component.dist or 'it'} with all that it depends on"
        ) from error
    except BaseException as error:
        raise BrokenPlugin(f"{describe_component(component)} failed {doing}: {describe_error(error)}") from error


def describe_component(component: ResolvedComponent[Any]) -> str:
    """Name a component with what it comes from, for messages."""
    origin = f" ({component.dist} {component.version}, {component.module})" if component.dist else ""
    return f"{component.kind.replace('_', ' ')} {component.spec!r}{origin}"
