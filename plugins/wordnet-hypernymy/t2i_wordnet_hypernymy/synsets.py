"""Synset by synset: all that a run measured of each, and what else is known of it, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis, Study
from t2i_core.io.table import read_table

from .figures import heat, rhos

BESIDE = ("entropy",)
"""Measures that stand beside their metric's own: the paper's baseline for SCS (Table 12)."""


def beside(study: Study, measure: str) -> pd.DataFrame:
    """Return mean values by model and synset: the metric's own measure first, then what else the run measured.

    Of other metrics the measure that is named after its metric is taken, where it has values by prompt.
    """
    own = study.table[study.table["measure"].isin([measure, *BESIDE])]
    rows = [own]
    if study.others is not None and "prompt" in study.others:
        others = study.others
        named = others["metric"].astype(str).str.partition(":")[0] == others["measure"].astype(str)
        rows.append(others[(named | others["measure"].isin(BESIDE)) & others["prompt"].notna()])
    long = pd.concat(
        [
            part[["model", "prompt", "measure", "value"]].astype(
                {"model": object, "prompt": object, "measure": object}
            )
            for part in rows
        ]
    )
    wide = long.groupby(["model", "prompt", "measure"])["value"].mean().unstack("measure")
    return wide[[measure, *(name for name in wide.columns if name != measure)]]


def synsets_of(*tables: pd.DataFrame | None) -> dict[str, str]:
    """By prompt, the synset that rows of this plugin's metrics say it asks for."""
    found: dict[str, str] = {}
    for table in tables:
        if table is not None and "synset" in table:
            said = table[["prompt", "synset"]].dropna().drop_duplicates("prompt")
            found |= zip(said["prompt"], said["synset"], strict=True)
    return found


def by_synset(wide: pd.DataFrame, synsets: Mapping[str, str]) -> pd.DataFrame:
    """Return values by prompt (or by model and prompt) as those by synset: several prompts of one are averaged.

    A prompt whose synset no row says has it for its id, as all lists of this plugin have.
    """
    names = [synsets.get(prompt, prompt) for prompt in wide.index.get_level_values("prompt")]
    outer = [wide.index.get_level_values(level) for level in wide.index.names[:-1]]
    return wide.groupby([*outer, pd.Index(names, dtype=object, name="synset")]).mean()


def read_frequency(path: Path) -> Mapping[str, float]:
    """Read what `t2i count-captions` wrote: captions by synset. Raises BadOption with file, line and fault."""
    counts: dict[str, float] = {}
    for row in read_table(path, BadOption, ("synset", "captions"), escaped=True):
        where = f"{path}, line {row.line}"
        synset, captions = (row.cells.get(name, "") for name in ("synset", "captions"))
        if not synset or not captions.isdecimal():
            raise BadOption(f"{where}: want a synset and a number of captions, as t2i count-captions writes them")
        if synset in counts:
            raise BadOption(f"{where}: {synset} stands there twice")
        counts[synset] = float(captions)
    if not counts:
        raise BadOption(f"{path}: holds no synsets; t2i count-captions writes them")
    return counts


def side_by_side(study: Study, measure: str, frequency: Path | None) -> Iterator[Analysis]:
    """Yield the table of synsets and the rank correlations of its columns with the first."""
    wide = beside(study, measure)
    if frequency is not None:
        counts, synsets = read_frequency(frequency), synsets_of(study.table, study.others)
        prompts = wide.index.get_level_values("prompt")
        wide["captions"] = [counts.get(synsets.get(prompt, prompt), np.nan) for prompt in prompts]
        if wide["captions"].isna().all():
            raise BadOption(f"{frequency}: has none of the run's synsets")
    if wide.shape[1] < 2:
        return
    table = wide.reset_index().rename(columns={"prompt": "synset"})
    summary = f"Each synset's {measure} and what else is known of it."
    yield Analysis("synsets", summary, table, partial(_ranks, table, measure))
    lines = [
        {"model": model, "with": other, **spearman(own[measure].to_numpy(), own[other].to_numpy())}
        for model, own in wide.groupby(level="model")
        for other in wide.columns[1:]
    ]
    summary = f"Spearman's rho of synsets' {measure} with what else is known of them."
    found = pd.DataFrame(lines)
    yield Analysis("correlations", summary, found, partial(rhos, found, "with", "model"))


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> dict[str, float | int]:
    """Return rho, its two-sided p and the number of pairs; NaN of fewer than 3, or where one does not vary."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return {"rho": float("nan"), "p": float("nan"), "n": len(a)}
    found = spearmanr(a, b)
    return {"rho": float(found.statistic), "p": float(found.pvalue), "n": len(a)}


def _ranks(table: pd.DataFrame, measure: str, axes: Any) -> None:
    """The first model's synsets from lowest to highest; colours show their ranks in each column, 0 to 1."""
    model = table["model"].iloc[0]
    own = table[table["model"] == model].sort_values(measure, kind="stable").set_index("synset")
    heat(own.drop(columns="model").rank(pct=True).T, "rank", 0, axes)
    axes.set_xlabel(f"synsets by {measure}, {model}")
