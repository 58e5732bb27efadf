"""Tokenizer of `mini`: CLIP's byte-pair encoding with merges for every word of the captions' grammar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from t2i_miniworld.names import called, plurals
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.wording import grammar_words
from tokenizers import pre_tokenizers
from transformers import CLIPTokenizer

#: Maximum number of tokens; longer texts are truncated. The longest of 4,000 captions had 26.
LENGTH = 40
_START, _END = "<|startoftext|>", "<|endoftext|>"
_WORD_END = "</w>"


def build() -> CLIPTokenizer:
    """Return the tokenizer, which depends only on the grammar.

    Tokens are numbered as in CLIP: bytes, bytes that end a word, merges in their order, and the two special
    tokens. So open_clip's reader of the merges gives the same numbers.
    """
    merges = _merges()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [
        *letters,
        *(letter + _WORD_END for letter in letters),
        *("".join(pair) for pair in merges),
        _START,
        _END,
    ]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return CLIPTokenizer(vocabulary, merges, model_max_length=LENGTH)


def words() -> Iterator[str]:
    """Yield every word of captions."""
    for names in called().values():
        for name in names:
            for form in (name, *plurals(name)):
                yield from form.lower().replace("-", " ").replace(".", " ").split()
    yield from PAINTS
    yield from grammar_words()


@cache
def _merges() -> list[tuple[str, str]]:
    """Return byte-pair merges until every word is one token.

    Among the most frequent pairs, the first in alphabetical order is merged. The trainer of `tokenizers` takes any
    of them, a different one in each process.
    """
    spelt = [[*word[:-1], word[-1] + _WORD_END] for word in sorted(set(words()))]
    merges = []
    while counts := Counter(pair for tokens in spelt for pair in pairwise(tokens)):
        left, right = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append((left, right))
        for tokens in spelt:
            at = 0
            while at < len(tokens) - 1:
                if (tokens[at], tokens[at + 1]) == (left, right):
                    tokens[at : at + 2] = [left + right]
                at += 1
    return merges
