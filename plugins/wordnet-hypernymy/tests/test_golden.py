"""The golden cases, each under its number, and the numbers of the paper."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest
from t2i_core.api import Setup
from t2i_wordnet_hypernymy import scores
from t2i_wordnet_hypernymy.options import LabelOptions, PhraseOptions
from t2i_wordnet_hypernymy.prompts import above_labels, easy_concepts

SIX = 5e-7


def test_there_is_a_test_for_every_case():
    cases = json.loads((Path(__file__).parent / "golden" / "wordnet-hypernymy.json").read_text())
    tests = {name[5:7] for name in globals() if name[5:7].isdigit()}
    assert {case["id"][-2:] for case in cases} == tests


def test_01_size_of_the_hierarchy(golden, leaves):
    expected = golden("wordnet-hypernymy-01")["expected"]
    sizes = np.array([len(leaves.below[s]) for s in leaves.evaluated])
    assert len(sizes) == expected["n_eval_synsets"] == 860
    assert (sizes == 1).sum() == expected["n_single_leaf_excluded_from_SCS"] == 388
    assert (sizes > 1).sum() == expected["n_scs_synsets"] == 472
    assert leaves.normaliser == pytest.approx(expected["scs_normaliser_mean_ln_leafcount"], abs=SIX)
    assert leaves.normaliser == pytest.approx(1.6236960327744612, abs=1e-15)
    assert (sizes > 32).sum() == expected["n_synsets_with_more_than_32_leaves"]
    bound = np.mean([scores.most(int(n), 32) for n in sizes[sizes > 1]])
    assert bound == pytest.approx(expected["attainable_mean_min(ln n, ln 32)"], abs=SIX)
    assert {s: len(leaves.below[s]) for s in expected["leaf_counts"]} == expected["leaf_counts"]


def test_02_class_ids_of_small_subtrees(golden, leaves):
    case = golden("wordnet-hypernymy-02")
    found = {s: leaves.below[s].tolist() for s in case["inputs"]["synsets"]}
    assert found == case["expected"]


def test_03_uniform_logits(golden, leaves):
    for synset, expected in golden("wordnet-hypernymy-03")["expected"].items():
        logits = np.zeros((4, 1000), np.float32)
        isp = scores.in_subtree(logits, leaves.below[synset]).mean()
        assert isp == pytest.approx(expected["ISP"], abs=SIX)
        assert scores.coverage(logits, leaves.below[synset]) == pytest.approx(expected["SCS"], abs=SIX)


def test_04_one_image_per_leaf(golden, leaves):
    for synset, expected in golden("wordnet-hypernymy-04")["expected"].items():
        below = leaves.below[synset]
        logits = np.zeros((len(below), 1000), np.float32)
        logits[np.arange(len(below)), below] = 1000
        assert len(logits) == expected["n_images"]
        assert scores.in_subtree(logits, below).mean() == pytest.approx(expected["ISP"], abs=SIX)
        assert scores.coverage(logits, below) == pytest.approx(expected["SCS"], abs=SIX)
        assert log(len(below)) == pytest.approx(expected["ln_n"], abs=SIX)


def test_07_prompt_templates(golden):
    expected = golden("wordnet-hypernymy-07")["expected"]
    for key, definition in (("base", False), ("definition", True)):
        texts = {p.id: p.text for p in above_labels(Setup(None, LabelOptions(definition=definition)))}
        found = {synset: texts[synset] for synset in expected if synset in texts}
        assert found == {synset: expected[synset][key] for synset in found}
        assert {"dog.n.01", "entity.n.01", "belgian_sheepdog.n.01", "aquatic_bird.n.01"} <= found.keys()


def test_07_prompts_of_classes_themselves(golden):
    from t2i_wordnet_hypernymy.prompts import prompt_of
    from t2i_wordnet_hypernymy.wordnet import nouns

    for synset, expected in golden("wordnet-hypernymy-07")["expected"].items():
        assert prompt_of(nouns(), synset, LabelOptions()).text == expected["base"]
        assert prompt_of(nouns(), synset, LabelOptions(definition=True)).text == expected["definition"]


def test_the_maximum_of_scs_with_32_images(leaves):
    sizes = [len(leaves.below[s]) for s in leaves.evaluated if len(leaves.below[s]) > 1]
    means = {name: np.mean([getattr(scores, name)(n, 32) for n in sizes]) for name in ("balanced", "uniform")}
    assert means["balanced"] == pytest.approx(1.510107, abs=SIX)
    assert means["uniform"] == pytest.approx(1.427137, abs=SIX)
    assert means["uniform"] / leaves.normaliser == pytest.approx(0.879, abs=5e-4)


def test_easy_concepts_are_483():
    prompts = list(easy_concepts(Setup(None, PhraseOptions())))
    assert len({p.id for p in prompts}) == len(prompts) == 483
    first = prompts[0]
    assert first.text == "An image of coin (a flat metal piece (usually a disc) used as money)"
    assert first.facets == {"subset": "easy", "root": "coin.n.01"}
