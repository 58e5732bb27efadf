"""Ctrl-C, and SIGTERM, which batch systems send: the first ends the work in order, the second ends it at once.

The first raises KeyboardInterrupt wherever the main thread is. Other people's code may swallow that, or raise
something else on its way out: what was received is remembered, raised again, and said in the end.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType
from typing import Any

from t2i_core.api.errors import INTERRUPTED, BrokenPlugin, MissingDependency, T2IError

_HEEDED = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []

_SHOW_CURSOR = b"\x1b[?25h"
"""Progress bars hide it, and would leave it so where a second signal ends the process."""


def heed_interrupts() -> None:
    """Have both interrupt the main thread; what our parent had us ignore (nohup) stays ignored."""
    _handle(_interrupt)
    sys.unraisablehook = _unraisable
    # registered first, so done last: Python's end would leave both to the system, and a done run would end by one
    atexit.register(_handle, signal.SIG_IGN)


def raise_interrupt() -> None:
    """Raise an interrupt again that was swallowed (trimesh, for one, takes it for a module that is not there)."""
    if _received:
        raise KeyboardInterrupt


def find_exit_code(error: BaseException) -> int | None:
    """Return the exit code if an interrupt caused an error: 130 for Ctrl-C, 143 for SIGTERM; else None.

    What other code made of an interrupt cannot be told from its own faults. What t2i itself says of a run, a
    folder or a request stands, whatever was received.
    """
    own = isinstance(error, T2IError) and not isinstance(error, BrokenPlugin | MissingDependency)
    if _received and not own:
        return 128 + _received[0]
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else None


def _interrupt(number: int, frame: FrameType | None) -> None:
    _handle(signal.SIG_DFL)  # the next one is the system's own: no code of ours can delay it
    _received.append(number)
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    raise KeyboardInterrupt


def _handle(handler: Any) -> None:
    for number in _HEEDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _unraisable(unraisable: Any) -> None:
    """Keep still of an interrupt that came while Python cleaned up: it is raised again."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
