"""A prompt that is in several lists is one prompt, and counts in each of its subsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import Measure, Metric, MetricInfo, Prompt, PromptSourceInfo, Row
from t2i_core.api.errors import BadPrompts
from t2i_core.api.facet_levels import join_levels, locate_levels, split_levels
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import make_plan
from t2i_core.engine.prompt_selection import merge_sources
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, StaticResolver

EASY = [Prompt(f"p{i}", f"text {i}", facets={"subset": "easy", "root": "pet"}) for i in range(4)]
RANDOM = [Prompt(f"p{i}", f"text {i}", facets={"subset": "mixing"}) for i in range(3, 6)]


class _Length(Metric):
    """Give each prompt its own value."""

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("length", float(unit.one().prompt.id[1:]) / 10)


LENGTH = MetricInfo(
    name="length", summary="L.", create=_Length, measures=(Measure("length", "L.", low=0, high=1, facets=("*",)),)
)


def _source(name: str, prompts: list[Prompt]) -> PromptSourceInfo:
    return PromptSourceInfo(name=name, summary="P.", prompts=lambda setup: prompts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run over two lists that share a prompt."""
    folder = tmp_path_factory.mktemp("levels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        resolver = StaticResolver(TEST_MODEL, _source("easy", EASY), _source("random", RANDOM))
        return evaluate(
            LENGTH, TEST_MODEL.name, prompts=["easy", "random"], seeds=2, out=folder / "run", resolver=resolver
        )


def test_a_prompt_of_two_lists_is_measured_once(run: Run) -> None:
    assert run.results[0].n_prompts == 6
    table = run.measurements()
    assert len(table) == 12
    assert set(table.loc[table["prompt"] == "p3", "subset"]) == {"easy | mixing"}


def test_it_counts_in_each_of_its_subsets(run: Run) -> None:
    levels = run.results[0].facets["length"]["subset"]
    assert {level: score.value for level, score in levels.items()} == {
        "easy": pytest.approx(0.15),
        "mixing": pytest.approx(0.4),
    }
    assert run.results[0].facets["length"]["root"]["pet"].value == pytest.approx(0.15)


def test_the_interval_of_a_subset_is_that_of_its_list_alone(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(TEST_MODEL, _source("random", RANDOM))
    alone = evaluate(LENGTH, TEST_MODEL.name, prompts="random", seeds=2, out=tmp_path / "run", resolver=resolver)
    level = run.results[0].facets["length"]["subset"]["mixing"]
    assert level.ci == pytest.approx(alone.results[0].ci)


@pytest.mark.parametrize(
    "other",
    [
        Prompt("p3", "another text", facets={"subset": "mixing"}),
        Prompt("p3", "text 3", cluster="c", facets={"subset": "mixing"}),
        Prompt("p3", "text 3", facets={"subset": 1}),
    ],
    ids=["text", "cluster", "number"],
)
def test_prompts_that_differ_in_more_than_levels_are_rejected(other: Prompt) -> None:
    request = Request(metrics=(LENGTH,), models=(ModelRequest(TEST_MODEL),), prompts=("easy", "random"))
    with pytest.raises(BadPrompts):
        make_plan(request, StaticResolver(_source("easy", EASY), _source("random", [other])))


def test_a_list_that_repeats_an_id_is_rejected() -> None:
    request = Request(metrics=(LENGTH,), models=(ModelRequest(TEST_MODEL),), prompts=("easy",))
    with pytest.raises(BadPrompts):
        make_plan(request, StaticResolver(_source("easy", [*EASY, EASY[0]])))


LEVELS = st.text(st.characters(codec="utf-8", exclude_characters="|\0"), min_size=1).map(str.strip)


@given(st.lists(st.lists(LEVELS, min_size=1, max_size=3), min_size=1))
def test_each_row_is_at_its_own_levels(rows: list[list[str]]) -> None:
    column = pd.Series([join_levels(levels) for levels in rows], dtype="category")
    found = locate_levels(column)
    for i, value in enumerate(column):
        assert {level for level, own in found.items() if i in own} == set(split_levels(value))
    assert all((np.diff(own) > 0).all() for own in found.values())


def test_rows_without_a_value_are_at_no_level() -> None:
    assert {k: v.tolist() for k, v in locate_levels(pd.Series(["a", None, "b | a"])).items()} == {
        "a": [0, 2],
        "b": [2],
    }


@given(st.lists(st.lists(st.integers(0, 5), unique=True), max_size=4))
def test_merged_lists_keep_every_prompt_once(lists: list[list[int]]) -> None:
    sources = [[Prompt(f"p{i}", "", facets={"list": f"l{n}"}) for i in ids] for n, ids in enumerate(lists)]
    merged, dropped = merge_sources(sources)
    prompts = [prompt for source in merged for prompt in source]
    assert sorted(p.id for p in prompts) == sorted({f"p{i}" for ids in lists for i in ids})
    assert len(prompts) + dropped == sum(map(len, lists))
    for prompt in prompts:
        assert split_levels(prompt.facets["list"]) == tuple(
            f"l{n}" for n, ids in enumerate(lists) if int(prompt.id[1:]) in ids
        )


def test_prompts_of_one_list_stay_the_objects_that_its_source_gave() -> None:
    (kept, others), _ = merge_sources([EASY, RANDOM])
    assert [prompt is given for prompt, given in zip(kept, EASY, strict=True)] == [True, True, True, False]
    assert all(prompt is given for prompt, given in zip(others, RANDOM[1:], strict=True))
