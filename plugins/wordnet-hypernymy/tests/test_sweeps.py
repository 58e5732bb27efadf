from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import Study
from t2i_core.testing.figures import check_figure
from t2i_wordnet_hypernymy.sweeps import blocks_of_seeds, by_images, on_front, planes, scores, split_runs, sweeps

#: by model, the value of each of two synsets
ISP = {"g1": (0.2, 0.4), "g5": (0.6, 0.8), "g9": (0.7, 0.9), "g5, 10 steps": (0.5, 0.5)}
SCS = {"g1": 0.9, "g5": 0.5, "g9": 0.4, "g5, 10 steps": 0.45}
SETTINGS = {
    "g1": {"guidance": 1.0}, "g5": {"guidance": 5.0}, "g9": {"guidance": 9.0},
    "g5, 10 steps": {"guidance": 5.0, "steps": 10},
}  # fmt: skip


@pytest.fixture
def study(tmp_path):
    isp = [
        {"measure": "isp", "model": model, "prompt": synset, "value": value}
        for model, pair in ISP.items()
        for synset, value in zip(("a", "b"), pair, strict=True)
    ]
    scs = [{"metric": "scs", "measure": "scs", "model": m, "prompt": "a", "value": v} for m, v in SCS.items()]
    return Study(pd.DataFrame(isp), pd.DataFrame(), tmp_path, pd.DataFrame(scs), SETTINGS)


def test_scores_stand_along_each_setting_that_varies(study):
    (found,) = sweeps(study, "isp")  # of steps there is a single number
    assert found.name == "by guidance"
    table = found.table
    assert table["guidance"].tolist() == [1, 5, 9]  # one of other steps is alone
    np.testing.assert_allclose(table["isp"], [0.3, 0.7, 0.8])
    assert check_figure(found).count('aria-roledescription="point"') == 3
    settings = {label: {"steps": 50, **given} for label, given in SETTINGS.items()}
    steps, guidance = sweeps(Study(study.table, study.samples, study.folder, None, settings), "isp")
    assert guidance.table["rest"].tolist() == ["steps=50"] * 3
    assert steps.table[["steps", "rest"]].values.tolist() == [[10, "guidance=5.0"], [50, "guidance=5.0"]]


def test_the_papers_sweeps_are_one_recipe():
    from t2i_core.engine.recipe import load_recipe

    recipe = load_recipe(Path(__file__).parents[3] / "examples" / "hypernymy-sweep.yaml")
    models = [model for entry in recipe.values["models"] for model in entry.expand()]
    settings = {model.label: {"guidance": 7.5, "steps": 50, **model.settings} for model in models}
    rows = [{"measure": "isp", "model": m, "prompt": "a", "value": i / 20} for i, m in enumerate(settings)]
    found = sweeps(Study(pd.DataFrame(rows), pd.DataFrame(), Path(), None, settings), "isp")
    along = {analysis.name: analysis.table for analysis in found}
    assert along["by guidance"]["guidance"].tolist() == [1, 1.5, 2, 2.5, 5, 7.5, 10]
    assert along["by steps"]["steps"].tolist() == [5, 10, 15, 25, 50, 75, 100]


def test_the_front_is_what_nothing_beats_in_both(study):
    *_, found = planes(study, "isp", "scs")
    table = found.table.set_index("model")
    assert table["front"].to_dict() == {"g1": True, "g5": True, "g9": True, "g5, 10 steps": False}
    assert table.loc["g5, 10 steps", ["guidance", "steps", "isp", "scs"]].tolist() == [5, 10, 0.5, 0.45]
    assert all(f">{label}</text>" in check_figure(found) for label in table.index)
    assert list(planes(Study(study.table, study.samples, study.folder), "isp", "scs")) == []


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(POINTS)
def test_every_point_is_on_the_front_or_beaten_by_one_that_is(points):
    on = on_front(np.array(points, float))

    def beats(a, b):
        return a[0] >= b[0] and a[1] >= b[1] and a != b

    best = [p for p, is_on in zip(points, on, strict=True) if is_on]
    assert best
    for point, is_on in zip(points, on, strict=True):
        assert is_on is not any(beats(other, point) for other in points)
        assert is_on or any(beats(other, point) for other in best)


def test_blocks_of_seeds_are_disjoint_and_synsets_count_alike():
    rows = [
        {"measure": "isp", "model": "m", "prompt": synset, "seed": seed, "value": value}
        for synset, values in {"a": (0.1, 0.3, 0.5, 0.7, 0.9), "b": (0.4, None, 0.6, 0.6, 0)}.items()
        for seed, value in zip((3, 4, 7, 8, 9), values, strict=True)
        if value is not None
    ]
    blocks = blocks_of_seeds(pd.DataFrame(rows), "isp", (2, 8))
    assert blocks["images"].tolist() == [2] * 4  # the fifth seed is left over, and eight there are not
    by_block = blocks.set_index(["prompt", "block"])["value"]
    np.testing.assert_allclose(by_block.loc["a"], [0.2, 0.6])
    np.testing.assert_allclose(by_block.loc["b"], [0.4, 0.6])
    found, deviation = by_images(blocks, "isp")
    assert found.table.loc[0, ["images", "runs"]].tolist() == [2, 2]
    assert found.table.loc[0, "isp"] == pytest.approx((0.3 + 0.6) / 2)
    assert found.table.loc[0, "sd"] == pytest.approx(np.std([0.3, 0.6], ddof=1))
    assert ">images per synset</text>" in check_figure(found)
    assert ">images per synset</text>" in check_figure(deviation)


def test_ranks_of_synsets_are_compared_between_blocks():
    values = {"a": (1, 1, 3), "b": (2, 3, 2), "c": (3, 2, 1)}
    rows = [
        {"model": "m", "prompt": synset, "images": 4, "block": block, "value": value}
        for synset, of_blocks in values.items()
        for block, value in enumerate(of_blocks)
    ]
    alone = [{**row, "images": 8} for row in rows if row["block"] == 0]
    found, deviation = by_images(pd.DataFrame(rows + alone), "scs")
    table = found.table.set_index("images")
    assert np.isnan(table.loc[8, "sd"])
    assert deviation.table["images"].tolist() == [4]  # one run of 8 images has no deviation
    assert deviation.table.loc[0, "relative"] == pytest.approx(table.loc[4, "sd"] / table.loc[4, "scs"])
    assert check_figure(found).count('aria-roledescription="point"') == 2
    (only,) = by_images(pd.DataFrame(alone), "scs")
    assert only.name == "images per synset"
    assert table.loc[4, "rho"] == pytest.approx((0.5 - 1 - 0.5) / 3)
    assert np.isnan(table.loc[8, "rho"])


def test_where_nothing_varies_nothing_is_said(study):
    alone = Study(study.table, study.samples, study.folder)
    assert list(sweeps(alone, "isp")) == []
    assert list(by_images(blocks_of_seeds(study.table, "isp", (4,)), "isp")) == []
    assert scores(study.table, "other") == {}


TWO = {
    "ldm 5": ("ldm", 5),
    "ldm 50": ("ldm", 50),
    "sd 5": ("sd14", 5),
    "sd 50": ("sd14", 50),
    "sd 25": ("sd14", 25),
}


@pytest.fixture
def two_models(tmp_path):
    """Two models with the same settings, three and two numbers of steps."""
    isp = [
        {"measure": "isp", "model": label, "prompt": "a", "value": (steps + len(name)) / 100}
        for label, (name, steps) in TWO.items()
    ]
    scs = [{**row, "metric": "scs", "measure": "scs", "value": 1 - row["value"]} for row in isp]
    settings = {label: {"guidance": 7.5, "steps": steps} for label, (_, steps) in TWO.items()}
    generators = {label: name for label, (name, _) in TWO.items()}
    return Study(pd.DataFrame(isp), pd.DataFrame(), tmp_path, pd.DataFrame(scs), settings, generators=generators)


def test_each_model_of_a_sweep_has_a_line(two_models):
    (found,) = sweeps(two_models, "isp")
    lines = {name: own["steps"].tolist() for name, own in found.table.groupby("generator")}
    assert lines == {"ldm": [5, 50], "sd14": [5, 25, 50]}
    drawn = check_figure(found)
    assert drawn.count('aria-roledescription="point"') == 5
    assert ">ldm</text>" in drawn
    assert ">sd14</text>" in drawn


def test_the_plane_of_two_scores_has_a_curve_per_model(two_models):
    curves, front = planes(two_models, "isp", "scs")
    assert (curves.name, front.name) == ("isp and scs by steps", "isp and scs")
    assert curves.figure.data.groupby("line")["steps"].agg(list).to_dict() == {
        "ldm, guidance=7.5": [5, 50],
        "sd14, guidance=7.5": [5, 25, 50],
    }
    assert check_figure(curves).count('aria-roledescription="point"') == 5


@pytest.mark.parametrize(
    ("count", "size", "starts"),
    [(128, 4, [0, 32, 64, 96]), (128, 32, [0, 32, 64, 96]), (32, 8, [0, 8, 16, 24]), (32, 16, [0, 16]),
     (5, 2, [0, 2]), (3, 4, []), (32, 32, [0])],
)  # fmt: skip
def test_runs_of_fewer_images_are_disjoint(count, size, starts):
    assert split_runs(count, size) == [slice(start, start + size) for start in starts]


@given(st.integers(1, 200), st.integers(1, 64))
def test_runs_never_share_images(count, size):
    images = [i for run in split_runs(count, size) for i in range(count)[run]]
    assert len(images) == len(set(images)) == min(4, count // size) * size


def test_isp_of_fewer_images_is_not_flat_by_construction():
    values = np.random.default_rng(0).random(128)
    rows = [{"measure": "isp", "model": "m", "prompt": "a", "seed": i, "value": v} for i, v in enumerate(values)]
    found, deviation = by_images(blocks_of_seeds(pd.DataFrame(rows), "isp", (4, 8, 16, 32)), "isp")
    assert found.table["runs"].tolist() == [4] * 4
    assert found.table["isp"].nunique() == 4
    expected = np.std([values[32 * run : 32 * run + 4].mean() for run in range(4)], ddof=1)
    assert deviation.table.loc[0, "sd"] == pytest.approx(expected)
