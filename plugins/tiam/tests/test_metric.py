from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from t2i_core.api import Note, Prompt, Row, Scene
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import Relation
from t2i_tiam.options import TiamOptions


def test_rows_of_a_coloured_prompt(world):
    image = world.strip(("car", 0.9, {"red": 9}), ("couch", 0.9, {"red": 9}))
    rows = world.rows(world.prompt("red car", "blue couch", "green zebra"), *image)
    assert [(r.measure, r.value, dict(r.facets)) for r in rows] == [
        ("tiam", 0, {"n_objects": 3}),
        ("objects", 0, {"n_objects": 3}),
        ("found", 1, {"object": "car", "position": 1, "colour": "red"}),
        ("binding_pooled", 1, {"object": "car", "position": 1, "colour": "red"}),
        ("found", 1, {"object": "couch", "position": 2, "colour": "blue"}),
        ("binding_pooled", 0, {"object": "couch", "position": 2, "colour": "blue"}),
        ("found", 0, {"object": "zebra", "position": 3, "colour": "green"}),
    ]


def test_a_wrong_row_says_why_and_shows_what_was_found(world):
    image = world.strip(("car", 0.9, {"red": 9}), ("couch", 0.9, {"red": 6, "black": 3}))
    rows = world.rows(world.prompt("red car", "blue couch", "green zebra"), *image)
    assert [(r.measure, r.because) for r in rows] == [
        ("tiam", "couch is red, not blue; zebra not found"),
        ("objects", "zebra not found"),
        ("found", ""),
        ("binding_pooled", ""),
        ("found", ""),
        ("binding_pooled", "couch is red, not blue"),
        ("found", "zebra not found"),
    ]
    assert [[(e.label, e.mask.box) for e in r.evidence] for r in rows[:2]] == [
        [("car, red", (0, 0, 9, 1)), ("couch, red", (9, 0, 18, 1))]
    ] * 2


@pytest.mark.parametrize(
    ("parts", "because"),
    [
        ([("car", 0.9, {"red": 2, "green": 1, "blue": 1, "white": 2})], "car found, not red enough"),
        ([("car", 0.9, {"white": 3}), ("car", 0.8, {"black": 3})], "car is black and white, not red"),
        ([("car", 0.9, {"red": 3}), ("car", 0.8, {"black": 3})], ""),
        ([("car", 0.2, {"red": 3})], "car not found"),
    ],
)
def test_the_same_mistake_has_the_same_words(world, parts, because):
    for order in (parts, parts[::-1]):
        row = world.rows(world.prompt("red car"), *world.strip(*order))[0]
        assert (row.because, bool(row.evidence)) == (because, because.startswith(("car is", "car found")))


def test_prompts_without_colours_have_no_rows_about_colours(world):
    rows = world.rows(world.prompt("car"), *world.strip(("car", 0.9, {"red": 9})))
    assert [(r.measure, r.value, dict(r.facets)) for r in rows] == [
        ("tiam", 1, {"n_objects": 1, "holds_at": "0-0.9"}),
        ("found", 1, {"object": "car", "position": 1}),
    ]


def test_a_note_names_expectations_that_are_not_scored(world):
    image = world.strip(("car", 0.9, {"red": 9}), ("couch", 0.9, {"blue": 9}))
    car, couch = world.prompt("red car", "couch").scene.objects
    not_scored = (
        "tiam scores the presence and the colours of objects; it does not score the numbers, relations and other "
        "attributes that prompts ask for"
    )
    for scene, notes in [
        (Scene((car, couch)), []),
        (Scene((replace(car, count=2), couch)), [not_scored]),
        (Scene((car, replace(couch, attributes={"material": "wood"}))), [not_scored]),
        (Scene((car, couch), (Relation(0, "left", 1),)), [not_scored]),
        (Scene((replace(car, count=3), couch), (Relation(0, "left", 1),)), [not_scored]),
    ]:
        said = world.rows(Prompt("x", "x", scene), *image)
        assert [s.text for s in said if isinstance(s, Note)] == notes
        assert [s for s in said if isinstance(s, Row)] == world.rows(world.prompt("red car", "couch"), *image)


def test_prompts_that_expect_nothing_or_an_unknown_colour_are_refused(world):
    metric = world.metric()
    with pytest.raises(BadPrompts, match="'x' has no scene with objects"):
        metric.check([world.prompt("car"), Prompt("x", "a car")])
    with pytest.raises(BadPrompts, match=r"must be one of pink, red, .* \(got 'orange'\)"):
        metric.check([world.prompt("orange car")])
    metric.check([world.prompt("red car")])


@pytest.mark.long
def test_other_references_are_an_option(world):
    red_is_white = {"red": (100.0, 0.0, 0.0), "other": (0.0, 0.0, 0.0)}
    image = world.strip(("car", 0.9, {"white": 9}))
    assert world.score(world.prompt("red car"), *image) == 0
    assert world.score(world.prompt("red car"), *image, references=red_is_white) == 1


def test_evidence_is_kept_under_what_it_depends_on_and_nothing_else(world):
    def key(**options):
        return world.metric(**options).needs[0].derive.options

    assert key(confidence=0.5, overlap=0.6, colour_share=0.7) == key()
    assert key(references={"red": (50.0, 60.0, 40.0)}) != key()


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 1.1},
        {"overlap": 0.4},
        {"colour_share": 0},
        {"references": {}},
        {"references": {"red": (1, 2)}},
    ],
)
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(ValidationError):
        TiamOptions(**wrong)


def binding_table(ratios: dict[str, list[list[int]]]) -> pd.DataFrame:
    """Per prompt and seed, the binding of each found object."""
    rows = []
    for prompt, seeds in ratios.items():
        for seed, bound in enumerate(seeds):
            rows.append(("tiam", float(len(bound) == 2 and all(bound)), prompt, seed))
            rows += [("binding_pooled", float(b), prompt, seed) for b in bound]
    return pd.DataFrame(rows, columns=["measure", "value", "prompt", "seed"])


def test_binding_is_averaged_both_ways(world):
    table = binding_table({"a": [[1, 1], [1, 1]], "b": [[0], []], "c": [[], []]})
    metric = world.metric()
    scores = metric.aggregate(metric.prepare(table), np.ones(len(table)))
    # c has nothing found; the other ways are plain means of rows, which core takes
    assert scores == {"binding_per_prompt": pytest.approx(1 / 2)}
    assert table.groupby("measure")["value"].mean()["binding_pooled"] == pytest.approx(4 / 5)


found_objects = st.lists(st.integers(0, 1), max_size=2)
tables = st.dictionaries(
    st.sampled_from("abcd"), st.lists(found_objects, min_size=3, max_size=3), min_size=1
).filter(lambda prompts: any(bound for seeds in prompts.values() for bound in seeds))


@given(tables, st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_weights_count_like_repeated_prompts(world, prompts, times):
    metric, often = world.metric(), dict(zip("abcd", times, strict=True))
    table = binding_table(prompts)
    weighted = metric.aggregate(metric.prepare(table), table["prompt"].map(often).to_numpy(float))
    repeated = binding_table({f"{p}{i}": seeds for p, seeds in prompts.items() for i in range(often[p])})
    if "binding_pooled" not in set(repeated["measure"]):
        assert np.isnan(weighted["binding_per_prompt"])
        return
    assert weighted == pytest.approx(metric.aggregate(metric.prepare(repeated), np.ones(len(repeated))))


@given(tables, st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any))
def test_weights_count_like_repeated_seeds(world, prompts, times):
    metric = world.metric()
    table = binding_table(prompts)
    weighted = metric.aggregate(metric.prepare(table), np.array(times, float)[table["seed"]])
    repeated = binding_table(
        {p: [b for b, n in zip(s, times, strict=True) for _ in range(n)] for p, s in prompts.items()}
    )
    if "binding_pooled" not in set(repeated["measure"]):
        assert np.isnan(weighted["binding_per_prompt"])
        return
    assert weighted == pytest.approx(metric.aggregate(metric.prepare(repeated), np.ones(len(repeated))))


def test_categorical_columns_give_the_same(world):
    table = binding_table({"a": [[1, 0], [1, 1]], "b": [[0], []]})
    weights = np.arange(1.0, len(table) + 1)
    compact = table.astype({"prompt": "category", "measure": "category"})
    metric = world.metric()
    of_compact, of_table = (metric.aggregate(metric.prepare(t), weights) for t in (compact, table))
    assert of_compact == of_table
