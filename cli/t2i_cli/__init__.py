"""The t2i command line: the registry finds components, core runs the evaluation, this package prints."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `t2i`."""
    from t2i_core.engine.thread_pools import limit_threads, sleep_while_waiting

    from .interrupts import find_exit_code, install_handlers

    sleep_while_waiting()
    limit_threads()
    install_handlers()
    try:
        from .app import run

        run()
    except KeyboardInterrupt as error:  # during start-up or shutdown, when no work is running
        print("error: interrupted", file=sys.stderr)
        sys.exit(find_exit_code(error))
