"""Texts of others: read from their files, and made fit to be shown, in one line and steering no terminal."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import T2IError
from .redaction import redact

LONGEST = 500
"""Characters of a reason that are kept: who raises with a whole file in the message fills no table with it."""

# control characters, line separators, overrides of the direction of writing, halves of surrogate pairs
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read_text(path: Path, error: type[T2IError], max_bytes: int | None = None) -> str:
    """Return the text of a user's file: UTF-8, a mark of byte order left out, line ends as they are.

    max_bytes: size of the largest file that is read

    Raises `error`, in one line that names the file, and where it is not UTF-8 the line.
    """
    try:
        with path.open("rb") as file:
            data = file.read() if max_bytes is None else file.read(max_bytes + 1)
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from problem
    if max_bytes is not None and len(data) > max_bytes:
        raise error(f"{path}: larger than {max_bytes >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{path}, line {line}: not UTF-8 (byte 0x{data[problem.start]:02x})") from problem


def visible(text: str) -> str:
    r"""Write out, as Python would (`\x1b`, `\n`), what would steer a terminal or cannot be shown by any."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return a text in one line of at most `LONGEST` characters, without secrets, for any terminal and table."""
    line = visible(" ".join(redact(text)[: 10 * LONGEST].split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def said(error: BaseException) -> str:
    """What an error says, in one line: `TypeError: want a number`."""
    try:
        message = str(error)
    except Exception as another:  # a plugin's own error may be broken too
        message = f"(its message cannot be had: {type(another).__name__})"
    return one_line(f"{type(error).__name__}: {message}")
