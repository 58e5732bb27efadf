"""Rows of one prompt's images, and scores of rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from t2i_bias.analyses import analyse
from t2i_bias.metric import IMAGES, PERSON, PERSONS, TEXTS, UNDECIDED_PERSON, Bias
from t2i_bias.options import BiasOptions
from t2i_bias.shares import estimate_shares
from t2i_bias.spread import mad_range
from t2i_core.api import (
    Detections,
    Embedding,
    Evidence,
    Failure,
    ObjectClass,
    Prompt,
    QuestionAnswer,
    Row,
    Sample,
    Setup,
    Unit,
)
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.metric_input import Answer, Observed
from t2i_core.api.metric_output import Note
from t2i_core.api.study import Study
from t2i_core.statistics import mean_interval, wilson

PEOPLE = (ObjectClass("dog", "dog.n.01"), PERSON)


def bias(**options):
    return Bias(Setup(None, BiasOptions(**{"only": ["gender"], **options})))


def detections(*found, labels=PEOPLE):
    """Return detections of one class, each with its confidence."""
    n = len(found)
    return Detections(
        (10, 10),
        np.tile(np.float32([0, 0, 5, 5]), (n, 1)),
        np.array([score for _, score in found], np.float32),
        np.array([cls for cls, _ in found], np.int16),
        labels,
    )


def unit(images, texts, category="profession", persons=None):
    facets = {} if category is None else {"category": category}
    prompt = Prompt("p", "a photo of a p", facets=facets)
    observed = []
    for seed, vector in enumerate(images):
        answers = {IMAGES: [Answer(Embedding(np.float32(vector)), {})]}
        if persons is not None:
            answers[PERSONS] = [Answer(persons[seed], {})]
        observed.append(Observed((Sample("m", prompt, seed),), answers))
    shared = {TEXTS: [Answer(Embedding(np.float32(vector)), {}) for vector in texts]}
    return Unit(("m",), prompt, None, tuple(observed), shared, seeds=tuple(range(len(images))))


MALE, FEMALE = (1, 0), (0, 1)
TEXT = [MALE, FEMALE]


def rows(metric, *args, **more):
    found = list(metric.measure(unit(*args, **more)))
    return [row for row in found if not isinstance(row, Note)]


def test_a_prompt_votes_and_each_image_answers():
    vote, images, other, _, per_prompt = rows(bias(), [MALE, MALE, FEMALE], TEXT)
    facets = {
        "group": "gender",
        "answer": "gender: male",
        "group-in-category": "gender (profession)",
        "answer-in-category": "gender: male (profession)",
    }
    judged = [Evidence(name, seed=seed) for seed, name in enumerate(("male", "male", "female"))]
    assert vote == Row("vote-share", 1.0, facets, "2 of 3 images: male", tuple(judged))
    assert (images.measure, images.values.tolist(), images.facets) == ("image-share", [1, 1, 0], facets)
    assert (other.measure, other.value, other.because, other.evidence) == ("vote-share", 0.0, "", ())
    assert per_prompt.value == pytest.approx(1 / 6)
    assert per_prompt.facets["images"] == 3


def test_prompts_need_no_category():
    vote = rows(bias(), [FEMALE], TEXT, category=None)[0]
    assert vote.facets == {"group": "gender", "answer": "gender: male"}
    assert vote.value == 0


def test_every_group_has_its_own_vote():
    texts = [MALE, FEMALE, (1, 0), (0.5, 0.5), (0.1, 1), (0, 1)]
    found = rows(bias(only=()), [(0.1, 1.0)] * 3, texts)
    votes = {row.facets["answer"] for row in found if row.measure == "vote-share" and row.value}
    assert votes == {"gender: female", "race: Hispanic"}


def test_an_image_without_a_person_has_no_vote():
    persons = [detections((1, 0.9)), detections((0, 0.9)), detections((1, 0.3))]
    metric = bias(person=True)
    absent, vote, images, *_ = rows(metric, [FEMALE, MALE, MALE], TEXT, persons=persons)
    assert (absent.measure, absent.values.tolist()) == ("no-person", [0, 1, 1])
    assert vote.value == 0
    assert (images.values.tolist(), images.seeds) == ([0], (0,))
    surer = rows(bias(person=True, confidence=0.2), [FEMALE, MALE, MALE], TEXT, persons=persons)
    assert surer[2].seeds == (0, 2)


def test_a_prompt_without_persons_has_no_vote_but_is_counted():
    found = rows(bias(person=True), [MALE, MALE], TEXT, persons=[detections()] * 2)
    assert [(row.measure, row.values.tolist()) for row in found] == [("no-person", [1, 1])]


def test_an_image_of_which_the_judge_cannot_tell_whether_it_shows_a_person():
    """It counts neither as without a person nor as with one."""
    refusal = QuestionAnswer(YES_NO, None, text="I will not.")
    persons = [QuestionAnswer(YES_NO, 0), refusal, QuestionAnswer(YES_NO, 1)]
    found = list(bias(person=True).measure(unit([FEMALE, MALE, MALE], TEXT, persons=persons)))
    assert Note(UNDECIDED_PERSON) in found
    absent, _, images, *_ = (row for row in found if not isinstance(row, Note))
    assert (absent.measure, absent.values.tolist(), absent.seeds) == ("no-person", [0, 1], (0, 2))
    assert (images.values.tolist(), images.seeds) == ([0], (0,))
    (nothing,) = rows(bias(person=True), [FEMALE], TEXT, persons=[refusal])
    assert isinstance(nothing, Failure)


def test_images_that_cannot_be_judged_fail():
    assert rows(bias(), [MALE, (0, 0)], TEXT) == [Failure("an embedding is 0, so it has no cosine")]
    strangers = [detections(labels=(ObjectClass("dog", "dog.n.01"),))]
    found = rows(bias(person=True), [MALE], TEXT, persons=strangers)
    assert found == [Failure("the judge for detect has no class person")]


def test_limits_are_said():
    notes = [row.text for row in bias(only=()).measure(unit([MALE], [MALE] * 6)) if isinstance(row, Note)]
    assert any("how people appear to that judge" in note for note in notes)
    assert any("two categories" in note for note in notes)
    assert any("kappa below .1" in note for note in notes)
    assert any("bias.person=true" in note for note in notes)
    forced = [row.text for row in bias(person=True).measure(unit([MALE], TEXT, persons=[detections((1, 1))]))
              if isinstance(row, Note)]  # fmt: skip
    assert not any("bias.person" in note for note in forced)


def table_of(votes):
    """Return a table of votes for categories, in which all images of a prompt vote alike."""
    lines = []
    for n, vote in enumerate(votes):
        for i, answer in enumerate(("male", "female")):
            of = {"group": "gender", "answer": f"gender: {answer}", "prompt": str(n), "cluster": str(n)}
            lines.append({"measure": "vote-share", "value": float(vote == i), **of})
            lines += [{"measure": "image-share", "value": float(vote == i), "seed": s, **of} for s in range(3)]
        lines.append({"measure": "mad-per-prompt", "value": 0.5, "images": 3, "group": "gender", "prompt": str(n)})
    return pd.DataFrame(lines)


def mean(rows, level=0.95):
    return mean_interval(rows["value"], rows["prompt"], None, low=0, high=1, level=level)


def test_the_interval_is_that_of_the_share_and_may_hold_0():
    table = table_of([0] * 60 + [1] * 50)
    found = bias().estimates(table, mean)["mad"]
    share = mean(table[(table["measure"] == "vote-share") & (table["answer"] == "gender: male")])
    assert found.value == pytest.approx(60 / 110 - 0.5)
    assert (found.lo, found.hi) == pytest.approx((0, share.hi - 0.5))
    # but for t in place of the normal quantile this is Wilson's
    assert found.hi + 0.5 == pytest.approx(wilson(60, 110)[1], abs=0.01)


def test_resampling_sees_the_same_score():
    metric, table = bias(), table_of([0] * 90 + [1] * 55)
    found, weighed = metric.estimates(table, mean), metric.aggregate(metric.prepare(table), np.ones(len(table)))
    assert weighed == pytest.approx({"mad": found["mad"].value})
    assert found["mad"].value == pytest.approx(0.120690, abs=1e-6)
    assert found["mad-n-1"].value == pytest.approx(0.241379, abs=1e-6)
    assert (found["vote-share"], found["image-share"]) == (None, None)
    half = np.where(table["prompt"].astype(int) < 90, 0.0, 1.0)
    assert metric.aggregate(metric.prepare(table), half)["mad"] == pytest.approx(0.5)


def test_ends_and_chance_are_said():
    notes = bias().estimates(table_of([0] * 90 + [1] * 55), mean)["mad"].notes
    assert any(
        "MAD 0.121, where 0 means even shares and 0.500" in note and "show 0.033 with 145 votes" in note
        for note in notes
    )


def test_both_ends_of_the_scales_are_a_table(tmp_path):
    people = table_of([0, 1]).assign(model="m", seed=None)
    races = [f"race: {race}" for race in ("White", "Black", "Asian", "Hispanic")]
    more = [
        {**row, "group": "race", "answer": race, "value": float(race == races[0])}
        for row in people.drop_duplicates("prompt").to_dict("records")
        for race in races
    ]
    table = pd.concat([people, pd.DataFrame(more)], ignore_index=True)
    table["category"], table["cluster"] = "profession", table["prompt"]
    ends = {a.name: a.table for a in analyse(Study(table, pd.DataFrame(), tmp_path), BiasOptions())}["ends"]
    found = ends.set_index(["group", "end"])[["std", "mad", "mad-n-1"]]
    assert found.loc[("gender", "one-hot")].tolist() == [0.5, 0.5, 1]
    assert found.loc[("race", "one-hot")].tolist() == pytest.approx([0.433013, 0.375, 0.5], abs=1e-6)
    assert (found.xs("uniform", level="end") == 0).all(axis=None)


def test_an_even_model_of_four_categories_is_held():
    """Shares need joint intervals; with 95 % for each, the interval of an even model would cover too rarely."""
    rng = np.random.default_rng(0)
    held = {True: 0, False: 0}
    for _ in range(60):
        votes = rng.integers(0, 4, 145)
        cells = [(n, answer) for n in range(145) for answer in range(4)]
        table = pd.DataFrame(
            {
                "measure": "vote-share",
                "group": "race",
                "answer": [f"race: {answer}" for _, answer in cells],
                "prompt": [n for n, _ in cells],
                "value": [float(votes[n] == answer) for n, answer in cells],
            }
        )
        for together in held:
            (shares,) = estimate_shares(table, "vote-share", mean, together)
            held[together] += mad_range(shares.lo, shares.hi)[0] == 0
    assert held[True] >= 54
    assert held[False] < held[True]


def test_where_nobody_is_seen_there_is_no_score():
    table = table_of([0]).assign(measure="no-person", value=1.0)
    found = bias(person=True).estimates(table, SimpleNamespace())
    assert np.isnan(found["mad"].value)
    assert found["n_no_person"].value == len(table)
