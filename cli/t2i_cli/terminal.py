"""Standard output and standard error of the command line: what may reach them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

import typer
from t2i_core.api.redaction import redact
from t2i_core.api.text import STEERING, escape_control_characters

_FOREIGN = re.compile(
    r"\x1b(?!\[[\d;]*[mABCDGK]|\[\?25[hl])"  # what rich and tqdm write: colours, moves, the cursor
    r"|(?![\t\n\r\x1b])" + STEERING.pattern
)
"""Control characters and escape sequences that none of our own output holds."""


def guard_output() -> None:
    """Keep secrets, and control characters of others, out of all that this process prints.

    This holds for plugins and libraries too: their prints, warnings, log lines and tracebacks.
    """
    sys.stdout, sys.stderr = cast(TextIO, GuardedStream(sys.stdout)), cast(TextIO, GuardedStream(sys.stderr))


class GuardedStream:
    """Standard output or standard error without secrets and, on a terminal, without sequences that steer it.

    Colours, cursor moves and line erasure pass, because progress bars print them.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, and return its length."""
        kept = redact(text)
        if self.stream.isatty():
            kept = _FOREIGN.sub(lambda found: escape_control_characters(found[0]), kept)
        self.stream.write(kept)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def confirm(question: str) -> None:
    """Ask, and end the command if the answer is no. Raises UsageError without a terminal."""
    from .commands import UsageError

    if not sys.stdin.isatty():
        raise UsageError("this must be confirmed, and nobody can be asked without a terminal: give --yes")
    typer.confirm(escape_control_characters(question), abort=True, err=True)


def _is_real(stream: Any) -> bool:
    """Whether a stream is the process's standard output, guarded or not."""
    return getattr(stream, "stream", stream) is sys.__stdout__


@contextlib.contextmanager
def keep_stdout_clean() -> Iterator[None]:
    """Send to standard error what libraries print, C ones too, so that standard output holds only the answer."""
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        try:
            descriptor = sys.stdout.fileno() if _is_real(sys.stdout) else None
        except (AttributeError, OSError):  # no real standard output here
            descriptor = None
        if descriptor is not None:
            kept = os.dup(descriptor)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(2, descriptor)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield
