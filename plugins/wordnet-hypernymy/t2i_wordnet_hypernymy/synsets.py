"""Tables by synset: a run's measures and the frequency of words in captions, and their rank correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core import statistics
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import HeatMap
from t2i_core.api.study import Analysis, Study
from t2i_core.files.spreadsheet import unescape
from t2i_core.io.table import parse_table
from t2i_core.io.text_file import read_text

from .figures import plot_correlations

BASELINES = ("marginal-entropy", "conditional-entropy")
"""Measures that are included without being the headline of their metric: the hypernymy paper's Table 12."""


def join_measures(study: Study, measure: str) -> pd.DataFrame:
    """Return mean values by model and prompt of all measures of a run, the metric's own measure first.

    Of other metrics, the result includes the measure named after the metric, if it has values by prompt.
    """
    own = study.table[study.table["measure"].isin([measure, *BASELINES])]
    rows = [own]
    if study.others is not None and "prompt" in study.others:
        others = study.others
        named = others["metric"].astype(str).str.partition(":")[0] == others["measure"].astype(str)
        rows.append(others[(named | others["measure"].isin(BASELINES)) & others["prompt"].notna()])
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
    """Return the synset of each prompt, from the facet `synset` of this plugin's rows."""
    synsets: dict[str, str] = {}
    for table in tables:
        if table is not None and "synset" in table:
            rows = table[["prompt", "synset"]].dropna().drop_duplicates("prompt")
            synsets |= zip(rows["prompt"], rows["synset"], strict=True)
    return synsets


def per_synset(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return mean values: one row for each prompt, one column for each level of `by`, NaN without rows."""
    wide = rows.groupby(["prompt", by], observed=True)["value"].mean().unstack(by)
    wide.index, wide.columns = wide.index.astype(object), wide.columns.astype(object)
    return wide


def by_synset(wide: pd.DataFrame, synsets: Mapping[str, str]) -> pd.DataFrame:
    """Average values by prompt (or by model and prompt) over the prompts of each synset.

    A prompt that is not in `synsets` counts as the synset that its id names, as in all lists of this plugin.
    """
    names = [synsets.get(prompt, prompt) for prompt in wide.index.get_level_values("prompt")]
    outer = [wide.index.get_level_values(level) for level in range(wide.index.nlevels - 1)]
    return wide.groupby([*outer, pd.Index(names, dtype=object, name="synset")]).mean()


def read_frequency(path: Path) -> dict[str, dict[str, float]]:
    """Read the number of captions of each corpus by synset, from a file that `t2i count-captions` wrote.

    Raises:
        BadOption: The file is not valid. The message names file, line and problem.
    """
    columns, rows = parse_table(path, read_text(path, BadOption), BadOption, ("synset",), escaped=True)
    names = [name for name in columns if name != "synset"]
    corpora = [unescape(name) for name in names]
    if not corpora:
        raise BadOption(f"{path}, line 1: no column with counts; create the file with t2i count-captions")
    counts: dict[str, dict[str, float]] = {corpus: {} for corpus in corpora}
    for row in rows:
        where = f"{path}, line {row.line}"
        synset = row.cells.get("synset", "")
        cells = {corpus: row.cells.get(name, "") for corpus, name in zip(corpora, names, strict=True)}
        if not synset or not all(cell.isdecimal() for cell in cells.values()):
            raise BadOption(
                f"{where}: the line must have a synset and a number of captions for each corpus, as "
                "t2i count-captions writes it"
            )
        if synset in counts[corpora[0]]:
            raise BadOption(f"{where}: {synset} appears twice; delete one of the lines")
        for corpus, cell in cells.items():
            counts[corpus][synset] = float(cell)
    if not rows:
        raise BadOption(f"{path}: no synsets; create the file with t2i count-captions")
    return counts


def side_by_side(study: Study, measure: str, frequency: Path | None) -> Iterator[Analysis]:
    """Yield the table of synsets, and the rank correlation of each other column with the measure.

    Args:
        study: The measurements of a run.
        measure: Name of the metric's own measure.
        frequency: File that `t2i count-captions` wrote, if the table shall include it: a column for each corpus.

    Raises:
        BadOption: The file is not valid, or has none of the run's synsets.
    """
    wide = join_measures(study, measure)
    if frequency is not None:
        synsets = synsets_of(study.table, study.others)
        asked = [synsets.get(prompt, prompt) for prompt in wide.index.get_level_values("prompt")]
        for corpus, counts in read_frequency(frequency).items():
            column = corpus if corpus == "captions" else f"captions of {corpus}"
            wide[column] = [counts.get(synset, np.nan) for synset in asked]
            if wide[column].isna().all():
                raise BadOption(
                    f"{frequency}: has none of the run's synsets; count captions with the taxonomy of the run"
                )
    if wide.shape[1] < 2:
        return
    table = wide.reset_index().rename(columns={"prompt": "synset"})
    summary = f"{measure} of each synset, with the run's other measures and the frequency in captions."
    yield Analysis("synsets", summary, table, _map_ranks(table, measure))
    lines = [
        {"model": model, "with": other, **spearman(own[measure].to_numpy(), own[other].to_numpy())}
        for model, own in wide.groupby(level="model")
        for other in wide.columns[1:]
    ]
    summary = (
        f"Spearman's rho over synsets of {measure} with each other column; 95 % interval by Fisher's z, p exact "
        "up to 8 synsets."
    )
    correlations = pd.DataFrame(lines)
    yield Analysis("correlations", summary, correlations, plot_correlations("with", "model"))


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> dict[str, float | int]:
    """Return Spearman's rho with its 95 % interval, its two-sided p-value and the number of finite pairs.

    Args:
        a: Values, shape (n,).
        b: Values, shape (n,).

    Returns:
        `rho`, `low`, `high`, `p` and `n`; `rho` and `p` are NaN for fewer than 3 pairs, or if `a` or `b` is
        constant; `low` and `high` also for fewer than 5 pairs.
    """
    found = statistics.spearman(a, b)
    return {"rho": found.value, "low": found.lo, "high": found.hi, "p": found.p, "n": found.n}


def _map_ranks(table: pd.DataFrame, measure: str) -> HeatMap:
    """Return the first model's synsets from lowest to highest, coloured by their rank in each column, 0 to 1."""
    model = table["model"].iloc[0]
    own = (
        table[table["model"] == model]
        .sort_values(measure, kind="stable")
        .set_index("synset")
        .drop(columns="model")
    )
    long = own.rank(pct=True).reset_index().melt("synset", var_name="measure", value_name="rank")
    title = f"synsets by {measure}, {model}"
    return HeatMap(x="measure", y="synset", value="rank", range=(0, 1), data=long, y_title=title)
