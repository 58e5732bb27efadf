"""Noun phrases and nouns of prompts by spaCy, whose model the user installs.

References:
    Karine-Huang/T2I-CompBench: BLIPvqa_eval/BLIP_vqa.py, UniDet_eval/2D_spatial_eval.py, 3_in_1_eval.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from t2i_core.api.errors import MissingDependency

NOT_PHRASES = frozenset({"top", "the side", "the left", "the right"})
"""Noun phrases of relations, which the original does not ask about."""

MOST_PHRASES = 8
_DROPPED = str.maketrans("", "", '.!"()*#:;~')


@cache
def load_model(name: str) -> Any:
    """Return spaCy's model of a name or folder.

    Raises:
        MissingDependency: spaCy or the model is not installed.
    """
    try:
        import spacy
    except ImportError as error:
        raise MissingDependency(
            "noun phrases of prompts need spaCy: pip install 't2i-questions[spacy]', and its model "
            "(python -m spacy "
            "download en_core_web_sm); or give the phrases in a file of prompts (field `questions`)"
        ) from error
    try:
        return spacy.load(name)
    except OSError as error:
        raise MissingDependency(
            f"spaCy has no model {name!r}: python -m spacy download {name}, or name another with the "
            f"option model; or "
            "give the phrases in a file of prompts (field `questions`)"
        ) from error


def list_noun_phrases(document: Any) -> list[str]:
    """Return the noun phrases of a parsed text that questions are asked about, at most eight."""
    return select_phrases(chunk.text for chunk in document.noun_chunks)


def select_phrases(chunks: Iterable[str]) -> list[str]:
    """Return noun phrases without those of relations, at most eight."""
    return [chunk for chunk in chunks if chunk not in NOT_PHRASES][:MOST_PHRASES]


def write_phrase_question(phrase: str) -> str:
    """Return the question about a noun phrase: the phrase itself in lower case, with a question mark."""
    return f"{' '.join(phrase.lower().translate(_DROPPED).split())}?"


def list_nouns(document: Any) -> list[str]:
    """Return the nouns of a parsed text."""
    return [token.text for token in document if token.pos_ == "NOUN"]


def drop_adjectives(document: Any) -> str:
    """Return a parsed text without its adjectives."""
    return " ".join("".join(t.text_with_ws for t in document if t.pos_ != "ADJ").split())
