"""Versions of t2i's distributions on the driver and on workers, which must be the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import distributions

from packaging.utils import canonicalize_name

OWN_DISTS = ("t2i-core", "t2i-registry", "t2i-ray")
"""Distributions that every worker must have."""


def list_versions(further: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of the installed distributions of t2i, and of further ones, by normalized name."""
    wanted: set[str] = {canonicalize_name(name) for name in further if name}
    found: dict[str, str] = {}
    for each in distributions():
        name: str = canonicalize_name(each.metadata["Name"] or "")
        if name in wanted or name == "t2i" or name.startswith("t2i-"):
            found.setdefault(name, each.version)  # the first on the path is the one that is imported
    return found


def find_difference(here: Mapping[str, str], there: Mapping[str, str], needed: Iterable[str]) -> str | None:
    """Return in words how a worker's distributions differ from the driver's; None if they do not.

    Args:
        here: The driver's versions by name.
        there: The worker's.
        needed: Distributions that the worker must have, if the driver has them. It may lack others.
    """
    for name in sorted(here.keys() & {canonicalize_name(each) for each in needed}):
        if name not in there:
            return f"lacks {name} {here[name]}"
    for name in sorted(here.keys() & there.keys()):
        if here[name] != there[name]:
            return f"has {name} {there[name]}, this machine {here[name]}"
    return None
