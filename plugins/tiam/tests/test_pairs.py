"""Pairs of objects: their scores, their map, and what WordNet and text encoders say of them."""

from __future__ import annotations

import csv
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr
from t2i_core.api import Embedding, ObjectClass, Prompt, Sample, Scene, SceneObject, Setup, TextAttention, Unit
from t2i_core.api.errors import BadPrompts
from t2i_core.api.metric_input import Answer, Observed
from t2i_core.api.metric_output import Excluded, Row
from t2i_tiam.labels import LABELS
from t2i_tiam.object_attention import NEED as NEED_ATTENTION
from t2i_tiam.object_attention import ObjectAttention
from t2i_tiam.object_cosine import NEED, ObjectCosine
from t2i_tiam.options import ObjectAttentionOptions, ObjectCosineOptions
from t2i_tiam.study.mantel import mantel
from t2i_tiam.study.scaling import align_points, scale
from t2i_tiam.study.wu_palmer import load_similarities

TWO = "a photo of {1} and {2}"
OBJECTS = ("car", "zebra", "dog", "cat", "horse", "bench")


@pytest.fixture(scope="module")
def found(runs):
    """Animals get along under all four seeds; a car or a bench with others under one, or two the other way."""

    def there(prompt, seed):
        a, b = (o.cls.name for o in prompt.scene.objects)
        tame = not {a, b} & {"car", "bench"}
        return [True, tame or seed < (1 if a < b else 2)]

    prompts = runs.prompts(TWO, *OBJECTS)
    cosines = [
        {
            "metric": "object-cosine",
            "measure": "object-cosine",
            "model": "m",
            "prompt": p.id,
            "value": 0.5 + i / 100,
        }
        for p in prompts
        for i in [len(set(p.id))]
    ]
    return runs.analyses(runs.study(runs.rows("m", prompts, range(4), there), others=pd.DataFrame(cosines)))


def test_pairs_are_the_mean_of_both_orders(found):
    table = found["pairs"].table.set_index(["x", "y"])
    assert len(table) == 15
    assert table.loc[("car", "dog"), ["tiam_xy", "tiam_yx", "d"]].to_list() == [0.25, 0.5, 0.375]
    assert table.loc[("cat", "dog"), "d"] == 1
    assert table.loc[("bench", "car"), "cosine"] == pytest.approx(0.5 + len(set("bench+car")) / 100)


def test_pairs_have_an_interval_over_seeds(runs):
    """Of what a pair scores in either order, each order counting half though it has fewer images."""
    prompts = runs.prompts(TWO, "car", "zebra")
    rows = runs.rows("m", prompts, range(8), lambda p, seed: [True, seed < (6 if p is prompts[0] else 2)])
    kept = [row for row in rows if row["prompt"] != prompts[0].id or row["seed"] >= 4]
    (line,) = runs.analyses(runs.study(kept))["pairs"].table.to_dict("records")
    assert (line["tiam_xy"], line["tiam_yx"], line["d"]) == (0.5, 0.25, 0.375)
    assert 0 < line["low"] < 0.375 < line["high"] < 1
    assert line["clusters"] == 8


def test_figures_of_pairs_stand_beside_their_own_table(found):
    assert found["pairs"].figure is not None
    assert found["pairs and words"].figure.data is not None


def test_maps_of_further_models_lie_on_the_first(runs):
    """The same model twice, its objects' names in another order of the prompts: one map."""

    def there(prompt, seed):
        return [True, seed < sum(len(o.cls.name) for o in prompt.scene.objects) % 5]

    prompts = runs.prompts(TWO, *OBJECTS)
    rows = [*runs.rows("a", prompts, range(4), there), *runs.rows("b", prompts[::-1], range(4), there)]
    placed = runs.analyses(runs.study(rows))["semantic map"].table.set_index(["model", "object"])
    np.testing.assert_allclose(placed.loc["a", ["x", "y"]], placed.loc["b", ["x", "y"]], atol=1e-9)


def test_points_are_turned_and_mirrored_and_nothing_else():
    rng = np.random.default_rng(0)
    names = pd.Index(list("abcdef"))
    onto = pd.DataFrame(rng.normal(size=(5, 2)), columns=["x", "y"]).assign(object=list("fedcb"))
    there = onto.set_index("object").loc[list("bcdef")].to_numpy()
    points = np.vstack([[0.3, 0.4], there]) @ [[0, 1], [1, 0]] @ [[0.6, 0.8], [-0.8, 0.6]]
    found = align_points(points, names, onto)
    np.testing.assert_allclose(found[1:], there, atol=1e-12)
    np.testing.assert_allclose(pdist(found), pdist(points))


def test_the_map_places_the_objects(found):
    table = found["semantic map"].table.set_index("object")
    assert set(table.index) == set(OBJECTS)
    distance = np.hypot(*(table.loc["car", ["x", "y"]] - table.loc["bench", ["x", "y"]]))
    apart = np.hypot(*(table.loc["cat", ["x", "y"]] - table.loc["dog", ["x", "y"]]))
    assert distance < apart
    assert 0 < table["stress"].iloc[0] < 0.5


def test_correlations_with_words_are_over_prompts(runs):
    """Each order of two objects counts with its own score, as in the paper's Table 7."""

    def there(prompt, seed):
        a, b = (o.cls.name for o in prompt.scene.objects)
        return [True, seed < (len(a) + 2 * len(b)) % 5]

    prompts = runs.prompts(TWO, *OBJECTS)
    rows = runs.rows("m", prompts, range(4), there)
    cosines = {p.id: 0.5 + len(set(p.id)) / 100 + (p.id < "cat") / 10 for p in prompts}
    others = pd.DataFrame([line("object-cosine", p, value) for p, value in cosines.items()])
    table = runs.analyses(runs.study(rows, others=others))["pairs and words"].table.set_index("with")
    assert list(table.index) == ["wu_palmer", "cosine"]
    scores = {p.id: np.mean([there(p, seed)[1] for seed in range(4)]) for p in prompts}
    known = load_similarities()
    close = [known[frozenset(o.cls.name for o in p.scene.objects)] for p in prompts]
    assert table.loc["wu_palmer", "r"] == pytest.approx(pearsonr(list(scores.values()), close).statistic)
    rank = spearmanr(list(scores.values()), [cosines[p] for p in scores]).statistic
    assert table.loc["cosine", "rho"] == pytest.approx(rank)
    assert table["prompts"].to_list() == [30, 30]
    assert table["heads"].to_list() == [1, 1]
    assert table["sd_r"].isna().all()


def line(measure, prompt, value, model="m", **facets):
    known = {"metric": "object-attention", "measure": measure, "model": model, "prompt": prompt}
    return {**known, "value": value, **facets}


def test_attention_is_correlated_head_by_head_and_model_by_model(runs):
    prompts = runs.prompts(TWO, *OBJECTS)
    rng = np.random.default_rng(0)
    scores = {p.id: int(rng.integers(0, 5)) for p in prompts}

    def there(prompt, seed):
        return [True, seed < scores[prompt.id]]

    heads = {("a", 0): 1.0, ("a", 1): -0.5, ("b", 0): 0.0}
    noise = {(p, head): rng.normal() for p in scores for head in heads}
    others = [
        line("key_cosine", p, strength * scores[p] + noise[p, head], layer=head[0], head=head[1])
        for p in scores
        for head, strength in heads.items()
    ]
    others += [line("state_cosine", p, scores[p] / 10) for p in scores]
    others += [line("state_cosine", p, -scores[p] / 10, "n") for p in scores]
    rows = [*runs.rows("m", prompts, range(4), there), *runs.rows("n", prompts, range(4), there)]
    found = runs.analyses(runs.study(rows, others=pd.DataFrame(others)))["pairs and words"]
    table = found.table.set_index(["model", "with"])
    assert list(table.index) == [
        ("m", "wu_palmer"),
        ("m", "context"),
        ("m", "key"),
        ("n", "wu_palmer"),
        ("n", "context"),
    ]
    each = [
        pearsonr([scores[p] for p in scores], [strength * scores[p] + noise[p, head] for p in scores]).statistic
        for head, strength in heads.items()
    ]
    assert table.loc[("m", "key"), ["r", "sd_r"]].to_list() == pytest.approx([np.mean(each), np.std(each, ddof=1)])
    assert table.loc[("m", "key"), "heads"] == 3
    assert table.loc[("m", "context"), "r"] == pytest.approx(1)
    assert table.loc[("n", "context"), "r"] == pytest.approx(-1)
    assert table.loc[("m", "context"), "p_r"] < 0.01


def test_a_head_without_some_prompts_is_left_out_and_the_prompts_stay(runs):
    """Of three heads, one lacks a prompt and one never varies; both are not counted as used."""
    prompts = runs.prompts(TWO, *OBJECTS)
    scores = {p.id: i % 5 for i, p in enumerate(prompts)}

    def there(prompt, seed):
        return [True, seed < scores[prompt.id]]

    others = [line("key_cosine", p, score / 10, layer="a", head=0) for p, score in scores.items()]
    others += [line("key_cosine", p, -score / 10, layer="a", head=1) for p, score in list(scores.items())[1:]]
    others += [line("key_cosine", p, 0.5, layer="b", head=0) for p in scores]
    study = runs.study(runs.rows("m", prompts, range(4), there), others=pd.DataFrame(others))
    key = runs.analyses(study)["pairs and words"].table.set_index("with").loc["key"]
    assert (key["objects"], key["prompts"], key["heads"]) == (6, 30, 1)
    assert key["r"] == pytest.approx(1)


def test_pairs_that_were_not_asked_in_both_orders_have_no_place(runs):
    prompts = [p for p in runs.prompts(TWO, "car", "zebra", "dog", "cat") if p.id != "cat+car"]
    found = runs.analyses(runs.study(runs.rows("m", prompts, [0, 1], lambda p, seed: [True, seed == 0])))
    assert found["pairs"].table.set_index(["x", "y"])["d"].isna().sum() == 1
    assert len(found["semantic map"].table) == 3
    one_way = [p for p in prompts if p.id in ("car+zebra", "dog+car", "zebra+dog")]
    found = runs.analyses(runs.study(runs.rows("m", one_way, [0, 1], lambda p, seed: [True, seed == 0])))
    assert found["pairs"].table["d"].isna().all()
    assert "semantic map" not in found


@pytest.mark.parametrize("seed", range(3))
def test_points_in_the_plane_are_found_again(seed):
    points = np.random.default_rng(seed).normal(size=(12, 2))
    placed, stress = scale(squareform(pdist(points)))
    assert stress < 1e-6
    np.testing.assert_allclose(pdist(placed), pdist(points), atol=1e-6)
    again, _ = scale(squareform(pdist(points @ [[0, -1], [1, 0]] + 3)))
    np.testing.assert_allclose(placed, again, atol=1e-6)


def test_smacof_fits_what_has_no_place_in_the_plane_better_than_its_beginning():
    distances = squareform(np.random.default_rng(0).uniform(0.2, 1, 66))
    stresses = [scale(distances, rounds)[1] for rounds in (0, 5, 50, 300)]
    assert sorted(stresses, reverse=True) == stresses
    assert stresses[-1] < 0.9 * stresses[0]


def test_mantel_finds_a_relation_and_errs_as_often_as_it_says():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(10, 2))
    a = squareform(pdist(points))
    b = squareform(pdist(points + rng.normal(0, 0.3, points.shape)))
    strong = mantel(a, b)
    upper = np.triu_indices(10, 1)
    assert strong["r"] == pytest.approx(pearsonr(a[upper], b[upper]).statistic)
    assert strong["rho"] == pytest.approx(spearmanr(a[upper], b[upper]).statistic)
    assert strong["p_rho"] < 0.01
    p = [
        mantel(*(squareform(pdist(rng.normal(size=(8, 2)))) for _ in range(2)), rounds=99)["p_r"]
        for _ in range(150)
    ]
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.07)
    assert np.mean(p) == pytest.approx(0.5, abs=0.08)


def test_equal_entries_have_no_correlation():
    flat = 1 - np.eye(4)
    assert np.isnan(list(mantel(flat, squareform(np.arange(6.0))).values())).all()


def test_the_table_of_wu_palmer_has_every_pair_of_labels():
    known = load_similarities()
    assert known.keys() == {frozenset(pair) for pair in combinations(LABELS, 2)}
    assert all(0 < value < 1 for value in known.values())
    # 2 * depth of the lowest common hypernym over the sum of depths, counted in WordNet 3.0 by hand
    assert known[frozenset(("cat", "dog"))] == pytest.approx(2 * 12 / 28, abs=1e-6)


def test_the_licence_of_wordnet_stands_beside_the_table():
    from importlib.resources import files

    assert "Princeton" in files("t2i_tiam").joinpath("data", "LICENSE-WordNet.txt").read_text()


def prompt(*names):
    return Prompt("x", "x", Scene(tuple(SceneObject(ObjectClass(name)) for name in names)))


def cosine(metric, of, vectors):
    (need,) = metric.needs
    queries = need.queries([Sample("m", of, 0)])
    answers = [Answer(Embedding(np.array(vectors[q.texts[0]], np.float32)), {}) for q in queries]
    return list(metric.measure(Unit(("m",), of, None, [], {NEED: answers})))


def test_object_cosine_is_that_of_the_two_texts():
    metric = ObjectCosine(Setup(None, ObjectCosineOptions()))
    vectors = {"a photo of a car": [1, 0], "a photo of an elephant": [3, 4]}
    (row,) = cosine(metric, prompt("car", "elephant"), vectors)
    assert row == Row("object-cosine", pytest.approx(0.6))
    label = ObjectCosine(Setup(None, ObjectCosineOptions(text="label")))
    assert label.texts(prompt("car", "elephant")) == ["car", "elephant"]


def test_prompts_of_other_numbers_of_objects_have_no_cosine():
    metric = ObjectCosine(Setup(None, ObjectCosineOptions()))
    (said,) = cosine(metric, prompt("car"), {"a photo of a car": [1, 0]})
    assert said == Excluded("the prompt must have two objects (got 1)")
    with pytest.raises(BadPrompts, match="'x' has no scene with objects"):
        metric.check([Prompt("x", "a car")])


@pytest.mark.slow
def test_the_table_of_wu_palmer_is_what_its_script_makes():
    from importlib.resources import files
    from pathlib import Path

    from make_wu_palmer import compute_similarities as made

    lines = csv.reader(files("t2i_tiam").joinpath("data", "wu-palmer.csv").read_text().splitlines()[1:])
    assert [tuple(line) for line in lines] == made(Path("/usr/share/wordnet"))


def attention(metric, of, words, vectors):
    """Answer one query about two words, their tokens' vectors in one layer with two heads."""
    (need,) = metric.needs
    (query,) = need.queries([Sample("m", of, 0)])
    assert query.texts == (of.text, *(o.cls.name for o in of.scene.objects))
    vectors = np.array(vectors, np.float32)
    layers = {"a": np.stack([vectors, -vectors[:, ::-1]])}
    found = TextAttention(np.array(words), vectors, vectors + 1, layers, {"a": np.zeros_like(layers["a"])})
    found.check(query)
    observed = Observed((Sample("m", of, 0),), {NEED_ATTENTION: [Answer(found, {})]})
    return list(metric.measure(Unit(("m",), of, None, [observed])))


@pytest.mark.parametrize(("tokens", "first"), [("mean", [1, 1]), ("first", [2, 0]), ("last", [0, 2])])
def test_object_attention_compares_the_vectors_of_both_objects(tokens, first):
    metric = ObjectAttention(Setup(None, ObjectAttentionOptions(tokens=tokens)))
    rows = attention(metric, prompt("fire hydrant", "car"), [0, 0, 1], [[2, 0], [0, 2], [3, 4]])

    def cosine(a, b):
        return pytest.approx(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))

    plain = cosine(first, [3, 4])
    assert rows == [
        Row("state_cosine", cosine(np.add(first, 1), [4, 5])),
        Row("embedding_cosine", plain),
        Row("key_cosine", plain, {"layer": "a", "head": 0}),
        Row("key_cosine", plain, {"layer": "a", "head": 1}),
    ], "values of 0 have no cosine"


def test_prompts_of_other_numbers_of_objects_are_not_asked_about():
    metric = ObjectAttention(Setup(None, ObjectAttentionOptions()))
    of = prompt("car")
    assert list(metric.needs[0].queries([Sample("m", of, 0)])) == []
    (said,) = metric.measure(Unit(("m",), of, None, []))
    assert said == Excluded("the prompt must have two objects (got 1)")
    with pytest.raises(BadPrompts, match="object-attention: prompt 'x' has no scene with objects"):
        metric.check([Prompt("x", "a car")])
    with pytest.raises(BadPrompts, match="object-attention: no prompt has two objects"):
        metric.check([of])
    zero = attention(metric, prompt("car", "dog"), [0, 1], [[0, 0], [1, 2]])
    assert zero == [Excluded("the text encoder returned a vector of length 0")]
