"""On the mini world's simulator and its ideal judge, whose scores are known."""

from __future__ import annotations

import pandas as pd
import pytest
from t2i_cli.app import app
from t2i_core.api.errors import NoJudge
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.result import UpperBound
from t2i_paintskills.skills import SKILLS
from typer.testing import CliRunner

SMALL = {"size": 64, "spp": 1, "workers": 1}
METRICS = [f"paintskills-{skill}" for skill in SKILLS]
ALONE = {f"metric:{metric}": {"upper": None} for metric in METRICS}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All four skills on models that err always or never, a few prompts of each."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        wrong = {"wrong_color": 1, "flip_relation": 1, "extra": 1}
        models = [ModelRequest("simulator", *of) for of in (("right", SMALL), ("wrong", {**SMALL, **wrong}))]
        yield evaluate(METRICS, models, seeds=1, limit=1, judge="oracle", options=ALONE, out=folder / "run")


def scores(run):
    return {(r.metric.removeprefix("paintskills-"), r.label): r.scores for r in run.results}


@pytest.mark.long
def test_correct_images_are_correct(run):
    said = scores(run)
    for skill in SKILLS:
        assert {score.value for score in said[skill, "right"].values()} == {1}
    assert run.failed is None
    assert all(r.n_ok == 1 and r.upper_bound is None for r in run.results)


def test_each_fault_affects_only_its_skill(run):
    said = scores(run)
    assert said["object", "wrong"]["paintskills-object"].value == 1
    count = {name: score.value for name, score in said["count", "wrong"].items()}
    assert count == {"paintskills-count": 0, "number": 0}
    color = {name: score.value for name, score in said["color", "wrong"].items()}
    assert color == {"paintskills-color": 0, "object": 1, "colour": 0}
    table = run.measurements()
    spatial = table[(table["metric"] == "paintskills-spatial") & (table["model"] == "wrong")]
    right = spatial[spatial["measure"] == "paintskills-spatial"]
    assert ((right["object"] == right["object_2"]) == (right["value"] == 1)).all()  # of one kind only the axis
    assert (spatial.loc[spatial["measure"] == "objects", "value"] == 1).all()


@pytest.mark.long
def test_its_analyses_are_written_with_figures(run, tmp_path):
    done = CliRunner().invoke(app, ["analyze", str(run.folder), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "out").iterdir()
    written = {path.name for path in folder.iterdir()}
    assert {
        f"paintskills-object-{name}.{end}" for name in ("skills", "objects") for end in ("csv", "svg", "png")
    } <= written
    assert {"paintskills-color-colours.png", "paintskills-spatial-relations.csv"} <= written
    assert {"paintskills-spatial-objects-A.csv", "paintskills-spatial-objects-B.png"} <= written
    skills = pd.read_csv(folder / "paintskills-object-skills.csv").set_index("model")
    names = ["object", "count", "color", "spatial"]
    assert skills.loc["right", [*names, "average"]].tolist() == [1] * 5
    assert skills.loc["right", [f"images {name}" for name in names]].tolist() == [1] * 4
    assert skills.loc["right", ["object low", "object high"]].tolist() == [0, 1]  # of one prompt


def test_the_upper_bound_stands_beside_a_score(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    model = ModelRequest("simulator", "forgetful", {**SMALL, "wrong_color": 1})
    run = evaluate("paintskills-color", model, limit=1, seeds=1, judge="oracle", out=tmp_path / "run")
    forgetful, bound = run.results
    assert (forgetful.score, bound.score, bound.label) == (0, 1, "upper bound (simulator)")
    assert forgetful.upper_bound == UpperBound(model=bound.label, value=1.0, ci=bound.ci)
    assert run.comparisons == []


def test_a_judge_without_colours_is_refused_in_one_line():
    with pytest.raises(NoJudge, match=r"detect.*colour") as caught:
        evaluate("paintskills-color", "simulator", judge="mini-segmenter", limit=1, seeds=1)
    assert "\n" not in str(caught.value)
