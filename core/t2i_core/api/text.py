"""Texts of others: read from their files, and made fit to be shown, in one line and steering no terminal."""

from __future__ import annotations

import re

from .redaction import redact

LONGEST = 500
"""Characters of a reason that are kept: who raises with a whole file in the message fills no table with it."""

# control characters, line separators, overrides of the direction of writing, halves of surrogate pairs
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_control_characters(text: str) -> str:
    r"""Write out, as Python would (`\x1b`, `\n`), what would steer a terminal or cannot be shown by any."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def fit_one_line(text: str) -> str:
    """Return a text in one line of at most `LONGEST` characters, without secrets, for any terminal and table."""
    line = escape_control_characters(" ".join(redact(text)[: 10 * LONGEST].split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def describe_error(error: BaseException) -> str:
    """What an error says, in one line: `TypeError: want a number`."""
    try:
        message = str(error)
    except Exception as another:  # a plugin's own error may be broken too
        message = f"(its message cannot be had: {type(another).__name__})"
    return fit_one_line(f"{type(error).__name__}: {message}")
