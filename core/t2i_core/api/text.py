"""Texts of plugins and users, made safe to show: in one line, without control characters and secrets."""

from __future__ import annotations

import re

from .redaction import redact

LONGEST = 500
"""Maximum length of a reason in characters, because an error message may contain a whole file."""

# control characters, line separators, overrides of the writing direction, halves of surrogate pairs
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_control_characters(text: str) -> str:
    r"""Return the text with characters that could steer a terminal as Python escapes (`\x1b`, `\n`)."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def fit_one_line(text: str) -> str:
    """Return a text as one line of at most `LONGEST` characters, without secrets and control characters."""
    line = escape_control_characters(" ".join(redact(text)[: 10 * LONGEST].split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def shorten_paths(names: str) -> str:
    """Return names of prompt sources and files, as tables show them: absolute paths without their folders.

    Args:
        names: The names, with ` + ` between them: `tiam-5-1 + concepts:/home/ann/words.csv`.
    """
    return " + ".join(re.sub(r"(?:^|(?<=:))(?:/|[A-Za-z]:[\\/]).*[\\/]", "", name) for name in names.split(" + "))


def describe_error(error: BaseException) -> str:
    """Return an error as one line: `TypeError: value must be a number`."""
    try:
        message = str(error)
    except Exception as another:  # a plugin's own error may be broken too
        message = f"(its message cannot be read: {type(another).__name__})"
    return fit_one_line(f"{type(error).__name__}: {message}")
