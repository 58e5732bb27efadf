"""Pairs of objects: their scores, a map of the objects, and correlations with word similarities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.figure import INTERVAL, ScatterPlot
from t2i_core.api.study import Analysis, Study

from ..labels import MACRO_CLASSES
from .intervals import describe_intervals, share
from .scaling import align_points, scale
from .tables import Tables
from .words import words
from .wu_palmer import load_similarities

COSINE = "object-cosine"
"""The metric whose rows, if the run has any, hold the cosine of two objects in a text encoder."""


MOST_INTERVALS = 60
"""Maximum number of pairs of a model whose intervals are drawn."""


def pairs(tables: Tables, study: Study) -> Iterator[Analysis]:
    """Yield scores of pairs, from prompts of two objects without colours (paper: Figure 6, Table 7)."""
    asked = tables.prompts[(tables.prompts["n_objects"] == 2) & ~tables.prompts["kind"].str.contains("coloured")]
    if asked.empty:
        return
    both = pd.DataFrame(
        [[name for name, _ in objects] for objects in asked["asked"]], index=asked.index, columns=["x", "y"]
    )
    known = {"wu_palmer": load_similarities(), "cosine": _cosines(study, both)}
    images = tables.images.join(both, on="prompt", how="inner")
    lines = [line for model, own in images.groupby("model", sort=False) for line in _pairs(str(model), own, known)]
    if not lines:
        return
    table = pd.DataFrame(lines)
    table = table.drop(columns=[name for name in known if table[name].isna().all()])
    summary = (
        "TIAM of two objects in both orders, and d, the mean of both: high if the objects appear together; for d, "
        f"{describe_intervals('these prompts, new seeds')}"
    )
    yield Analysis("pairs", summary, table, _plot_words(table, [name for name in known if name in table]))
    yield from _draw_map(table)
    yield from words(tables, both, study)


def _draw_map(table: pd.DataFrame) -> Iterator[Analysis]:
    """Yield the map of the objects of each model (paper: Figures 6 and 18 to 21)."""
    maps: list[pd.DataFrame] = []
    for model, own in table.groupby("model", sort=False):
        d = _matrix(own, "d")
        if len(d) < 3:
            continue
        points, stress = scale(d.to_numpy())
        if maps:
            points = align_points(points, d.index, maps[0])
        maps.append(
            pd.DataFrame(
                {"model": model, "object": d.index, "x": points[:, 0], "y": points[:, 1], "stress": stress}
            )
        )
    if not maps:
        return
    placed = pd.concat(maps, ignore_index=True)
    placed.insert(2, "class", placed["object"].map(MACRO_CLASSES).fillna(_OTHER))
    summary = (
        "Map of the objects with distances d, d(x, x) = 0 (metric MDS: SMACOF from the classical solution). "
        "Objects that appear together lie far apart. Stress 0 is an exact fit; above 0.2 the fit is poor. The "
        "maps of further models are rotated and mirrored to match the first."
    )
    figure = ScatterPlot(
        x="x", y="y", label="object", colour="class", facet="model", square=True,
        data=placed.sort_values("class", key=lambda names: names.map(_ORDER.index), kind="stable"),
        note="distances are d; directions have no meaning",
    )  # fmt: skip
    yield Analysis("semantic map", summary, placed, figure)


_OTHER = "other objects"
_ORDER = [*dict.fromkeys(MACRO_CLASSES.values()), _OTHER]
"""Macro-classes in the order of the legend."""


def _plot_words(table: pd.DataFrame, known: list[str]) -> ScatterPlot | None:
    """Return the scores of pairs against similarities of their words; None without similarities."""
    if not known:
        return None
    kept = [name for name in table if name not in known]
    long = table.melt(kept, known, var_name="similarity", value_name="of the words")
    pair = long["x"] + " and " + long["y"]
    long = long.drop(columns=["x", "y"]).assign(pair=pair)
    return ScatterPlot(
        x="of the words", y="d", colour="similarity", facet="model", data=long, hover=["pair"],
        interval=INTERVAL if len(table) <= MOST_INTERVALS * table["model"].nunique() else ("", ""),
        x_title="similarity of the two words", y_title="d, TIAM of the two objects",
    )  # fmt: skip


def _pairs(
    model: str, images: pd.DataFrame, known: Mapping[str, Mapping[frozenset[str], float]]
) -> Iterator[dict[str, Any]]:
    """Yield each pair's scores in both orders and their mean; the interval of the mean is over new seeds alone."""
    images = images[images["x"] != images["y"]]
    asked = [sorted(pair) for pair in zip(images["x"], images["y"], strict=True)]
    images = images.assign(first=[first for first, _ in asked], second=[second for _, second in asked])
    for pair, own in images.groupby(["first", "second"]):
        x, y = map(str, pair)
        orders = own.groupby("x")["value"].agg(["mean", "size"])
        xy, yx = (orders["mean"].get(first, np.nan) for first in (x, y))
        line = {
            "model": model,
            "x": x,
            "y": y,
            "tiam_xy": xy,
            "tiam_yx": yx,
            "d": np.nan,
            "low": np.nan,
            "high": np.nan,
        }
        if len(orders) == 2:
            each = 1 / own["x"].map(orders["size"])
            line |= share(own.rename(columns={"value": "d"}), "d", "seeds", each)
        yield line | {name: of.get(frozenset((x, y)), np.nan) for name, of in known.items()}


def _cosines(study: Study, both: pd.DataFrame) -> dict[frozenset[str], float]:
    """Return the run's `object-cosine` of each pair; empty if the run did not measure it."""
    if study.others is None:
        return {}
    rows = study.others[study.others["measure"].astype(str) == COSINE]
    rows = rows.assign(prompt=rows["prompt"].astype(object)).join(both, on="prompt", how="inner")
    pairs_of_words = zip(rows["x"], rows["y"], rows["value"], strict=True)
    return {frozenset((x, y)): float(value) for x, y, value in pairs_of_words}


def _matrix(own: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a symmetric table of objects with 0 on its diagonal, without objects whose pairs are incomplete."""
    names = sorted({*own["x"], *own["y"]})
    matrix = pd.DataFrame(np.nan, index=names, columns=names)
    for line in own.itertuples(index=False):
        matrix.loc[line.x, line.y] = matrix.loc[line.y, line.x] = getattr(line, column)
    for name in names:
        matrix.loc[name, name] = 0.0
    while len(matrix) and matrix.isna().any(axis=None):
        worst = matrix.isna().sum().idxmax()
        matrix = matrix.drop(index=worst, columns=worst)
    return matrix
