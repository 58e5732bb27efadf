"""A run that was enlarged after its result was known says so, and no other run does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api import Measure, Metric, MetricInfo, Need, Prompt, PromptSourceInfo, Row
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, StaticResolver

NOTE = "enlarged after a result was known: "


class Odd(Metric):
    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Any:
        yield Row("odd", float(unit.seed % 2))


ODD = MetricInfo(name="odd", summary="S.", create=Odd, measures=(Measure("odd", "O.", 0, 1),))
SOURCE = PromptSourceInfo(
    name="some", summary="S.", prompts=lambda _: [Prompt(str(n), f"a cat {n}") for n in range(6)]
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def make(name: str, seeds: int, **more: Any) -> Run:
        folder = tmp_path / "runs" / name
        resolver = StaticResolver(TEST_JUDGE, SOURCE)
        models: Any = [ModelRequest(TEST_MODEL, "a")]
        prompts = more.pop("prompts", "some")
        return evaluate(ODD, models, prompts=prompts, seeds=seeds, out=folder, resolver=resolver, **more)

    return make


def find_notes(run: Run) -> list[str]:
    return [note for result in run.results for note in result.notes if note.startswith(NOTE)]


def test_a_run_with_more_seeds_or_prompts_names_the_smaller_one(run: Any) -> None:
    assert find_notes(run("first", 2, limit=3)) == []
    (note,) = find_notes(run("second", 4, limit=3))
    assert "first has 3 prompts x 2 seeds, now 3 x 4." in note
    (note,) = find_notes(run("third", 4))
    assert "second has 3 prompts x 4 seeds, now 6 x 4." in note  # the largest of both


def test_a_smaller_run_and_the_same_one_again_have_no_note(run: Any) -> None:
    assert find_notes(run("large", 4)) == []
    assert find_notes(run("small", 2)) == []
    assert find_notes(run("large", 4)) == []  # its result was known before the smaller one's
    larger = find_notes(run("larger", 8))
    assert len(larger) == 1
    assert find_notes(run("larger", 8)) == larger


def test_prompts_are_the_same_by_id_and_text_whatever_their_list_is_called(run: Any) -> None:
    renamed = PromptSourceInfo(name="renamed", summary="S.", prompts=SOURCE.prompts)
    reworded = PromptSourceInfo(
        name="some", summary="S.", prompts=lambda _: [Prompt(str(n), f"a dog {n}") for n in range(6)]
    )
    run("small", 2)
    assert len(find_notes(run("large", 4, prompts=renamed))) == 1
    assert find_notes(run("other", 4, prompts=reworded)) == []


def test_a_growing_run_is_compared_with_the_planned_end_of_another(run: Any) -> None:
    many = PromptSourceInfo(
        name="many", summary="S.", prompts=lambda _: [Prompt(str(n), f"a cat {n}") for n in range(20)]
    )
    grown = {"prompts": many, "until": "width=0.0001"}
    assert find_notes(run("one", 8, **grown, max_images=80)) == []
    assert find_notes(run("again", 8, **grown, max_images=80)) == []
    (note,) = find_notes(run("more", 8, **grown, max_images=160))
    assert "has 10 prompts x 8 seeds, now 20 x 8" in note


def test_an_unfinished_or_damaged_run_tells_nothing(run: Any) -> None:
    small = run("small", 2)
    (small.folder / "run.json").write_text('{"plan": "x", "status": "done", "request": 3}')
    assert find_notes(run("large", 4)) == []


def test_other_seeds_are_another_experiment(run: Any) -> None:
    run("small", (8, 9))
    assert find_notes(run("large", (0, 1, 2, 3))) == []
