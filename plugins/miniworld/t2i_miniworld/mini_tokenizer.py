"""The tokenizer of `mini`: CLIP's byte-pair encoding, with merges for every word of the captions' grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import CLIPTokenizer

from t2i_miniworld.names import called, plurals
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.wording import grammar_words

#: Longer texts are cut: of 4,000 captions the longest had 26.
LENGTH = 40
_START, _END = "<|startoftext|>", "<|endoftext|>"
_WORD_END = "</w>"


def build() -> CLIPTokenizer:
    """Make it: a pure function of the grammar.

    Numbered as CLIP's: bytes, bytes that end a word, merges in their order, the two marks. So open_clip's own
    reader of the merges gives the same numbers.
    """
    trained = Tokenizer(models.BPE(end_of_word_suffix=_WORD_END))
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1 << 16, min_frequency=1, end_of_word_suffix=_WORD_END, show_progress=False
    )
    trained.train_from_iterator(sorted(set(words())), trainer)
    merges = [(left, right) for left, right in _merges(trained)]
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
    """Every word that captions are made of."""
    for names in called().values():
        for name in names:
            for form in (name, *plurals(name)):
                yield from form.lower().replace("-", " ").replace(".", " ").split()
    yield from PAINTS
    yield from grammar_words()


def _merges(trained: Tokenizer) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = json.loads(trained.to_str())["model"]["merges"]
    return found
