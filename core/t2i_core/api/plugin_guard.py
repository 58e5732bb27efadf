"""Calling code of plugins: whatever it raises becomes one line that names the plugin."""

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
def guard_plugin(component: ResolvedComponent[Any], doing: str, heeds_damage: bool = False) -> Iterator[None]:
    """Run a plugin's code: what it raises, be it the wish to exit, is a BrokenPlugin that says who did what.

    A T2IError goes through. A package that is not installed is a MissingDependency; not so a module that an
    installed package lacks, as one of another version may, or the plugin's own. A damaged image is the user's file
    and a BadFolder, unless the caller heeds it.
    """
    try:
        with redacted_errors():
            yield
    except NotHere as error:  # by the name that the user gave, which a plugin does not know
        raise error.told_as(component.asked) from error
    except (KeyboardInterrupt, T2IError):
        raise
    except DamagedImage as error:
        if heeds_damage:
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
