"""Questions to a language model: a synset is predicted from its neighbours, and defined.

The paper's predictions come from TaxoLLaMA, which was trained for this task, and its definitions from GPT-4. The
paper prints neither prompt, so these words are t2i's own. Which neighbours are shown follows from the concept of
each subset: the narrower word of a pair (hypernymy) from its hypernym and its cohyponyms, the broader one
(hyponymy) from a hyponym, and a synset with several parents (mixing) from all of them.

References:
    Taxonomy paper, sections 2.2 and 2.3; tables of the subsets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..taxonomy import Taxonomy

Task = Literal["auto", "hypernym", "hyponym", "insertion"]
TASKS = ("hypernym", "hyponym", "insertion")
_BY_SUBSET = {"hypernymy": "hyponym", "hyponymy": "hypernym", "mixing": "insertion", "easy": "hyponym"}

_ONE_WORD = (
    "Answer with one word or one short phrase, as a dictionary lists it, in the singular. Write nothing else: no "
    "explanation, no quotation marks."
)
_MOST_SIBLINGS = 20
"""Number of cohyponyms that a message lists."""

_LONGEST_LEMMA = 80
"""Number of characters beyond which a reply is a sentence instead of a word."""


@dataclass(frozen=True)
class Target:
    """A synset that the model is to predict.

    Attributes:
        synset: Its name.
        subset: Its subset of the benchmark, or empty.
        question: The message to the model.
    """

    synset: str
    subset: str
    question: str


def ask_for_synset(taxonomy: Taxonomy, synset: str, subset: str, task: Task) -> str | None:
    """Return the message that asks for a synset by its neighbours; None if it has no such neighbours.

    Args:
        taxonomy: The taxonomy.
        synset: The synset to predict; the message does not name it.
        subset: Its subset, which settles the task `auto`.
        task: What to ask for: the hypernym of the synset's first hyponym, the hyponym that is missing below its
            first hypernym, or the word below all its hypernyms.
    """
    above, below = taxonomy.hypernyms(synset), taxonomy.hyponyms(synset)
    chosen = task
    if task == "auto":
        chosen = _BY_SUBSET.get(subset, "hyponym")  # type: ignore[assignment]
        if chosen == "hyponym" and not above:
            chosen = "hypernym"  # the roots of the taxonomy
    if chosen == "hypernym" and below:
        shown = _describe(taxonomy, below[0])
        return f"Name the hypernym, the next more general term, of {shown}.\n{_ONE_WORD}"
    if chosen == "hyponym" and above:
        known = _list_siblings(taxonomy, synset, above[0])
        others = f" Do not name any of these: {', '.join(known)}." if known else ""
        return f"Name a hyponym, a direct kind, of {_describe(taxonomy, above[0])}.{others}\n{_ONE_WORD}"
    if chosen == "insertion" and above:
        shown = " and also of ".join(_describe(taxonomy, name) for name in above)
        return f"Name a term that is a direct kind of {shown}.\n{_ONE_WORD}"
    return None


def ask_for_definition(lemma: str, question: str) -> str:
    """Return the message that asks for the definition of a predicted word.

    Args:
        lemma: The word.
        question: The message that it answered, which settles its sense.
    """
    asked = question.partition("\n")[0]
    return (
        f"The word “{lemma}” was the answer to this: {asked}\nDefine the word in this sense as a dictionary does, "
        "in one phrase of at most 25 words. Write only the definition."
    )


def read_lemma(reply: str) -> str | None:
    """Return the word of a reply; None if the reply is not a word or a short phrase."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    first = re.sub(r"^(\d+[.)]|[-*•])\s+", "", lines[0]) if lines else ""
    word = " ".join(re.split(r"[,;]", first)[0].replace("_", " ").strip(" \t.:\"'“”‘’`*").split())
    return word if word and len(word) <= _LONGEST_LEMMA else None


def read_definition(reply: str) -> str | None:
    """Return the definition of a reply in one line, without a full stop; None if the reply is empty."""
    text = " ".join(reply.split()).strip('"“”').rstrip(".")
    return text or None


def _list_siblings(taxonomy: Taxonomy, synset: str, above: str) -> list[str]:
    """Return the lemmas of the cohyponyms that follow a synset by name, so that each synset has its own list."""
    names = taxonomy.hyponyms(above)
    at = names.index(synset)
    return [taxonomy.lemmas(name)[0] for name in (*names[at + 1 :], *names[:at])[:_MOST_SIBLINGS]]


def _describe(taxonomy: Taxonomy, name: str) -> str:
    definition = taxonomy.definition(name)
    return f"“{taxonomy.lemmas(name)[0]}”" + (f" ({definition})" if definition else "")
