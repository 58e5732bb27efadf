"""Golden cases of the taxonomy benchmark that several plugins answer; of ratings: plugins/arena-elo/tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Setup
from t2i_torchmetrics.inception_score import inception_score
from t2i_wordnet_hypernymy.options import PhraseOptions
from t2i_wordnet_hypernymy.prompts import easy_concepts
from t2i_wordnet_hypernymy.similarities import ComparedWords, Specificity
from t2i_wordnet_hypernymy.wordnet import nouns

FILE = Path(__file__).parent.parent / "plugins" / "arena-elo" / "tests" / "golden" / "arena-elo.json"
CASES: dict[str, Any] = {case["id"][-2:]: case for case in json.loads(FILE.read_text())}
SIX = 5e-7


def test_there_is_a_test_for_every_case() -> None:
    here = {name[5:7] for name in globals() if name[5:7].isdigit()}
    of_ratings = {"01", "02", "09"}
    assert CASES.keys() == here | of_ratings


def test_06_similarities() -> None:
    case = CASES["06"]
    found = []
    for name, given in case["inputs"].items():
        expected = case["expected"][name]
        beside = given["cohyp"]
        others = [*beside]
        others.remove(given["lemma"])
        assert np.mean(beside) == pytest.approx(expected["S_cohyp(incl. self)"], abs=SIX)
        if not others:  # excluded here; the reference writes 0 and leaves it out of the mean
            assert expected["specificity_lemma/cohyp(self removed)"] == 0
            continue
        means = {
            "lemma": given["lemma"], "hypernyms": float(np.mean(given["hyper"])),
            "cohyponyms": float(np.mean(beside)), "others": float(np.mean(others)),
        }  # fmt: skip
        rows = {row.measure: row.value for row in Specificity.rows(None, means, "")}  # type: ignore[arg-type,union-attr]
        assert rows["specificity"] == pytest.approx(expected["specificity_lemma/cohyp(self removed)"], abs=SIX)
        assert rows["hypernym-over-cohyponyms"] == pytest.approx(expected["paper_formula_hyper/cohyp"], abs=SIX)
        found.append(rows["specificity"])
    assert np.mean(found) == pytest.approx(case["expected"]["aggregate specificity = mean over rows > 0"], abs=SIX)


def test_08_inception_score() -> None:
    case = CASES["08"]
    assert inception_score(np.log(case["inputs"]["p"])) == pytest.approx(case["expected"]["IS"], abs=SIX)


def test_11_easy_concepts_and_what_stands_beside_them() -> None:
    expected = CASES["11"]["expected"]
    prompts = list(easy_concepts(Setup(None, PhraseOptions())))
    assert (len(prompts), len({p.id for p in prompts})) == (expected["n_items"], expected["n_unique"])
    assert Counter(p.facets["root"] for p in prompts) == expected["per_root"]
    taxonomy = nouns()
    for said in expected["sets"].values():
        name = said["resolved_name"]
        beside = taxonomy.cohyponyms(name)
        assert sorted(taxonomy.hypernyms(name)) == said["direct_hypernyms"]
        assert len(beside) == said["n_cohyponyms_incl_self"]
        others = sorted(set(beside) - {name})
        assert len(others) == said["n_unique_excl_self"]
        assert others[:3] == said["first3_excl_self_sorted"]
    (coin,) = (p for p in prompts if p.id.startswith("coin.n.01"))
    assert len(ComparedWords.of(coin, taxonomy, keep_itself=True).cohyponyms) == 1
