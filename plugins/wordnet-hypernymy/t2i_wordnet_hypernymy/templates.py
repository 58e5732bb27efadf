"""Templates of prompts: the papers' two and a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator

TEMPLATES: Mapping[str, str] = MappingProxyType(
    {"sentence": "An image of {a} {lemma}.", "phrase": "An image of {Lemma}"}
)
"""The templates of the hypernymy paper and of the taxonomy paper, by name."""

_FIELDS = ("a", "lemma", "Lemma")


def check_template(template: str) -> str:
    """Return a template that is one of `TEMPLATES`, or a text with a lemma.

    Raises:
        ValueError: The text has no lemma, or another field than `{a}`, `{lemma}` and `{Lemma}`.
    """
    if template in TEMPLATES:
        return template
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"not a template ({error}); write {{{{ and }}}} for braces") from None
    fields = [name for _, name, _, _ in parts if name is not None]
    if strange := next((name for name in fields if name not in _FIELDS), None):
        raise ValueError(f"unknown field {{{strange}}}; known are {', '.join(f'{{{name}}}' for name in _FIELDS)}")
    if "" in fields or any(spec or conversion for _, _, spec, conversion in parts):
        raise ValueError("fields need a name and nothing else: {a}, {lemma} or {Lemma}")
    if not {"lemma", "Lemma"} & set(fields):
        named = ", ".join(TEMPLATES)
        raise ValueError(f"must contain {{lemma}}, as in 'a photo of {{a}} {{lemma}}', or be one of {named}")
    return template


Template = Annotated[str, AfterValidator(check_template)]
"""A name of `TEMPLATES`, or a text with `{lemma}`."""


def text_of(lemma: str, definition: str, template: str) -> str:
    """Return the text of a prompt, with the definition in brackets before a full stop, unless it is empty.

    Args:
        lemma: The word; `{lemma}` is its lower case, `{Lemma}` the word as it is.
        definition: The definition, or an empty text.
        template: A template as `check_template` accepts it; `{a}` is `an` before the letters aeiou, otherwise `a`.

    Example:
        >>> text_of("Oven", "", "a painting of {a} {lemma}")
        'a painting of an oven'
    """
    lower = lemma.lower()
    pattern = TEMPLATES.get(template, template)
    text = pattern.format(a="an" if lower[0] in "aeiou" else "a", lemma=lower, Lemma=lemma)
    if not definition:
        return text
    stem, stop = (text[:-1], ".") if text.endswith(".") else (text, "")
    return f"{stem} ({definition}){stop}"
