"""Tables of results as data: CSV, Parquet and JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.results.output_file import write_atomically
from t2i_core.results.result import Score
from t2i_core.results.run import Run
from t2i_core.results.table_format import format_table

from .names import model_names, run_names

COUNTS = ("n_prompts", "n_prompts_ok", "n_seeds", "n_ok", "n_failed", "n_missing", "n_excluded")

DataFormat = Literal["csv", "json", "parquet"]


def scores(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a table with one row per score.

    Its columns are run, metric, model, name (of a named score), facet, level, value, low, high, interval,
    prompts, n_prompts, n_prompts_ok, n_seeds, n_ok, n_failed, n_missing, n_excluded and judge. The headline comes
    first; only its row names the method of the interval. `facet` and `level` are empty for scores over all rows,
    and the counts are empty for scores of a level.
    """
    rows = []
    for run, name, models in zip(runs, run_names(runs), model_names(runs), strict=True):
        for result in run.results:
            head = {"run": name, "metric": result.metric, "model": models[result.label]}
            source = {
                "prompts": result.prompts,
                "judge": result.by or (result.judge.name if result.judge else None),
            }
            counts = {key: getattr(result, key) for key in COUNTS}
            for rank, (label, score) in enumerate(result.scores.items()):
                method = {} if rank else {"interval": result.interval}
                rows.append({**head, "name": label, **_value(score), **method, **source, **counts})
            for measure, by_facet in result.facets.items():
                for facet, levels in by_facet.items():
                    for level, score in levels.items():
                        place = {"name": measure, "facet": facet, "level": level}
                        rows.append({**head, **place, **_value(score), **source})
    columns = ["run", "metric", "model", "name", "facet", "level", "value", "low", "high", "interval", "prompts"]
    table = pd.DataFrame(rows, columns=[*columns, *COUNTS, "judge"])
    return table.astype(dict.fromkeys(COUNTS, "Int64"))


def _value(score: Score) -> dict[str, float | None]:
    return {"value": score.value, "low": score.ci[0], "high": score.ci[1]}


def measurements(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the rows of the runs' measurements.csv, with a first column `run`."""
    found = [
        _rename_models(run.measurements(), models).assign(run=name)
        for run, name, models in zip(runs, run_names(runs), model_names(runs), strict=True)
        if "measurements.csv" in run.manifest.files
    ]
    if not found:
        return pd.DataFrame(columns=["run", "metric", "measure", "value"])
    table = pd.concat(found, ignore_index=True).dropna(axis="columns", how="all")
    return table[["run", *(name for name in table.columns if name != "run")]]


def _rename_models(table: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Return a table with models named as in `scores`."""
    return table.assign(**{c: table[c].map(names) for c in ("model", "model_a", "model_b") if c in table})


def comparisons(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a table with one row per paired comparison.

    Its columns are run, metric, by (the judges, if a run measures a metric with several), a, b, diff, low, high,
    p_adjusted (by Holm's method), p_unadjusted, n and interval.
    """
    rows = [
        {
            "run": name, "metric": c.metric, "by": c.by, "a": models[c.a], "b": models[c.b], "diff": c.diff,
            "low": c.ci[0], "high": c.ci[1], "p_adjusted": c.p_adjusted, "p_unadjusted": c.p_unadjusted,
            "n": c.n, "interval": c.interval,
        }
        for run, name, models in zip(runs, run_names(runs), model_names(runs), strict=True)
        for c in run.comparisons
    ]  # fmt: skip
    judged = ["by"] if any(row["by"] is not None for row in rows) else []
    numbers = ["diff", "low", "high", "p_adjusted", "p_unadjusted", "n", "interval"]
    return pd.DataFrame(rows, columns=["run", "metric", *judged, "a", "b", *numbers])


def write_table(table: pd.DataFrame, how: DataFormat, target: Path | None) -> None:
    """Write a table to a file, atomically, or to standard output.

    Args:
        table: The table.
        how: The format.
        target: The file; if None, standard output.

    Raises:
        BadOption: If the format is Parquet and there is no file.
        BadFolder: If the file cannot be written.
    """
    if how != "parquet":
        write_text(format_table(table, how), target)
        return
    if target is None:
        raise BadOption("--format parquet cannot be printed; name a file with --out")
    with write_atomically(target) as part:
        table.to_parquet(part, engine="pyarrow", index=False)


def write_text(text: str, target: Path | None) -> None:
    """Write a text to a file, atomically, or to standard output.

    Raises:
        BadFolder: If the file cannot be written.
    """
    if target is None:
        sys.stdout.write(text)
        return
    with write_atomically(target) as part:
        part.write_bytes(text.encode("utf-8", "backslashreplace"))
