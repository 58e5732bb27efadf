"""The t2i command line: resolves through the registry, runs through core, prints."""

from __future__ import annotations


def main() -> None:
    """Run the command `t2i`."""
    from .app import run

    run()
