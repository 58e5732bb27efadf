"""Correlations of the scores of prompts with similarities of their two objects (paper: Table 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.figure import ForestPlot
from t2i_core.api.study import Analysis, Study

from .mantel import Floats, mantel
from .tables import Tables
from .wu_palmer import load_similarities

MEASURES = {
    "object-cosine": "cosine",
    "embedding_cosine": "embedding",
    "state_cosine": "context",
    "key_cosine": "key",
    "value_cosine": "value",
}
"""Measures of the run's other metrics that compare the objects of a prompt, with their names in the table."""


def words(tables: Tables, objects: pd.DataFrame, study: Study) -> Iterator[Analysis]:
    """Yield the correlations of each model's scores with similarities of the two objects, over prompts.

    Args:
        tables: The measured rows.
        objects: By prompt, the first object `x` and the second `y`; prompts of two objects without colours.
        study: The run, whose other metrics may have measured similarities.
    """
    images = tables.images[tables.images["prompt"].isin(objects.index)]
    scores = images.groupby(["model", "prompt"], sort=False)["value"].mean()
    lines = [
        {"model": model, "with": name, **_correlate(scores[model], objects, similarities)}
        for model in scores.index.unique("model")
        for name, similarities in _list_similarities(str(model), objects, study)
    ]
    lines = [line for line in lines if line["prompts"] > 2]
    if not lines:
        return
    table = pd.DataFrame(lines)
    summary = (
        "Correlation over prompts of their score with the similarity of their two objects (r: Pearson, rho: "
        "Spearman). key and value: mean and standard deviation over the heads of all cross-attention layers; "
        "heads: how many were used, without those that lack prompts or do not vary. p from 1,000 permutations of "
        "objects (Mantel)."
    )
    figure = ForestPlot(
        label="with", value="r", colour="model", interval=("low", "high"), reference=0,
        data=table.assign(low=table["r"] - table["sd_r"], high=table["r"] + table["sd_r"]),
        title="Pearson's r with TIAM", note="bars: standard deviation over attention heads",
    )  # fmt: skip
    yield Analysis("pairs and words", summary, table, figure)


def _list_similarities(model: str, objects: pd.DataFrame, study: Study) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each similarity, and its tables: by prompt (rows) and attention head (columns)."""
    known = load_similarities()
    similar = [known.get(frozenset(pair), np.nan) for pair in zip(objects["x"], objects["y"], strict=True)]
    yield "wu_palmer", pd.DataFrame({0: similar}, index=objects.index)
    if study.others is None:
        return
    others = study.others[study.others["measure"].astype(str).isin(MEASURES)]
    others = others[(others["model"].astype(str) == model) & others["prompt"].astype(str).isin(objects.index)]
    others = others.reindex(columns=["measure", "prompt", "value", "layer", "head"]).astype({"prompt": str})
    for measure, name in MEASURES.items():
        own = others[others["measure"].astype(str) == measure]
        layer, number = (own[column].astype(object).fillna("").astype(str) for column in ("layer", "head"))
        if len(own):
            yield (
                name,
                own.assign(of=layer + " " + number).pivot_table(index="prompt", columns="of", values="value"),
            )


def _correlate(scores: pd.Series, objects: pd.DataFrame, similarities: pd.DataFrame) -> dict[str, Any]:
    """Correlate the scores of prompts with each column of similarities.

    A head with fewer prompts than others is left out, not the prompts that it lacks. `heads` counts those used.
    """
    own = objects.join(scores.rename("score"), how="inner").join(similarities, how="inner")
    measured = own[similarities.columns].notna().sum()
    heads = [head for head, prompts in measured.items() if prompts == measured.max()]
    own = own[["x", "y", "score", *heads]].dropna()
    own = own.groupby(["x", "y"], as_index=False).mean()  # of several wordings
    names = _list_complete(own)
    own = own[own["x"].isin(names) & own["y"].isin(names)]
    varying = int((own[heads].nunique() > 1).sum())  # others have no correlation
    sizes = {"objects": len(names), "prompts": len(own), "heads": varying}
    if len(own) < 3:
        return sizes
    places = {name: place for place, name in enumerate(names)}
    x, y = (own[column].map(places).to_numpy() for column in ("x", "y"))

    def fill(values: pd.Series) -> Floats:
        table = np.zeros((len(names), len(names)))
        table[x, y] = values
        return table

    return {
        **sizes,
        **mantel(fill(own["score"]), np.stack([fill(own[head]) for head in heads])),
    }


def _list_complete(own: pd.DataFrame) -> list[str]:
    """Return the objects of which each was asked with each other one in both orders."""
    names = sorted({*own["x"], *own["y"]})
    asked = pd.DataFrame(False, index=names, columns=names)
    for x, y in zip(own["x"], own["y"], strict=True):
        asked.loc[x, y] = True
    for name in names:
        asked.loc[name, name] = True
    while not asked.all(axis=None):
        missing = (~asked).sum() + (~asked).sum(axis=1)
        worst = missing.idxmax()
        asked = asked.drop(index=worst, columns=worst)
    return list(asked.index)
