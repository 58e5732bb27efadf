"""Ctrl-C, and SIGTERM, which batch systems send: the first ends the work in order, the second ends it at once."""

from __future__ import annotations

import signal
from types import FrameType

_HEEDED = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """The user, or the system, wants the process to end.

    exit_code: 130 for Ctrl-C, 143 for SIGTERM, as a shell has it
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


def heed_interrupts() -> None:
    """Have both raise Interrupted in the main thread; what our parent had us ignore (nohup) stays ignored."""
    _handle(_interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _handle(signal.SIG_DFL)  # the next one is the system's own: no code of ours can delay it
    raise Interrupted(number)


def _handle(handler: object) -> None:
    for number in _HEEDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)  # type: ignore[arg-type]
