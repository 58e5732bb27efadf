"""The registry: finds, resolves and configures t2i plugins.

Listing reads metadata only. A plugin's module is imported when somebody uses one of its components by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .discovery import Catalogue, Entry, scan

if TYPE_CHECKING:
    from .registry import Registry

__all__ = ["Catalogue", "Entry", "Registry", "scan"]


def __getattr__(name: str) -> Any:
    if name == "Registry":
        from .registry import Registry

        return Registry
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
