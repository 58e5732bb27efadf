"""Guards on standard output and standard error of the command line."""

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
    r"\x1b(?!\[[\d;]*[mABCDGK]|\[\?25[hl])"  # sequences that rich and tqdm write: colours, cursor moves, cursor
    r"|(?![\t\n\r\x1b])" + STEERING.pattern
)
"""Control characters and escape sequences that t2i, rich and tqdm never write."""


def guard_output() -> None:
    """Remove secrets and foreign control characters from everything that this process prints.

    That includes prints, warnings, log lines and tracebacks of plugins and libraries.
    """
    sys.stdout, sys.stderr = cast(TextIO, GuardedStream(sys.stdout)), cast(TextIO, GuardedStream(sys.stderr))


class GuardedStream:
    """Standard output or standard error without secrets and, on a terminal, without foreign escape sequences.

    Colours, cursor moves and line erasure pass, because progress bars print them.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
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
    """Ask a question; end the command if the answer is no. Raises UsageError without a terminal."""
    from .commands import UsageError

    if not sys.stdin.isatty():
        raise UsageError("this command asks for confirmation, which needs a terminal; give --yes to skip it")
    typer.confirm(escape_control_characters(question), abort=True, err=True)


def _is_real(stream: Any) -> bool:
    """Return whether a stream is the process's standard output, guarded or not."""
    return getattr(stream, "stream", stream) is sys.__stdout__


@contextlib.contextmanager
def keep_stdout_clean() -> Iterator[None]:
    """Redirect prints of libraries, including C libraries, to standard error."""
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        try:
            descriptor = sys.stdout.fileno() if _is_real(sys.stdout) else None
        except (AttributeError, OSError):  # standard output has no file descriptor
            descriptor = None
        if descriptor is not None:
            kept = os.dup(descriptor)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(2, descriptor)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield
