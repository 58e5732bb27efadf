"""Tables of results as CSV, Parquet, JSON, Markdown and LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.text import escape_control_characters
from t2i_core.files.spreadsheet import escape_table
from t2i_core.results.number_format import format_number
from t2i_core.results.result import Score
from t2i_core.results.run import Run

from .files import write_atomically
from .names import model_names, run_names

COUNTS = ("n_prompts", "n_prompts_ok", "n_seeds", "n_ok", "n_failed", "n_missing", "n_excluded")

Format = Literal["csv", "parquet", "json", "markdown", "latex"]


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


def write_table(table: pd.DataFrame, how: Format, target: Path | None) -> None:
    """Write a table to a file, atomically, or to standard output.

    Args:
        table: The table.
        how: The format.
        target: The file; if None, standard output.

    Raises:
        BadOption: If the format is Parquet and there is no file.
        BadFolder: If the file cannot be written.
    """
    if target is None:
        if how == "parquet":
            raise BadOption("--format parquet cannot be printed; name a file with --out")
        sys.stdout.write(_text(table, how))
        return
    with write_atomically(target) as part:
        if how == "parquet":
            table.to_parquet(part, engine="pyarrow", index=False)
        else:
            part.write_bytes(_text(table, how).encode("utf-8", "backslashreplace"))


def _text(table: pd.DataFrame, how: Format) -> str:
    if how == "csv":
        return str(escape_table(table).to_csv(index=False, lineterminator="\r\n"))
    if how == "json":
        return f"{table.to_json(orient='records', force_ascii=False, indent=1, double_precision=15)}\n"
    cells = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
    columns = [str(name) for name in table.columns]
    return _markdown(columns, cells) if how == "markdown" else _latex(columns, cells)


def _cell(value: Any) -> str:
    """Return a cell as text: numbers as t2i prints them, missing values empty."""
    if value is None or value is pd.NA or value != value:
        return ""
    return format_number(value) if isinstance(value, float) else escape_control_characters(str(value))


def _markdown(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(cell.translate(_MARKDOWN) for cell in row)} |\n"

    return "".join([line(columns), f"|{'---|' * len(columns)}\n", *map(line, cells)])


#: characters that would end a cell, start a tag or act as markup
_MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\|`*_[]<>"})

_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
)


def _latex(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    r"""Return a tabular environment with the rules of the package booktabs."""

    def line(row: Sequence[str]) -> str:
        plain = [cell.translate(_LATEX) for cell in row]
        # LaTeX would read a bracket after the end of a line as its argument
        return f"{' & '.join(f'{{{cell}}}' if cell.startswith('[') else cell for cell in plain)} \\\\\n"

    numeric = [all(_is_number(row[i]) for row in cells) for i in range(len(columns))]
    form = "".join("r" if each and cells else "l" for each in numeric)
    return (
        f"\\begin{{tabular}}{{{form}}}\n\\toprule\n{line(columns)}\\midrule\n"
        f"{''.join(map(line, cells))}\\bottomrule\n\\end{{tabular}}\n"
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True
