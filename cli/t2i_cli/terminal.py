"""Standard output and standard error: who may write where."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer
from t2i_core.api.redaction import redact
from t2i_core.api.text import STEERING, escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_FOREIGN = re.compile(
    r"\x1b(?!\[[\d;]*[mABCDGK]|\[\?25[hl])"  # what rich and tqdm write: colours, moves, the cursor
    r"|(?![\t\n\r\x1b])" + STEERING.pattern
)
"""Control characters and escape sequences that none of our own output holds."""

PIPE_WIDTH = 200
"""Columns of tables that go into a file or a pipe, where nobody's window would cut them."""


def console(stderr: bool = False) -> Console:
    """Return a console that writes to standard output, or to standard error."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def shown(value: object, style: str = "") -> Text:
    """A text for the console as it is: neither markup nor emoji codes are read, and nothing in it steers the
    terminal.
    """
    from rich.text import Text

    return Text(escape_control_characters(str(value)), style)


def write_line(
    text: object = "",
    *,
    err: bool = False,
    bold: bool = False,
    fg: str | None = None,
    nl: bool = True,
    file: TextIO | None = None,
) -> None:
    """Write one line to standard output, standard error (`err`) or a file; all commands write through this.

    Control characters are written out (`\\x1b`, `\\n`): no text can steer a terminal or pose as another line.
    """
    stream = file or (sys.stderr if err else sys.stdout)
    line = escape_control_characters(str(text))
    styled = typer.style(line, fg=fg, bold=bold) if (fg or bold) and stream.isatty() else line
    print(styled, file=stream, end="\n" if nl else "", flush=True)


def print_json(data: Any) -> None:
    """Print plain data, alone on standard output; in ASCII where its encoding cannot take it as it is."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    # JSON escapes only the control characters of ASCII; the others stand within strings, where \u is read
    text = STEERING.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(data, indent=1, allow_nan=False)
    print(text)


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
    """Ask, and end the command where the answer is no, or with wrong usage where nobody can answer."""
    from .commands import UsageError

    if not sys.stdin.isatty():
        raise UsageError("this must be confirmed, and nobody can be asked without a terminal: give --yes")
    typer.confirm(escape_control_characters(question), abort=True, err=True)


def _is_real(stream: Any) -> bool:
    """Whether a stream is the process's standard output, guarded or not."""
    return getattr(stream, "stream", stream) is sys.__stdout__


@contextlib.contextmanager
def stdout_kept_clean() -> Iterator[None]:
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
