"""Golden cases: values of pycocoevalcap 1.2 for captions of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_captioning.bleu import compute_bleu, count_matches
from t2i_captioning.cider import compute_cider
from t2i_captioning.ptb import tokenize
from t2i_captioning.references import InverseFrequencies
from t2i_captioning.rouge import compute_rouge_l

GOLDEN = Path(__file__).parent / "golden"
CASES = {case["id"]: case for case in json.loads((GOLDEN / "captioning.json").read_text())}


def read_ptb() -> list[tuple[str, str]]:
    with gzip.open(GOLDEN / "ptb.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [tuple(json.loads(line)) for line in lines]


def corpus_bleu(hypotheses: list[str], references: list[list[str]]) -> list[float]:
    counts = [count_matches(one, own) for one, own in zip(hypotheses, references, strict=True)]
    matches, guesses = (np.sum([getattr(c, name) for c in counts], axis=0) for name in ("matches", "guesses"))
    return compute_bleu(
        matches, guesses, sum(c.length for c in counts), sum(c.reference_length for c in counts)
    ).tolist()


def each_cider(hypotheses: list[str], references: list[list[str]]) -> list[float]:
    idf = InverseFrequencies(map(tuple, references))
    return [compute_cider(one, own, idf) for one, own in zip(hypotheses, references, strict=True)]


def test_five_thousand_captions_have_the_tokens_of_the_jar() -> None:
    cases = read_ptb()
    assert len(cases) == 5000
    assert [(text, tokens) for text, tokens in cases if tokenize(text) != tokens] == []


@pytest.mark.parametrize("case", [f"captioning-0{n}" for n in (1, 2, 3)])
def test_tokens(case: str) -> None:
    assert [tokenize(text) for text in CASES[case]["input"]] == CASES[case]["expected"]


@pytest.mark.parametrize("case", [f"captioning-0{n}" for n in (4, 5, 6)])
def test_bleu(case: str) -> None:
    assert corpus_bleu(**CASES[case]["input"]) == pytest.approx(CASES[case]["expected"], abs=1e-10)


def test_rouge_l() -> None:
    given, expected = CASES["captioning-07"]["input"], CASES["captioning-07"]["expected"]
    found = [compute_rouge_l(*pair) for pair in zip(given["hypotheses"], given["references"], strict=True)]
    assert found == pytest.approx(expected["each"], abs=1e-10)
    assert np.mean(found) == pytest.approx(expected["mean"], abs=1e-10)


@pytest.mark.parametrize("case", ["captioning-08", "captioning-09"])
def test_cider(case: str) -> None:
    found = each_cider(**CASES[case]["input"])
    assert found == pytest.approx(CASES[case]["expected"]["each"], abs=1e-10)
    assert np.mean(found) == pytest.approx(CASES[case]["expected"]["mean"], abs=1e-10)


def test_the_whole_chain_as_in_dall_eval() -> None:
    given: dict[str, Any] = CASES["captioning-11"]["input"]
    hypotheses = [tokenize(text) for text in given["hypotheses"]]
    references = [[tokenize(text) for text in own] for own in given["references"]]
    rouge = [compute_rouge_l(*pair) for pair in zip(hypotheses, references, strict=True)]
    expected: dict[str, Any] = CASES["captioning-11"]["expected"]
    assert hypotheses == expected["tokens"]
    assert corpus_bleu(hypotheses, references) == pytest.approx(np.array(expected["bleu_x100"]) / 100, abs=1e-10)
    assert 100 * np.mean(each_cider(hypotheses, references)) == pytest.approx(expected["cider_x100"], abs=1e-8)
    assert 100 * np.mean(rouge) == pytest.approx(expected["rouge_l_x100"], abs=1e-8)
