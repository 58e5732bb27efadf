"""The prompts that a run's folder keeps, in the form of a file of prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from t2i_core import load_run
from t2i_core.api import Measure, Metric, MetricInfo, Prompt, Row, Scene
from t2i_core.api.errors import BadFolder
from t2i_core.api.plugin_info import PromptSourceInfo
from t2i_core.api.prompt import ObjectClass, Relation, SceneObject
from t2i_core.engine.evaluation import evaluate
from t2i_core.io.prompt_file import read_prompts, write_prompts
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, StaticResolver

DOG, CAT = ObjectClass("dog", "dog.n.01"), ObjectClass("cat")
SCENE = Scene((SceneObject(DOG, "red", 2, {"hat": "yes"}), SceneObject(CAT)), (Relation(0, "left", 1),))
PROMPTS = [
    Prompt("a", "two red dogs and a cat", SCENE, {"kind": "animal", "n": 2}, cluster="pets"),
    Prompt("b", "=line\nbreak \ud800 {", facets={"empty": ""}),
    Prompt("c", "which?", texts=("one", "two"), answer=1),
    Prompt("d", "a dog", references=("a dog", "one dog")),
]
SOURCE = PromptSourceInfo(name="listed", summary="Prompts of every kind.", prompts=lambda setup: iter(PROMPTS))


class One(Metric):
    """Gives each image a 1."""

    def measure(self, unit):
        yield Row("one", 1.0)


METRIC = MetricInfo(name="one", summary="One.", create=One, measures=(Measure("one", "One."),))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(SOURCE)
    return evaluate(METRIC, TEST_MODEL, prompts="listed", seeds=1, out=tmp_path / "run", resolver=resolver)


def test_a_run_gives_back_its_prompts(run: Run) -> None:
    assert load_run(run.folder).prompts() == PROMPTS


def test_they_are_a_file_of_prompts(run: Run) -> None:
    assert read_prompts(run.folder / "prompts.jsonl") == PROMPTS


def test_altered_prompts_are_refused(run: Run) -> None:
    (run.folder / "prompts.jsonl").write_text('{"prompt": "another"}\n')
    with pytest.raises(BadFolder):
        run.prompts()


def test_a_run_of_an_earlier_version_has_none(run: Run) -> None:
    manifest = json.loads((run.folder / "run.json").read_text())
    del manifest["files"]["prompts.jsonl"]
    (run.folder / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(BadFolder):
        load_run(run.folder).prompts()


def test_prompts_that_share_an_id_but_differ_are_left_out() -> None:
    twice, other = Prompt("a", "one"), Prompt("a", "two")
    assert [line["id"] for line in write_prompts([twice, PROMPTS[2], other, PROMPTS[2]])] == ["c"]
