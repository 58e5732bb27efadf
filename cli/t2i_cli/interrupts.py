"""Handling of Ctrl-C and of SIGTERM, which batch systems send.

The first signal stops the work in order: it raises KeyboardInterrupt in the main thread. A second signal ends the
process at once. A library may swallow the exception or replace it with another one, so this module remembers the
signal, raises the exception again, and finds the exit code.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType
from typing import Any

from t2i_core.api.errors import INTERRUPTED, BrokenPlugin, MissingDependency, T2IError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []

_SHOW_CURSOR = b"\x1b[?25h"
"""Shows the cursor, which progress bars hide and a second signal would leave hidden."""


def install_handlers() -> None:
    """Make both signals interrupt the main thread, except a signal that the parent process ignores (nohup)."""
    _handle(_interrupt)
    sys.unraisablehook = _unraisable
    # registered first, so run last: a signal during Python's shutdown must not end a finished run
    atexit.register(_handle, signal.SIG_IGN)


def raise_interrupt() -> None:
    """Raise KeyboardInterrupt again if a library swallowed it (some take it for a missing module)."""
    if _received:
        raise KeyboardInterrupt


def find_exit_code(error: BaseException) -> int | None:
    """Return the exit code if an interrupt caused an error: 130 for Ctrl-C, 143 for SIGTERM; otherwise None.

    After a signal, an error from other code counts as a consequence of the signal, because the two cannot be
    distinguished. An error that t2i raises about a run, a folder or a request keeps its own exit code.
    """
    own = isinstance(error, T2IError) and not isinstance(error, BrokenPlugin | MissingDependency)
    if _received and not own:
        return 128 + _received[0]
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else None


def _interrupt(number: int, frame: FrameType | None) -> None:
    _handle(signal.SIG_DFL)  # the system handles the next signal: no Python code can delay it
    _received.append(number)
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    raise KeyboardInterrupt


def _handle(handler: Any) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _unraisable(unraisable: Any) -> None:
    """Report an exception from clean-up code, except an interrupt, which is raised again later."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
