"""Declared figures: what they draw, what they leave out, and that every kind is drawn at the papers' sizes."""

from __future__ import annotations

import hashlib
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PillowImage
from t2i_core.api.errors import BrokenPlugin
from t2i_core.api.figure import (
    BarChart,
    DistributionPlot,
    Figure,
    ForestPlot,
    HeatMap,
    LinePlot,
    Mosaic,
    ScatterPlot,
)
from t2i_core.api.image import Image
from t2i_core.api.study import Analysis
from t2i_core.results.figures import convert_to_png, draw_svg, make_spec
from t2i_core.results.figures.look import DARK_PALETTE, PAGE_STYLE, PALETTE, follow_theme
from t2i_core.results.figures.points import LINE, place_labels
from t2i_core.testing.figures import check_figure

MODELS = ["mini", "mini-early", "stable-diffusion-v1-4", "if", "<b>'\"&\\", "datum['x'] }}"]
"""Labels of models; some are words or signs of the language that draws."""

RNG = np.random.default_rng(0)


def make_table(labels: list[str], models: list[str] = MODELS) -> pd.DataFrame:
    rows = [(model, label, x, RNG.random()) for model in models for x, label in enumerate(labels)]
    table = pd.DataFrame(rows, columns=["model", "label", "x", "value"])
    return table.assign(low=table["value"] - 0.1, high=table["value"] + 0.1)


TABLE = make_table(["car", "dog, big", "a label that is so long that nobody wants to read all of it " * 3])
KINDS: dict[str, Figure] = {
    "line": LinePlot(x="x", y="value", colour="model"),
    "line of one model": LinePlot(x="x", y="value", facet="model", reference=0.5, at=1),
    "line by levels": LinePlot(x="label", y="value", colour="model", scale="levels", band="bars"),
    "line, log": LinePlot(x="x", y="value", colour="label", facet="model", scale="log", y_range=(0, 1)),
    "bars": BarChart(label="label", value="value", colour="model", reference=0.5, note="dashed: even"),
    "bars of a label": BarChart(label=("model", "label"), value="value"),
    "stacked": BarChart(label="model", value="value", colour="label", stacked=True),
    "colours": BarChart(label="model", value="value", colour="label", colours={"car": "gold"}),
    "forest": ForestPlot(label="label", value="value", colour="model", reference=0, ticks={"x": "chance"}),
    "forest, panels": ForestPlot(label="label", value="value", facet="model", shared=False),
    "heat map": HeatMap(x="model", y="label", value="value", range=(0, 1)),
    "heat map, panels": HeatMap(x="x", y="label", value="value", facet="model", diverging=True),
    "points": ScatterPlot(x="x", y="value", label="label", colour="model", curve="model", square=True),
    "points, panels": ScatterPlot(x="x", y="value", size="x", facet="model", reference="low", diagonal=True),
    "boxes": DistributionPlot(label="model", value="value"),
    "densities": DistributionPlot(label="model", value="value", kind="density", facet="label"),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_drawn_without_warnings_and_shows_its_labels_as_text(kind: str) -> None:
    svg = check_figure(Analysis("figure", "", TABLE, KINDS[kind]))
    for part in ("mini-early", "&lt;b&gt;"):
        assert part in svg
    assert "<b>" not in svg
    assert "NaN" not in svg


@pytest.mark.parametrize("kind", [name for name in KINDS if name not in ("boxes", "densities", "stacked")])
def test_every_interval_is_drawn(kind: str) -> None:
    """In a heat map an interval is a text, or the size of the cell."""
    spec = make_spec(KINDS[kind], TABLE)
    assert all(
        record["low"] < record["value" if "value" in record else "y"] < record["high"]
        for record in spec["data"]["values"]
    )
    layers = spec.get("layer") or spec["spec"]["layer"]
    text = repr(layers)
    assert "'high'" in text or "'ends'" in text


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_have_no_mark(kind: str) -> None:
    gone = TABLE.assign(value=TABLE["value"].where(TABLE["model"] != "if", np.nan))
    gone.loc[gone["model"] == "mini", ["low", "high"]] = np.nan, np.inf
    svg = check_figure(Analysis("figure", "", gone, KINDS[kind]))
    assert "stable-diffusion-v1-4" in svg
    assert ">if</text>" not in svg
    records = make_spec(KINDS[kind], gone)["data"]["values"]
    assert len(records) == len(TABLE) - 3
    empty = Analysis("figure", "", gone.assign(value=np.nan), KINDS[kind])
    assert not make_spec(KINDS[kind], empty.table)["data"]["values"]
    check_figure(empty)


def test_a_line_of_one_point_has_its_interval() -> None:
    spec = make_spec(KINDS["line"], TABLE[(TABLE["x"] == 0) | (TABLE["model"] == "mini")])
    single = [record["colour"] for record in spec["data"]["values"] if record["single"]]
    assert single == MODELS[1:]
    rules = [layer for layer in spec["layer"] if layer["mark"]["type"] == "rule"]
    assert rules[0]["encoding"]["y2"] == {"field": "high"}


def test_a_bar_of_length_0_is_seen_and_a_missing_one_is_not() -> None:
    table = pd.DataFrame({"model": ["a", "b", "c"], "value": [1.0, 0.0, np.nan]})
    svg = check_figure(Analysis("figure", "", table, BarChart(label="model", value="value")))
    assert re.findall(r">([abc])</text>", svg) == ["a", "b"]
    ticks = re.search(r'class="mark-rect[^"]*layer_1_marks".*?</g>', svg, re.DOTALL)
    assert ticks
    assert ticks[0].count("<path") == 1


@pytest.mark.parametrize(("places", "whole"), [([1, 2, 3, 4], True), ([1.0, 1.5, 2.0], False)])
def test_whole_numbers_have_no_ticks_between_them(places: list[float], whole: bool) -> None:
    table = pd.DataFrame({"rank": places, "value": range(len(places))})
    svg = check_figure(Analysis("figure", "", table, ScatterPlot(x="rank", y="value", x_title="by rank")))
    axis = svg[svg.index("X-axis titled 'by rank'") : svg.index("Y-axis")]
    assert ("1.5</text>" in axis) is not whole


def test_levels_keep_the_order_of_the_table() -> None:
    table = make_table(["b", "a", "c"], ["z", "y", "x"])
    table.loc[(table["label"] == "b") & (table["model"] == "z"), "value"] = np.nan
    svg = draw_svg(HeatMap(x="label", y="label", value="value", facet="model"), table)
    assert [text for text in re.findall(r">([a-z])</text>", svg) if text in "xyz"] == ["z", "y", "x"]
    assert re.findall(r">([a-c])</text>", svg)[:3] == ["b", "a", "c"]


def get_size(svg: str) -> tuple[float, float]:
    found = re.search(r'<svg[^>]* width="([\d.]+)"[^>]* height="([\d.]+)"', svg)
    assert found
    return float(found[1]), float(found[2])


def test_six_models_by_28_labels_are_readable() -> None:
    table = make_table([f"object {i}" for i in range(28)])
    for figure in (KINDS["bars"], KINDS["heat map"], KINDS["forest"]):
        svg = check_figure(Analysis("figure", "", table, figure))
        labels = re.findall(
            r'transform="translate\([-\d.]+,([-\d.]+)\)"[^>]*font-size="11px"[^>]*>object \d+<', svg
        )
        heights = sorted(map(float, labels))
        assert len(heights) == 28
        assert min(b - a for a, b in itertools.pairwise(heights)) >= 12  # no two overlap
        width, height = get_size(svg)
        assert width < 1000
        assert height < 2600


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bars", "forest", "heat map", "points", "line by levels"])
def test_eight_models_by_860_synsets_fit_and_have_no_labels(kind: str) -> None:
    table = make_table([f"synset_{i}.n.01" for i in range(860)], [f"model {i}" for i in range(8)])
    svg = check_figure(Analysis("figure", "", table, KINDS[kind]))
    width, height = get_size(svg)
    assert max(width, height) < 1400
    assert not re.search(r">synset_\d+\.n\.01</text>", svg)


def test_labels_of_points_cover_nothing() -> None:
    spots = [(float(x), float(y)) for x, y in RNG.uniform(0, 400, (60, 2))]
    places = place_labels(["elephant"] * 60, spots, 400, 400)
    known = [place for place in places if place is not None]
    assert len(known) > 30
    for (ax, ay), (bx, by) in itertools.combinations(known, 2):
        assert abs(ax - bx) >= 8 * 5.6 or abs(ay - by) >= LINE


def test_svg_of_a_page_has_its_colours_and_says_values_under_the_pointer() -> None:
    svg = draw_svg(KINDS["line"], TABLE)
    assert PALETTE[0] in svg
    page = follow_theme(svg)
    assert re.search(rf'stroke="var\(--figure-c0,{PALETTE[0]}\)"', page)
    assert not re.search(r'(fill|stroke)="#', page)
    titles = re.findall(r"<title>([^<]*)</title>", page)
    assert len(titles) == len(TABLE)
    first = TABLE.iloc[0]
    assert f"model: mini; x: 0; value: {first['value']:.3f}; low: {first['low']:.3f}" in titles[0]
    assert all(f"--figure-c7:{colours[7]}" in PAGE_STYLE for colours in (PALETTE, DARK_PALETTE))


def get_luminance(colour: str) -> float:
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(("palette", "ground"), [(PALETTE, "#ffffff"), (DARK_PALETTE, "#232321")])
def test_colours_stand_out_from_the_page(palette: tuple[str, ...], ground: str) -> None:
    for colour in palette:
        low, high = sorted((get_luminance(colour), get_luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 3, colour


BLINDNESS = {
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""Machado, Oliveira and Fernandes (2009): colours as seen with each colour blindness."""


def get_lab(colour: str, seen: np.ndarray) -> np.ndarray:
    shares = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.clip(seen @ np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("palette", [PALETTE, DARK_PALETTE])
@pytest.mark.parametrize("blindness", ["none", *BLINDNESS])
def test_colours_differ_for_people_with_colour_blindness(palette: tuple[str, ...], blindness: str) -> None:
    seen = np.array(BLINDNESS.get(blindness, np.eye(3)))
    pairs = itertools.combinations(palette, 2)
    assert min(np.linalg.norm(get_lab(a, seen) - get_lab(b, seen)) for a, b in pairs) > 10


def test_a_mosaic_holds_its_images_and_leaves_out_what_is_missing(tmp_path) -> None:
    PillowImage.new("RGB", (8, 8), "red").save(tmp_path / "red.png")
    digest = hashlib.sha256((tmp_path / "red.png").read_bytes()).hexdigest()
    red, bad = Image(digest, tmp_path / "red.png"), Image("0" * 64, tmp_path / "red.png")
    mosaic = Mosaic([("<row>\nsecond line", [red, bad, None, red])], ["first", "second"], span=2, side=16)
    svg = draw_svg(mosaic, pd.DataFrame())
    assert svg.count("<image ") == 2
    assert "&lt;row&gt;</text>" in svg
    assert "second line</text>" in svg
    assert "var(--figure-text" in follow_theme(svg)
    drawn = convert_to_png(svg)
    assert drawn.startswith(b"\x89PNG")


def test_a_label_of_a_mosaic_is_broken_after_a_plus_but_not_spaced() -> None:
    mosaic = Mosaic([("a red car", [None])], ["car+zebra", "refrigerator+elephant+zebra"], side=90)
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", draw_svg(mosaic, pd.DataFrame()))
    assert texts == ["car+zebra", "refrigerator+", "elephant+", "zebra", "a red car"]


def test_invalid_figures_are_refused() -> None:
    with pytest.raises(BrokenPlugin):
        make_spec(lambda axes: None, TABLE)  # type: ignore[arg-type]
    with pytest.raises(BrokenPlugin):
        make_spec(LinePlot(x="x", y="no such column"), TABLE)
