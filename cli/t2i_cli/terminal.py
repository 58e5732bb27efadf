"""Standard output and standard error: who may write where."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from t2i_core.texts import visible

from .commands import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

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

    return Text(visible(str(value)), style)


def print_json(data: Any) -> None:
    """Print plain data, alone on standard output; in ASCII where its encoding cannot take it as it is."""
    said = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        said.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        said = json.dumps(data, indent=1, allow_nan=False)
    print(said)


def confirm(question: str) -> None:
    """Ask, and end the command where the answer is no, or with wrong usage where nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError("this must be confirmed, and nobody can be asked without a terminal: give --yes")
    typer.confirm(question, abort=True, err=True)


@contextlib.contextmanager
def stdout_kept_clean() -> Iterator[None]:
    """Send to standard error what libraries print, C ones too, so that standard output holds only the answer."""
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        try:
            descriptor = sys.__stdout__.fileno() if sys.stdout is sys.__stdout__ else None
        except (AttributeError, OSError):  # no real standard output here
            descriptor = None
        if descriptor is not None:
            kept = os.dup(descriptor)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(2, descriptor)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield
