"""Each table of the study, from runs small enough to count by hand."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from t2i_core.api import Setup, Study
from t2i_core.statistics import mean_interval
from t2i_core.testing.figures import check_figure
from t2i_tiam.colours import srgb_to_lab
from t2i_tiam.metric import Tiam
from t2i_tiam.options import TiamOptions
from t2i_tiam.references import REFERENCES
from t2i_tiam.study.colour_space import lab_to_xyz
from t2i_tiam.study.colours import LEFT_OUT
from t2i_tiam.study.tables import read_tables

ONE, TWO = "a photo of {1}", "a photo of {1} and {2}"
THREE, COMMA = "a photo of {1} next to {2} and {3}", "a photo of {1}, {2} and {3}"


@pytest.fixture(scope="module")
def wide(runs):
    """One to three objects, a comma and colours: the second object is found under even seeds, the third never."""

    def found(prompt, seed):
        return [True, seed % 2 == 0, prompt.id.endswith("-comma")][: len(prompt.scene.objects)]

    def bound(prompt, seed):
        return [o.colour == "red" for o in prompt.scene.objects]

    prompts = [
        *runs.prompts(ONE, "car", "zebra", "dog"),
        *runs.prompts(TWO, "car", "zebra", "dog"),
        *runs.prompts(THREE, "car", "zebra", "dog"),
        *runs.prompts(COMMA, "car", "zebra", "dog", suffix="-comma"),
        *runs.prompts(TWO, "car", "zebra", colours=["red", "blue"]),
    ]
    return runs.analyses(runs.study(runs.rows("m", prompts, range(5), found, bound)))


def test_scores_by_number_of_objects(wide):
    table = wide["number of objects"].table.set_index(["kind", "measure"])
    assert list(table.index) == [
        ("1 object", "tiam"),
        ("2 objects", "tiam"),
        ("3 objects", "tiam"),
        ("3 objects (comma)", "tiam"),
        ("2 coloured objects", "tiam"),
        ("2 coloured objects", "objects"),
    ]
    np.testing.assert_allclose(table["score"], [1, 0.6, 0, 0.6, 0, 0.6])
    assert (table["low"] <= table["score"]).all()
    assert (table["score"] <= table["high"]).all()


def test_occurrence_by_position(wide):
    table = wide["occurrence by position"].table.set_index(["kind", "position"])["found"]
    assert table["2 objects"].to_dict() == {1: 1, 2: pytest.approx(0.6)}
    assert table["3 objects"].to_dict() == {1: 1, 2: pytest.approx(0.6), 3: 0}
    assert table["3 objects (comma)"].to_dict() == {1: 1, 2: pytest.approx(0.6), 3: 1}


def test_objects_by_position_are_told_apart_by_kind(wide):
    """A place is not the same in prompts of two objects and of three."""
    table = wide["object by position"].table.set_index(["kind", "object", "position"])
    assert table.loc[("2 objects", "dog", 1), "found"] == 1
    assert table.loc[("2 objects", "dog", 2), ["found", "n"]].to_list() == [pytest.approx(0.6), 2 * 5]
    assert table.loc[("3 objects", "dog", 3), "found"] == 0
    assert table.loc[("3 objects (comma)", "dog", 3), "found"] == 1
    assert "2 coloured objects" not in table.loc[(slice(None), "dog"), :].index.get_level_values("kind")
    assert ((table["low"] <= table["found"]) & (table["found"] <= table["high"])).all()


def test_right_by_position_is_found_and_in_its_colour(runs):
    """The first object is always there, half the time in its colour; the second half the time, always in it."""

    def there(prompt, seed):
        return [True, seed < 2]

    def bound(prompt, seed):
        return [seed % 2 == 0, True]

    rows = runs.rows("m", runs.prompts(TWO, "car", "zebra", colours=["red", "blue"]), range(4), there, bound)
    rows += runs.rows("m", runs.prompts(TWO, "car", "dog"), range(4), lambda *_: [True, True])
    found = runs.analyses(runs.study(rows))
    right = found["right by position"].table.set_index(["kind", "position"])
    assert right["right"].to_dict() == {("2 coloured objects", 1): 0.5, ("2 coloured objects", 2): 0.5}
    assert ((right["low"] < 0.5) & (right["high"] > 0.5)).all()
    occurrence = found["occurrence by position"].table.set_index(["kind", "position"])["found"]
    assert occurrence["2 coloured objects"].to_dict() == {1: 1, 2: 0.5}
    each = found["right object by position"].table
    assert set(each["kind"]) == {"2 coloured objects"}
    assert each.set_index(["object", "position"])["right"].to_dict() == dict.fromkeys(
        [(name, position) for name in ("car", "zebra") for position in (1, 2)], 0.5
    )


def test_colours_by_object(wide):
    table = wide["colour by object"].table.set_index(["kind", "object", "colour"]).loc["2 coloured objects"]
    assert table.loc[("car", "red"), "binding"] == 1
    assert table.loc[("car", "red"), "right"] == table.loc[("car", "red"), "found"] == pytest.approx(0.8)
    assert table.loc[("zebra", "blue"), "binding"] == table.loc[("zebra", "blue"), "right"] == 0
    assert ((table["low"] <= table["right"]) & (table["right"] <= table["high"])).all()


def test_an_interval_answers_the_runs_question_and_says_which(runs):
    """Under every seed alike: new seeds of these prompts change less than new prompts."""
    rows = runs.rows(
        "m", runs.prompts(TWO, "car", "zebra", "dog"), range(12), lambda p, s: [True, (len(p.id) + s) % 3]
    )
    found = {}
    for interval in ("new", "seeds"):
        analyses = runs.analyses(runs.study(rows, interval=interval))
        found[interval] = analyses["number of objects"]
        for name in ("number of objects", "occurrence by position", "object by position", "confidence"):
            assert INTERVALS[interval] in analyses[name].summary
        for mine, wanted in zip(
            found[interval].table[["score", "low", "high"]].iloc[0],
            overall(rows, interval),
            strict=True,
        ):
            assert mine == pytest.approx(wanted)
    assert found["new"].table["low"].iloc[0] < found["seeds"].table["low"].iloc[0]
    assert found["seeds"].table["clusters"].iloc[0] == 12
    one = runs.analyses(runs.study([row for row in rows if row["seed"] == 0]))
    assert "(new prompts of this kind, these seeds; Wilson" in one["number of objects"].summary


INTERVALS = {
    "new": "(new prompts of this kind and new seeds; Wilson",
    "seeds": "(these prompts, new seeds; Wilson",
}


def overall(rows, interval, cluster="prompt"):
    images = pd.DataFrame([row for row in rows if row["measure"] == "tiam"])
    found = mean_interval(images["value"].astype(float), images[cluster], images["seed"], interval=interval)
    return found.value, found.lo, found.hi


def test_prompts_of_one_cluster_are_resampled_as_one(runs):
    rows = runs.rows("m", runs.prompts(ONE, "car", "zebra", "dog", "cat"), range(4), lambda p, s: [len(p.id) == 3])
    for row in rows:
        row["cluster"] = "short" if len(row["prompt"]) == 3 and row["prompt"] != "cat" else row["prompt"]
    line = runs.analyses(runs.study(rows))["number of objects"].table.iloc[0]
    assert (line["clusters"], line["prompts"]) == (3, 4)
    assert (line["score"], line["low"], line["high"]) == pytest.approx(overall(rows, "new", "cluster"))


def test_binding_is_told_both_ways(runs):
    """Of two prompts one has its second object under seed 0 alone, and never in its colour."""
    prompts = runs.prompts(TWO, "car", "zebra", colours=["red", "blue"])[:2]
    rows = runs.rows(
        "m", prompts, [0, 1],
        lambda p, seed: [True, seed == 0 or p is prompts[0]],
        lambda p, seed: [True, p is prompts[0]],
    )  # fmt: skip
    table = runs.analyses(runs.study(rows))["binding"].table.set_index(["colour", "position"])
    line = table.loc[("all", "all")]
    assert line["binding_pooled"] == pytest.approx(6 / 7)
    assert line["binding_per_prompt"] == pytest.approx((1 + 2 / 3) / 2)
    assert (line["n"], line["prompts"]) == (7, 2)
    second = table.loc[("all", 2)]
    assert (second["binding_pooled"], second["binding_per_prompt"]) == (pytest.approx(2 / 3), 0.5)
    assert 0 <= second["low_per_prompt"] < 0.5 < second["high_per_prompt"] <= 1


def test_binding_per_prompt_is_the_runs_own_score_where_images_failed(runs):
    """A prompt with fewer images left weighs less."""
    prompts = runs.prompts(TWO, "car", "zebra", colours=["red", "blue"])[:2]
    rows = runs.rows(
        "m", prompts, range(4), lambda _, seed: [True, seed % 2], lambda p, _: [p is prompts[0], True]
    )  # fmt: skip
    kept = [row for row in rows if row["prompt"] != prompts[1].id or row["seed"] < 1]
    table = runs.analyses(runs.study(kept))["binding"].table.set_index(["colour", "position"])
    rows = pd.DataFrame(kept).astype({"value": float})
    metric = Tiam(Setup(None, TiamOptions()))
    score = metric.aggregate(metric.prepare(rows), np.ones(len(rows)))["binding_per_prompt"]
    assert score == pytest.approx(4 / 5)
    assert table.loc[("all", "all"), "binding_per_prompt"] == pytest.approx(score)


def test_colours_of_objects_that_are_never_found_are_accepted(runs):
    prompts = runs.prompts(TWO, "car", "zebra", colours=["red", "blue"])
    found = runs.analyses(runs.study(runs.rows("m", prompts, [0, 1], lambda *_: [False, False])))
    assert found["colour by object"].table["binding"].isna().all()
    assert "binding" not in found


def test_wordings_are_paired_by_objects_and_seed(wide):
    (line,) = wide["wording"].table.to_dict("records")
    assert (line["a"], line["b"], line["kind"]) == ("plain", "comma", "3 objects")
    assert (line["prompts"], line["images"]) == (6, 30)
    assert line["difference"] == pytest.approx(-0.6)
    assert line["low"] < -0.6 < line["high"] <= 1


def test_wordings_of_prompts_with_colours_are_not_mixed_with_others(runs):
    prompts = [
        *runs.prompts(TWO, "car", "zebra"),
        *runs.prompts("{1}, {2}", "car", "zebra", suffix="-comma"),
        *runs.prompts(TWO, "car", "zebra", colours=["red", "blue"]),
        *runs.prompts("{1}, {2}", "car", "zebra", colours=["red", "blue"], suffix="-comma"),
    ]
    rows = runs.rows("m", prompts, range(3), lambda p, seed: [True, p.scene.objects[0].colour or seed])
    table = runs.analyses(runs.study(rows))["wording"].table.set_index("kind")
    assert table["tiam_a"].to_dict() == {"2 objects": pytest.approx(2 / 3), "2 coloured objects": 1}


def test_the_sweep_of_confidence_follows_what_rows_say(runs):
    rows = runs.rows("m", runs.prompts(ONE, "car", "zebra", "dog"), [0, 1], lambda *_: [True])
    spans = iter(["0-0.83", "0-0.5", "0.3-0.5 0.6-0.9", "0-0.25", None, "0-1"])
    for row in rows:
        if row["measure"] == "tiam":
            del row["holds_at"]
            if span := next(spans):
                row["holds_at"] = span
            else:
                row["value"] = False
    study = runs.study(rows, floors={"objects": 0.0})
    table = runs.analyses(study, confidence=0.25)["confidence"].table.set_index("confidence")["tiam"]
    assert table[[0.05, 0.25, 0.3, 0.5, 0.55, 0.8, 0.85, 0.9, 0.95]].to_list() == pytest.approx(
        [n / 6 for n in (4, 4, 3, 4, 2, 3, 2, 2, 1)]
    )
    assert len(runs.analyses(study, confidence=0.333)["confidence"].table) == 20


@pytest.mark.parametrize(
    ("floors", "first", "says"),
    [
        ({"objects": 0.0}, 0.05, "(the run's own is 0.25)"),
        ({"objects": 0.1}, 0.1, "(the run's own is 0.25; its judge stores no detections below 0.1)"),
        ({"objects": 0.12}, 0.15, "no detections below 0.12"),
        ({"objects": 0.25}, 0.25, "no detections below 0.25"),
        ({}, 0.25, "lower ones are left out, because the judge's lowest confidence is unknown"),
    ],
)
def test_the_sweep_says_nothing_of_confidences_that_the_judge_does_not_keep(runs, floors, first, says):
    rows = runs.rows("m", runs.prompts(ONE, "car", "zebra"), [0, 1], lambda *_: [True])
    sweep = runs.analyses(runs.study(rows, floors=floors), confidence=0.25)["confidence"]
    assert sweep.table["confidence"].min() == first
    assert 0.25 in set(sweep.table["confidence"])
    assert says in sweep.summary


def test_rows_of_an_older_run_say_nothing_of_confidence(runs):
    rows = runs.rows("m", runs.prompts(ONE, "car", "zebra"), [0], lambda *_: [True])
    for row in rows:
        row.pop("holds_at", None)
    assert "confidence" not in runs.analyses(runs.study(rows))


def test_reference_colours(golden, runs):
    references = golden("tiam-01")["expected"]["comparator"]
    rows = runs.rows("m", runs.prompts(ONE, "car"), [0], lambda *_: [True])
    table = runs.analyses(runs.study(rows))["reference colours"].table.set_index("reference")
    assert list(table.index) == list(table.columns) == [*REFERENCES, "orange", "brown"]
    left_out = golden("tiam-01")["expected"]["dropped"]
    assert {name: list(lab) for name, lab in LEFT_OUT.items()} == left_out
    assert table["orange"].drop("orange").idxmin() == "red"
    assert table["brown"].drop("brown").idxmin() == "black"
    a, b = (np.array(references[name]) for name in ("blue", "purple"))
    assert table.loc["blue", "purple"] == pytest.approx(np.sqrt(((a - b) ** 2).sum()))
    assert table.loc["black", "white"] == pytest.approx(100, abs=1e-3)
    assert (np.diag(table) == 0).all()
    own = {"references": {"grey": (50, 0, 0), "black": (0, 0, 0)}}
    for name in ("reference colours", "chromaticities"):
        assert list(runs.analyses(runs.study(rows), **own)[name].table["reference"]) == ["grey", "black"]


def test_chromaticities_of_the_references(runs):
    """Each is back at its place in CIELAB, by the conversion of the metric; grey lies at the white of D65."""
    rows = runs.rows("m", runs.prompts(ONE, "car"), [0], lambda *_: [True])
    found = runs.analyses(runs.study(rows))["chromaticities"]
    table = found.table.set_index("reference")
    assert list(table.index[~table["used"].astype(bool)]) == ["orange", "brown"]
    assert table.loc["black", ["x", "y"]].isna().all()
    np.testing.assert_allclose(table.loc["white", ["x", "y"]].astype(float), [0.3127, 0.3290], atol=1e-4)
    for name in ("pink", "red", "yellow", "purple", "white", "orange", "brown"):  # within sRGB
        rgb = [int(table.loc[name, "srgb"][i : i + 2], 16) for i in (1, 3, 5)]
        np.testing.assert_allclose(srgb_to_lab(rgb), {**REFERENCES, **LEFT_OUT}[name], atol=0.6, err_msg=name)
    x, y = table.loc["yellow", "x"], table.loc["yellow", "y"]
    luminance = ((REFERENCES["yellow"][0] + 16) / 116) ** 3
    assert table.loc["yellow", "Y"] == pytest.approx(luminance)
    assert lab_to_xyz(REFERENCES["yellow"]) == pytest.approx(np.array([x, y, 1 - x - y]) * luminance / y)
    check_figure(found)


def test_spectral_colours_are_those_of_published_tables(runs):
    """Values that textbooks print (Wyszecki and Stiles, 1 (3.3.1)); all references lie within their curve."""
    rows = runs.rows("m", runs.prompts(ONE, "car"), [0], lambda *_: [True])
    drawn = runs.analyses(runs.study(rows))["chromaticities"].figure.data
    spectrum = drawn[drawn["curve"] == "spectral colours"]
    points = spectrum.set_index("label")[["x", "y"]]
    for nm, x, y in (
        ("500", 0.0082, 0.5384),
        ("520", 0.0743, 0.8338),
        ("560", 0.3731, 0.6245),
        ("600", 0.6270, 0.3725),
    ):
        assert points.loc[nm].to_list() == pytest.approx([x, y], abs=1e-4)
    curve = spectrum[["x", "y"]].to_numpy()
    assert (curve[0] == curve[-1]).all(), "closed by the line of purples"
    for x, y in drawn.loc[drawn["curve"].isna(), ["x", "y"]].to_numpy():
        (ax, ay), (bx, by) = curve[:-1].T, curve[1:].T
        crossed = ((ay > y) != (by > y)) & (x < ax + (y - ay) / np.where(by == ay, 1, by - ay) * (bx - ax))
        assert crossed.sum() % 2 == 1


def test_tables_in_memory_read_as_those_of_a_file(runs):
    prompts = runs.prompts(TWO, "car", "zebra", colours=["red", "blue"])
    rows = runs.rows("m", prompts, [0, 1], lambda _, seed: [True, seed == 0])
    from_file = read_tables(runs.study(rows))
    table = pd.DataFrame(rows).astype({"value": float})
    table = table.astype({name: "category" for name in table.columns if name != "value"})
    in_memory = read_tables(Study(table, pd.DataFrame(), None))
    for name in ("images", "objects", "prompts"):
        a, b = getattr(from_file, name), getattr(in_memory, name)
        pd.testing.assert_frame_equal(a, b, check_dtype=False, check_index_type=False)


@pytest.mark.long
def test_figures_are_drawn(wide):
    for name, analysis in wide.items():
        assert len(analysis.table), name
        if analysis.figure is not None:
            assert check_figure(analysis)


def test_the_map_of_objects_has_a_panel_for_each_kind_and_every_share(wide):
    analysis = wide["object by position"]
    svg = check_figure(analysis)
    for text in ("car", "zebra", *analysis.table["kind"]):
        assert f">{text}</text>" in svg
    shares = [f"{share:.2f}" for share in analysis.table["found"]]
    assert sorted(text for text in re.findall(r">(\d\.\d\d)</text>", svg)) == sorted(shares)


def test_runs_without_rows_or_with_a_single_image_are_accepted(runs):
    nothing = runs.study([{"measure": "objects", "value": 1, "model": "m", "prompt": "x", "seed": 0}])
    assert runs.analyses(nothing) == {}
    one = runs.analyses(runs.study(runs.rows("m", runs.prompts(ONE, "car"), [0], lambda *_: [True])))
    assert list(one) == [
        "number of objects", "occurrence by position", "object by position", "confidence", "reference colours",
        "chromaticities",
    ]  # fmt: skip
