"""The t2i command line: resolves through the registry, runs through core, prints."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `t2i`."""
    from .interrupts import Interrupted, heed_interrupts

    heed_interrupts()
    try:
        from .app import run

        run()
    except Interrupted as error:  # while it starts or leaves: nothing is at work
        print("error: interrupted", file=sys.stderr)
        sys.exit(error.exit_code)
