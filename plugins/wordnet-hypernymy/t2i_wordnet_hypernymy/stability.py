"""Stability of synsets' rankings: between models, seeds, and runs with other classifiers, templates or seeds.

References:
    Hypernymy paper, Tables 6 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import BarChart, HeatMap
from t2i_core.api.study import Analysis, Study
from t2i_core.results.run import Run, load_run

from .figures import RHO
from .synsets import by_synset, per_synset, synsets_of


def stability(
    wide: pd.DataFrame, name: str, column: str, summary: str, models: Mapping[str, str] | None = None
) -> Iterator[Analysis]:
    """Yield how well the rankings of synsets agree: Spearman's rho between columns.

    Args:
        wide: Values: one row for each synset, one column for each level (model, seed or run).
        name: Name of the levels, in the plural, for titles.
        column: Column of the table that names the level.
        summary: Summary of the analysis.
        models: The model of each level. If given, `others` are the levels of the same model alone.

    Yields:
        Nothing if no two levels have rankings to compare, such as when all scores of each level are equal.
        Otherwise one row for each level, with its mean correlation with the others in the column `others`; NaN
        where all scores of a level are equal, or where there are no others.
    """
    rho = wide.corr(method="spearman")
    others = ~np.eye(len(rho), dtype=bool)
    if rho.where(others).isna().all(axis=None):
        return
    own = np.array([name if models is None else models[level] for level in wide.columns])
    counted = (own[:, None] == own[None]) & others
    table = rho.reset_index(drop=True)
    table.insert(0, column, [str(level) for level in rho.index])
    table["others"] = rho.where(counted).mean().to_numpy()
    long = table.melt(column, list(rho.columns), var_name="with", value_name="rho")
    figure = HeatMap(x="with", y=column, value="rho", diverging=True, range=(-1, 1), title=RHO, data=long)
    yield Analysis(f"stability between {name}", summary, table, figure)


@dataclass(frozen=True)
class RunColumn:
    """One model's values by synset in one run, by one judge.

    Attributes:
        title: Run, model and judge, for people.
        model: The model's label.
        judge: The judge, if the run has several for the metric.
        values: Values, indexed by synset.
    """

    title: str
    model: str
    judge: str | None
    values: pd.Series


def between_runs(study: Study, wide: pd.DataFrame, measure: str, others: Sequence[Path]) -> Iterator[Analysis]:
    """Yield the correlations between runs, and their mean within each model.

    The other judges of the study's own run count as runs; the study of the first of them yields the analyses.

    Args:
        study: The measurements of a run.
        wide: Values of the run: one row for each synset, one column for each model.
        measure: Name of the measure.
        others: Folders of other runs.

    Raises:
        BadOption: A run has no values of this measure, or none for these synsets.
    """
    if study.by is None and not others:
        return
    columns = read_columns(study.folder, others, measure, list(wide.index))
    if study.by not in (None, columns[0].judge):
        return
    joined = pd.DataFrame({column.title: column.values for column in columns}).reindex(wide.index)
    models = {column.title: column.model for column in columns}
    yield from stability(joined, "runs", "run", f"Spearman's rho of synsets' {measure} between runs.", models)
    lines = []
    for model in dict.fromkeys(models.values()):
        own = joined[[title for title, of in models.items() if of == model]]
        pairs = own.corr(method="spearman").to_numpy()[np.triu_indices(own.shape[1], 1)]
        if len(pairs):
            lines.append({"model": model, "runs": own.shape[1], "pairs": len(pairs), "rho": float(pairs.mean())})
    if lines:
        summary = f"Mean over pairs of runs of Spearman's rho of synsets' {measure}, within each model."
        table = pd.DataFrame(lines)
        figure = BarChart(label="model", value="rho", range=(None, 1), title=RHO, hover=["runs", "pairs"])
        yield Analysis("agreement of runs", summary, table, figure if table["rho"].notna().any() else None)


def read_columns(folder: Path, others: Sequence[Path], measure: str, synsets: Sequence[str]) -> list[RunColumn]:
    """Read the values of a run and of others by synset, model and judge.

    Args:
        folder: Folder of the run.
        others: Folders of the others; repetitions are left out.
        measure: Name of the measure.
        synsets: The synsets of the run.

    Raises:
        BadOption: A run has no values of this measure, or none for these synsets.
    """
    runs = [load_run(path) for path in dict.fromkeys(path.resolve() for path in (folder, *others))]
    folders = [run.folder.name for run in runs]
    columns = []
    for run in runs:
        name = run.folder.name if folders.count(run.folder.name) == 1 else str(run.folder)
        rows = run.measurements()
        rows = rows[rows["measure"] == measure] if len(rows) else rows
        if rows.empty:
            raise BadOption(f"{run.path}: the run has no values of {measure}; name a run that measured it")
        judges = list(rows["by"].dropna().unique()) if "by" in rows else []
        for judge in judges or [None]:
            own = rows if judge is None else rows[rows["by"] == judge]
            wide = by_synset(per_synset(own, "model"), synsets_of(own))
            if not set(wide.index) & set(synsets):
                raise BadOption(
                    f"{run.path}: the run has {measure} for none of this run's synsets; name a run that "
                    "shares some"
                )
            columns += [
                RunColumn(_make_title(name, run, str(model), measure, judge), str(model), judge, wide[model])
                for model in wide.columns
            ]
    return columns


def _make_title(name: str, run: Run, model: str, measure: str, judge: str | None) -> str:
    own = (r for r in run.results if (r.metric, r.label) == (measure, model) and judge in (None, r.by))
    judges = [r.by or r.judge.name for r in own if r.judge]
    return f"{name}: {model} ({', '.join(judges)})"
