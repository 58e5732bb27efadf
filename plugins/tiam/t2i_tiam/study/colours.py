"""The reference colours: their distances (paper: Figure 12) and chromaticities (Figure 13)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from importlib.resources import files

import numpy as np
import pandas as pd
from t2i_core.api.figure import HeatMap, ScatterPlot
from t2i_core.api.study import Analysis

from ..references import REFERENCES, Lab
from .colour_space import lab_to_css, lab_to_xyz

LEFT_OUT: dict[str, Lab] = {
    "orange": (51.003745, 40.464285, 36.674552),
    "brown": (20.235577, 14.814001, 16.655732),
}
"""Reference colours that the paper discusses and leaves out, because they are too close to others."""

SPECTRUM = "spectral colours"
SRGB = "sRGB"
PRIMARIES = {"R": (0.64, 0.33), "G": (0.30, 0.60), "B": (0.15, 0.06)}
"""Chromaticities of sRGB's primaries (IEC 61966-2-1)."""

GREY = "#808080"

SHOWN = (460, 480, 490, 500, 520, 540, 560, 580, 600, 620)
"""Wavelengths in nm with a label."""


def colours(references: Mapping[str, Lab]) -> Iterator[Analysis]:
    """Yield the distances and the chromaticities of the reference colours.

    Args:
        references: The option `references`. With the paper's own, the colours that it left out are shown too.
    """
    every = {**references, **(LEFT_OUT if dict(references) == REFERENCES else {})}
    yield reference_distances(every)
    yield chromaticities(every, list(references))


def reference_distances(every: Mapping[str, Lab]) -> Analysis:
    """Return the Euclidean distances in CIELAB between colours."""
    points = np.array(list(every.values()))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    grid = pd.DataFrame(distances, index=list(every), columns=list(every))
    table = grid.rename_axis("reference").reset_index()
    long = table.melt("reference", var_name="to", value_name="distance")
    most = float(distances.max()) or 1.0
    figure = HeatMap(x="to", y="reference", value="distance", range=(0, most), digits=0, data=long)
    summary = f"Distances between the reference colours in CIELAB{_name_left_out(every)}."
    return Analysis("reference colours", summary, table, figure)


def chromaticities(every: Mapping[str, Lab], used: list[str]) -> Analysis:
    """Return the colours in the CIE 1931 chromaticity diagram."""
    lines = []
    for name, lab in every.items():
        xyz = lab_to_xyz(lab)
        total = float(xyz.sum())
        x, y = (float(xyz[0] / total), float(xyz[1] / total)) if total else (np.nan, np.nan)
        lines.append(
            {"reference": name, "x": x, "y": y, "Y": float(xyz[1]), "used": name in used, "srgb": lab_to_css(lab)}
        )
    table = pd.DataFrame(lines)
    data = [
        {"x": x, "y": y, "of": SPECTRUM, "curve": SPECTRUM, "label": label} for x, y, label in _read_spectrum()
    ]
    corners = [*PRIMARIES.values(), PRIMARIES["R"]]
    data += [{"x": x, "y": y, "of": SRGB, "curve": SRGB, "label": ""} for x, y in corners]
    data += [
        {"x": r["x"], "y": r["y"], "of": r["reference"], "label": r["reference"]}
        for r in lines
        if r["x"] == r["x"]
    ]
    figure = ScatterPlot(
        x="x", y="y", label="label", colour="of", curve="curve", curve_points=False, square=True,
        data=pd.DataFrame(data),
        colours={name: lab_to_css(lab) for name, lab in every.items()} | {SPECTRUM: GREY, SRGB: GREY},
        x_range=(0, None), y_range=(0, None),
        note="CIE 1931; curve: spectral colours, with wavelengths in nm; triangle: sRGB",
    )  # fmt: skip
    summary = (
        f"Chromaticities (x, y) of the reference colours{_name_left_out(every)}. Y is the luminance, from 0 to 1, "
        "which the diagram does not show; black has no chromaticity. srgb is the nearest colour of a screen."
    )
    return Analysis("chromaticities", summary, table, figure)


def _name_left_out(every: Mapping[str, Lab]) -> str:
    return ", with those that the paper left out (orange, brown)" if LEFT_OUT.keys() <= every.keys() else ""


def _read_spectrum() -> Iterator[tuple[float, float, str]]:
    """Yield x, y and label of spectral colours, closed by the line of purples."""
    text = files("t2i_tiam").joinpath("data", "spectral-locus.csv").read_text("utf-8")
    rows = [(int(r["nm"]), float(r["x"]), float(r["y"])) for r in csv.DictReader(text.splitlines())]
    for wavelength, x, y in (*rows, (0, *rows[0][1:])):
        yield x, y, str(wavelength) if wavelength in SHOWN else ""
