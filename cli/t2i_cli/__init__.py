"""The t2i command line: resolves through the registry, runs through core, prints."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `t2i`."""
    from t2i_core.engine.thread_pools import limit_threads, sleep_while_waiting

    from .interrupts import find_exit_code, heed_interrupts

    sleep_while_waiting()
    limit_threads()
    heed_interrupts()
    try:
        from .app import run

        run()
    except KeyboardInterrupt as error:  # while it starts or leaves: nothing is at work
        print("error: interrupted", file=sys.stderr)
        sys.exit(find_exit_code(error))
