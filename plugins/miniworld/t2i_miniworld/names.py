"""Names of the mini world's classes in texts: labels, WordNet lemmas, and their plurals."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from t2i_core.api.prompt import ObjectClass

from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS

#: Lemmas of each synset of the taxonomy, written by `make_taxonomy`.
FILE = Path(__file__).parent / "data" / "lemmas.json"

_PLURALS = {"person": "people"}


@dataclass(frozen=True)
class NameMeaning:
    """Meaning of a name: the leaves of the class that it names, and whether it is a plural."""

    leaves: frozenset[str]
    plural: bool = False


def words(text: str) -> list[str]:
    """Split a text into lower-case words, commas, semicolons and full stops. Hyphens separate words."""
    return re.findall(r"[^\W_]+|[,;.]", text.lower())


@cache
def nouns() -> dict[tuple[str, ...], NameMeaning]:
    """Return every name, split by `words`, in the singular and the plural, with its meaning."""
    singular = {tuple(words(name)): leaves for name, leaves in _names().items()}
    found = {
        form: NameMeaning(leaves, plural=True) for name, leaves in singular.items() for form in _plurals(name)
    }
    return found | {name: NameMeaning(leaves) for name, leaves in singular.items()}


@cache
def called() -> dict[frozenset[str], tuple[str, ...]]:
    """Return the singular names of things by the leaves that they may be, as written, labels first."""
    first = {label.name: number for number, label in enumerate((*LEAF_LABELS, *LABELS))}
    found: dict[frozenset[str], list[str]] = {}
    for name, leaves in _names().items():
        found.setdefault(leaves, []).append(name)
    return {
        leaves: tuple(sorted(names, key=lambda name: first.get(name, math.inf))) for leaves, names in found.items()
    }


def plurals(name: str) -> list[str]:
    """Return the plurals of a name, the usual one first."""
    return [" ".join(form) for form in _plurals(tuple(words(name)))]


@cache
def _names() -> dict[str, frozenset[str]]:
    """Return the leaves of each singular name: for a label those of its class, otherwise of all its meanings."""
    found: dict[str, frozenset[str]] = {}
    for synset, lemmas in json.loads(FILE.read_text()).items():
        for lemma in lemmas:
            found[lemma] = found.get(lemma, frozenset()) | _leaves(ObjectClass(lemma, synset))
    return found | {label.name: _leaves(label) for label in (*LEAF_LABELS, *LABELS)}


def _leaves(cls: ObjectClass) -> frozenset[str]:
    return frozenset(leaves_under(cls))


def _plurals(name: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the plurals of the last word: regular ones (cars, buses and busses, canaries), and people."""
    *before, last = name
    if last in _PLURALS:
        ends = [_PLURALS[last], last + "s"]
    elif re.search("[^aeiou]y$", last):
        ends = [last[:-1] + "ies"]
    elif last.endswith("s"):
        ends = [last + "es", last + "ses"]
    else:
        ends = [last + ("es" if re.search("(x|z|ch|sh)$", last) else "s")]
    return [(*before, end) for end in ends]
