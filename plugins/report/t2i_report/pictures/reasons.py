"""Reasons of measured values (`because`), split and generalized so that equal ones can be counted.

A metric names the objects of each prompt: "no bear found", "no van found". Counted as they stand, every reason is
rare. Words that depend on the prompt become placeholders: "no [object] found".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from t2i_core.api.prompt import Prompt
from t2i_core.results.run import Run

OBJECT, COLOUR, PLACE, NUMBER, WORDS = "[object]", "[colour]", "[place]", "[number]", "[...]"

_COLOURS = (
    *("black", "blue", "brown", "gray", "green", "grey", "orange", "pink", "purple", "red", "white", "yellow"),
    "no colour",
)
_PLACES = ("left of", "right of", "left", "right", "above", "below")
_PARTS = re.compile(r'((?:"[^"]*"|[^;"]|"|;(?! ))+)(?:; |$)')
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_REPEATED = re.compile(r"(\[[a-z.]+\])(?:,? (?:and |or |\| )?\1)+")
_COMMON = frozenset(
    word
    for words in (
        "a an and are as asked at by counted does for found from has have in is it its no not of on or",
        "picked read right than that the there this to was were with wrong yes",
    )
    for word in words.split()
)
"""Words that a reason may share with a prompt's text, and that depend on no prompt."""


def split_reasons(because: str) -> Iterator[str]:
    """Yield the reasons of a value: the parts between semicolons, except those within double quotes."""
    for part in _PARTS.finditer(because):
        if reason := part[1].strip():
            yield reason


@dataclass(frozen=True)
class PromptWords:
    """Words of the prompts that reasons may repeat.

    Attributes:
        kinds: Placeholder of each word, in lower case.
        texts: Text of each prompt without an expected scene, by its id.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    _pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        longest_first = sorted(self.kinds, key=len, reverse=True)
        words = "|".join(map(re.escape, longest_first)) or r"(?!)"
        object.__setattr__(self, "_pattern", re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE))

    def generalize(self, reason: str, prompt: str) -> str:
        """Return a reason with placeholders in the place of words that depend on the prompt.

        Args:
            reason: The reason, such as `car is red, asked white`.
            prompt: Id of the prompt.
        """
        text = _QUOTED.sub(WORDS, reason)
        text = self._pattern.sub(lambda found: self.kinds[found[0].lower()], text)
        text = _NUMBER.sub(NUMBER, text)
        if (words := self.texts.get(prompt)) is not None:
            own = {word.lower() for word in _WORD.findall(words)} - _COMMON
            text = "".join(
                part if part.startswith("[") else _WORD.sub(lambda w: WORDS if w[0].lower() in own else w[0], part)
                for part in re.split(r"(\[[a-z.]+\])", text)
            )
        return _REPEATED.sub(r"\1", text)


def read_words(prompts: Iterable[Prompt]) -> PromptWords:
    """Return the vocabulary of prompts: the objects and colours of their scenes."""
    kinds = dict.fromkeys(_COLOURS, COLOUR) | dict.fromkeys(_PLACES, PLACE)
    texts = {}
    for prompt in prompts:
        if prompt.scene is None:
            texts[prompt.id] = prompt.text
            continue
        for each in prompt.scene.objects:
            name = each.cls.name.lower()
            kinds |= {name: OBJECT, f"{name}s": OBJECT}
            if each.colour is not None:
                kinds.setdefault(each.colour.lower(), COLOUR)
    return PromptWords(kinds, texts)


def read_run_words(run: Run) -> PromptWords:
    """Return the vocabulary of a run's prompts; that of no prompts if an earlier version of t2i wrote the run."""
    return read_words(run.prompts() if "prompts.jsonl" in run.manifest.files else ())
