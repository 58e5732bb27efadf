"""Probabilities of answers from those of their tokens: the golden cases, and prefixes by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_transformers.answer_likelihood import (
    Tokens,
    encode_words,
    find_spellings,
    geometric_mean,
    list_contexts,
    score_spellings,
    sum_spellings,
)

FIRST, SECOND = json.loads((Path(__file__).parent / "golden" / "vqascore.json").read_text())


def scored(logits: Sequence[Sequence[float]], spellings: list[list[Tokens]]) -> Any:
    """Scores of a model whose next token does not depend on the tokens before, by place."""
    after = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    (found,) = score_spellings([spellings], lambda asked: [after[: len(b) + 1] for _, b in asked], 2)
    return found


def test_words_with_equal_tokens_are_refused() -> None:
    tokens = {"Yes": (1,), "No": (2,), "Non": (2,), "": ()}
    assert encode_words(("Yes", "No"), tokens.__getitem__) == [(1,), (2,)]
    for words, message in ((("Yes", "Yes"), "apart"), (("No", "Non"), "apart"), (("Yes", ""), "no token")):
        with pytest.raises(ValueError, match=message):
            encode_words(words, tokens.__getitem__)


def test_golden_case_of_an_encoder_decoder() -> None:
    labels = tuple(FIRST["input"]["labels"])
    found = scored(FIRST["input"]["logits"], [[labels]])
    assert geometric_mean(found[labels]) == pytest.approx(FIRST["expected"], abs=FIRST["tolerance"])


def test_golden_case_of_a_decoder() -> None:
    answers = [[(SECOND["input"]["answer_ids"][0],)], [(1,)]]
    (yes, _) = sum_spellings(answers, scored(SECOND["input"]["logits"], answers))
    assert yes == pytest.approx(SECOND["expected"], abs=SECOND["tolerance"])


def test_a_choice_does_not_count_what_a_longer_one_begins_with() -> None:
    red, both, other = (1,), (1, 2, 3), (4,)
    scores = {red: [math.log(0.5)], both: [math.log(p) for p in (0.5, 0.4, 0.5)], other: [math.log(0.3)]}
    found = sum_spellings([[red], [both], [other]], scores)
    np.testing.assert_allclose(found, [0.4, 0.1, 0.3])
    between = (1, 2)
    scores[between] = [math.log(0.5), math.log(0.4)]
    np.testing.assert_allclose(sum_spellings([[red], [both], [other, between]], scores), [0.3, 0.1, 0.4])


def test_choices_of_one_token_need_one_pass() -> None:
    assert list_contexts([(1,), (2,), (3,)]) == [()]
    assert list_contexts([(1,), (2, 5), (2, 5, 6), (3, 4)]) == [(2, 5), (3,)]


def test_spellings_with_a_capital() -> None:
    numbers = {"red": [1], "Red": [2], "blue": [3], "Blue": [3], "5": [4], "": [], "light blue": [5, 3]}
    numbers["Light blue"] = [6, 3]
    encode = numbers.__getitem__
    assert find_spellings(("red", "blue", "5"), encode) == [[(1,), (2,)], [(3,)], [(4,)]]
    assert find_spellings(("red", "Red"), encode) == [[(1,)], [(2,)]]
    assert find_spellings(("light blue", "red"), encode) == [[(5, 3), (6, 3)], [(1,), (2,)]]
    with pytest.raises(ValueError, match="cannot tell the choices 'blue', 'Blue' apart"):
        find_spellings(("blue", "Blue"), encode)
    with pytest.raises(ValueError, match="no token for the choice ''"):
        find_spellings(("red", ""), encode)


def test_passes_are_read_in_parts_and_put_back() -> None:
    asked: list[int] = []

    def read(pairs: Sequence[tuple[int, Tokens]]) -> list[np.ndarray]:
        asked.append(len(pairs))
        return [
            np.array([[100 * number + 10 * len(beginning[:end]) + token for token in range(9)]
                      for end in range(len(beginning) + 1)])
            for number, beginning in pairs
        ]  # fmt: skip

    questions = [[[(1,)], [(2,)]], [[(1, 2, 3)], [(4, 5)]], [[(6,)]]]
    found = score_spellings(questions, read, 2)
    assert asked == [2, 2]
    assert found == [
        {
            (1,): [
                1,
            ],
            (2,): [2],
        },
        {(1, 2, 3): [101, 112, 123], (4, 5): [104, 115]},
        {(6,): [206]},
    ]
