"""Entry points by which one plugin extends another: groups other than the kinds of components."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Extension:
    """One entry point of an installed distribution in a group that a plugin reads.

    Attributes:
        group: The group, such as `t2i.paper_tables`.
        name: Name of the entry point.
        dist: Name of the distribution.
        version: Version of the distribution.
        target: Target of the entry point.
    """

    group: str
    name: str
    dist: str
    version: str
    target: str

    @property
    def origin(self) -> str:
        """Distribution, version and target, for messages about the plugin."""
        return f"{self.dist} {self.version} ({self.target})"
