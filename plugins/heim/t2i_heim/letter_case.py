"""Prompts in another case, or without punctuation."""

from __future__ import annotations

import re
import unicodedata

from t2i_heim.options import CaseOptions
from t2i_heim.quoted_parts import change_parts

_SPACES = re.compile(r"\s+")
_INNER = re.compile(r"(?<=\w)[-'’](?=\w)")


def change_case(text: str, options: CaseOptions) -> str:
    """Return a text in the case and with the punctuation of the options."""
    changed = change_parts(text, lambda part: _change(part, options), options.quoted)
    if options.quoted:
        return _SPACES.sub(" ", changed).strip()
    return change_parts(changed, lambda part: _SPACES.sub(" ", part), quoted=False).strip()


def _change(part: str, options: CaseOptions) -> str:
    if not options.punctuation:
        kept = {match.start() for match in _INNER.finditer(part)}
        part = "".join(
            " " if unicodedata.category(letter).startswith("P") and at not in kept else letter
            for at, letter in enumerate(part)
        )
    if options.case == "title":
        return re.sub(r"[^\W\d_][\w'’]*", lambda word: word[0][0].upper() + word[0][1:].lower(), part)
    if options.case == "keep":
        return part
    return part.lower() if options.case == "lower" else part.upper()
