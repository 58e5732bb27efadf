"""Draws of images to label: repeatable, growing, and with the probability that each image has by then."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api.errors import BadOption
from t2i_core.results.label_units import MeasuredUnit, name_outcomes
from t2i_people.labels.draw import DrawRecord, begin_draw, extend_draw, repeat_draw

OF = ("run", "metric")


def units(models=("a", "b"), prompts=10, seeds=4, value=lambda model, place: float(place % 3 == 0)):
    places = [(f"p{n}", seed) for n in range(prompts) for seed in range(seeds)]
    return [
        MeasuredUnit((model,), prompt, (seed,), value(model, place))
        for model in models
        for place, (prompt, seed) in enumerate(places)
    ]


@pytest.mark.long
@given(
    st.sampled_from(["simple", "stratified", "cells"]), st.integers(1, 100), st.integers(0, 40), st.integers(0, 5)
)
@settings(max_examples=60, deadline=None)
def test_a_larger_draw_contains_the_smaller_one(design, count, more, seed):
    every = units()
    small, large = (repeat_draw(every, begin_draw(every, OF, design, n, seed)) for n in (count, count + more))
    assert {unit for unit, _ in small.drawn} <= {unit for unit, _ in large.drawn}
    assert small.drawn == repeat_draw(every, begin_draw(every, OF, design, count, seed)).drawn
    # the labels of a stratum stand for all of its units
    if design == "simple" or len(small.drawn) >= 8:
        assert sum(1 / chance for _, chance in small.drawn) == pytest.approx(len(every))


def test_strata_are_drawn_alike():
    every = units()
    draw = repeat_draw(every, begin_draw(every, OF, "stratified", 40, 0))
    taken = Counter(name for name, wave in zip(draw.strata, draw.wave, strict=True) if wave >= 0)
    assert set(taken.values()) == {10}
    assert set(taken) == {"a: 0", "a: 1", "b: 0", "b: 1"}


def test_cells_have_all_models_and_stay_together():
    every = units()
    lonely = MeasuredUnit(("a",), "other", (0,), 1.0)
    draw = repeat_draw([*every, lonely], begin_draw([*every, lonely], OF, "cells", 30, 0))
    assert len(draw.drawn) == 30
    cells = [(unit.prompt, unit.seeds) for unit, _ in draw.drawn]
    assert cells[::2] == cells[1::2]
    assert lonely not in draw.units
    with pytest.raises(BadOption):
        begin_draw([lonely, MeasuredUnit(("b",), "p", (0,), 0.0)], OF, "cells", 1, 0)


def test_the_next_labels_go_where_people_disagree_most():
    every = units(models=("a",), prompts=40)
    record = begin_draw(every, OF, "simple", 60, 0)
    first = repeat_draw(every, record)
    rng = np.random.default_rng(0)
    # of what the judge passes, half is wrong; what it fails is all right
    labels = {unit: float(rng.integers(2)) if unit.value else 0.0 for unit, _ in first.drawn}
    wider = extend_draw(every, record, labels, 40)
    draw = repeat_draw(every, wider)
    new = Counter(unit.value for unit, wave in zip(draw.units, draw.wave, strict=True) if wave == 1)
    assert new.total() == 40
    assert new[1.0] > 3 * new[0.0]
    assert {unit for unit, _ in first.drawn} < {unit for unit, _ in draw.drawn}
    assert [unit for unit, _ in draw.drawn[:60]] == [unit for unit, _ in first.drawn]
    assert sum(1 / chance for _, chance in draw.drawn) == pytest.approx(160)
    assert DrawRecord.from_json(wider.to_json()) == wider


def test_images_that_nobody_could_label_are_not_drawn_again():
    every = units(models=("a",))
    record = begin_draw(every, OF, "simple", 30, 0)
    wider = extend_draw(every, record, {}, 100)
    assert len(repeat_draw(every, wider).drawn) == 40


def test_many_values_are_divided_into_thirds():
    assert name_outcomes([0.0, 1.0, 1.0]) == {0.0: "0", 1.0: "1"}
    names = name_outcomes([n / 10 for n in range(9)])
    assert Counter(names.values()) == {"low": 3, "middle": 3, "high": 3}
