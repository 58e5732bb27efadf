"""Tables and figures of scores by synset: lowest scores, differences between models, subtrees, stability."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.api.figure import BarChart, HeatMap
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.results.run import Run, load_run

from .figures import RHO
from .mosaic import find_pictures, show_pictures
from .options import ROOTS, HypernymyOptions
from .preferences import preferences
from .sweeps import sweeps
from .synsets import by_synset, join_measures, side_by_side, synsets_of
from .taxonomy import Taxonomy

SHOWN = 50
"""Number of synsets that a table lists, as in the paper's Figure 11."""

WITH_IMAGES = 8
"""Number of listed synsets that a figure shows with images."""


def analyse(study: Study, measure: str, taxonomy: Taxonomy, options: HypernymyOptions) -> Iterator[Analysis]:
    """Yield the tables and figures of a measure of which higher values are better.

    Args:
        study: The measurements of a run.
        measure: Name of the measure.
        taxonomy: The taxonomy that contains the synsets.
        options: Options of the metric.

    Yields:
        The analyses for which the run has enough data.

    Raises:
        BadOption: An option does not fit the run, or a file that it names is not valid.
    """
    rows = study.table[study.table["measure"] == measure]
    if rows.empty:
        return
    wide = per_synset(rows, "model")
    models = list(wide.columns)
    yield lowest(study, measure, wide, models)
    if len(models) > 1:
        for model in models:
            yield lowest(study, measure, wide[[model]].dropna(), [model])
        for a, b in combinations(models, 2):
            yield difference(study, measure, wide, a, b)
        yield stability(wide, "models", "model", f"Spearman's rho of synsets' {measure} between models.")
    # values that combine all seeds cannot be compared between seeds
    if "seed" in rows and rows["seed"].nunique() > 1 and ("seeds" not in rows or rows["seeds"].isna().all()):
        for model in models:
            seeds = per_synset(rows[rows["model"] == model], "seed")
            summary = f"Spearman's rho of synsets' {measure} between seeds of {model}."
            yield stability(seeds, f"seeds of {model}", "seed", summary)
    synsets = synsets_of(study.table, study.others)
    if options.beside:
        yield stability(
            join_runs(study.folder, by_synset(wide, synsets), measure, options.beside),
            "runs",
            "run",
            f"Spearman's rho of synsets' {measure} between runs.",
        )
    yield subtrees(wide, synsets, measure, taxonomy, options.roots)
    yield from sweeps(study, measure)
    yield from side_by_side(study, measure, options.frequency)
    if options.preferences is not None:
        scores = by_synset(join_measures(study, measure), synsets)
        yield from preferences(options.preferences, scores, synsets, find_places(study.samples))


def per_synset(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return mean values: one row for each prompt, one column for each level of `by`, NaN without rows."""
    wide = rows.groupby(["prompt", by], observed=True)["value"].mean().unstack(by)
    wide.index, wide.columns = wide.index.astype(object), wide.columns.astype(object)
    return wide


def join_runs(folder: Path, wide: pd.DataFrame, measure: str, others: Sequence[Path]) -> pd.DataFrame:
    """Join a run's values by synset with those of other runs.

    Args:
        folder: Folder of the run.
        wide: Values of the run: one row for each synset, one column for each model.
        measure: Name of the measure.
        others: Folders of the other runs.

    Returns:
        One row for each synset of the run, one column for each run and model.

    Raises:
        BadOption: A run has no values of this measure, or none for these synsets.
    """
    runs = [load_run(path) for path in dict.fromkeys(path.resolve() for path in (folder, *others))]
    folders = [run.folder.name for run in runs]
    names = [
        name if folders.count(name) == 1 else str(run.folder) for name, run in zip(folders, runs, strict=True)
    ]
    found = {_name_column(names[0], runs[0], str(model), measure): wide[model] for model in wide.columns}
    for name, run in zip(names[1:], runs[1:], strict=True):
        rows = run.measurements()
        rows = rows[rows["measure"] == measure] if len(rows) else rows
        if rows.empty:
            raise BadOption(f"{run.path}: the run has no values of {measure}; name a run that measured it")
        every = {by: rows[rows["by"] == by] for by in rows["by"].unique()} if "by" in rows else {None: rows}
        for by, own in every.items():
            other = by_synset(per_synset(own, "model"), synsets_of(own))
            if not set(other.index) & set(wide.index):
                raise BadOption(
                    f"{run.path}: the run has {measure} for none of this run's synsets; name a run that "
                    "shares some"
                )
            found |= {_name_column(name, run, str(model), measure, by): other[model] for model in other.columns}
    return pd.DataFrame(found).reindex(wide.index)


def _name_column(name: str, run: Run, model: str, measure: str, by: str | None = None) -> str:
    own = (r for r in run.results if (r.metric, r.label) == (measure, model) and by in (None, r.by))
    judges = [r.by or r.judge.name for r in own if r.judge]
    return f"{name}: {model} ({', '.join(judges)})"


def lowest(study: Study, measure: str, wide: pd.DataFrame, models: Sequence[str]) -> Analysis:
    """Return the synsets with the lowest mean score over models, without those that some model lacks."""
    mean = wide.dropna().mean(axis=1).sort_values(kind="stable")
    worst = mean.index[:SHOWN]
    table = pd.DataFrame({"synset": worst, measure: mean.loc[worst].to_numpy()})
    if len(models) > 1:
        for model in models:
            table[model] = wide.loc[worst, model].to_numpy()
    of = models[0] if len(models) == 1 else f"mean of {len(models)} models"
    shown = [(f"{name}\n{mean[name]:.3f}", find_pictures(study, models, name)) for name in worst[:WITH_IMAGES]]
    name = "lowest" if len(models) > 1 or study.table["model"].nunique() == 1 else f"lowest of {models[0]}"
    return Analysis(name, f"The synsets with the lowest {measure}, {of}.", table, show_pictures(shown, models))


def difference(study: Study, measure: str, wide: pd.DataFrame, a: str, b: str) -> Analysis:
    """Return the difference of two models for each synset, sorted from the largest gain of `a` to that of `b`."""
    both = wide[[a, b]].dropna()
    gain = (both[a] - both[b]).sort_values(ascending=False, kind="stable")
    ranked = gain.index if len(gain) <= 2 * SHOWN else [*gain.index[:SHOWN], *gain.index[-SHOWN:]]
    table = pd.DataFrame(
        {
            "synset": list(ranked),
            a: both.loc[ranked, a].to_numpy(),
            b: both.loc[ranked, b].to_numpy(),
            "difference": gain.loc[ranked].to_numpy(),
        }
    )
    half = WITH_IMAGES // 2
    ends = list(dict.fromkeys([*gain.index[:half], *gain.index[-half:]]))
    shown = [(f"{name}\n{gain[name]:+.3f}", find_pictures(study, (a, b), name)) for name in ends]
    summary = f"Difference of synsets' {measure}: {a} - {b}."
    return Analysis(f"{a} and {b}", summary, table, show_pictures(shown, (a, b)))


def stability(wide: pd.DataFrame, name: str, column: str, summary: str) -> Analysis:
    """Return how well the rankings of synsets agree: Spearman's rho between columns.

    Args:
        wide: Values: one row for each synset, one column for each level (model, seed or run).
        name: What the levels are, in the plural.
        column: Column of the table that names the level.
        summary: Summary of the analysis.

    Returns:
        One row for each level, with its mean correlation with the others in the column `others`; NaN where all
        scores of a level are equal.
    """
    rho = wide.corr(method="spearman")
    others = rho.mask(np.eye(len(rho), dtype=bool)).mean()
    table = rho.reset_index(drop=True)
    table.insert(0, column, [str(level) for level in rho.index])
    table["others"] = others.to_numpy()
    long = table.melt(column, list(rho.columns), var_name="with", value_name="rho")
    figure = HeatMap(x="with", y=column, value="rho", diverging=True, range=(-1, 1), title=RHO, data=long)
    return Analysis(f"stability between {name}", summary, table, figure)


def subtrees(
    wide: pd.DataFrame, synsets: Mapping[str, str], measure: str, taxonomy: Taxonomy, roots: Sequence[str]
) -> Analysis:
    """Return the mean over the synsets at or below each root, and over all synsets.

    The paper's roots are skipped if the taxonomy does not contain them.

    Raises:
        BadOption: The taxonomy does not contain a root that the user named.

    References:
        Hypernymy paper, Tables 9 and 10.
    """
    for root in roots:
        if root not in taxonomy and root not in ROOTS:
            raise BadOption(f"roots: {root!r} is not in the taxonomy{did_you_mean(root, taxonomy.near(root))}")
    nodes = {prompt: synsets.get(prompt, prompt) for prompt in wide.index}
    above = {prompt: taxonomy.closure(node) | {node} for prompt, node in nodes.items() if node in taxonomy}
    lines: list[dict[Hashable, Any]] = []
    for root in roots:
        own = [prompt for prompt, over in above.items() if root in over]
        lines.append({"root": root, "synsets": len(own), **wide.loc[own].mean().to_dict()})
    lines.append({"root": "all", "synsets": len(wide), **wide.mean().to_dict()})
    table = pd.DataFrame([line for line in lines if line["synsets"]])
    long = table.melt(["root", "synsets"], var_name="model", value_name=measure)
    figure = BarChart(label="root", value=measure, colour="model", data=long, hover=["synsets"])
    return Analysis("subtrees", f"Mean {measure} over the synsets at or below a root.", table, figure)
