"""Tables and figures of scores by synset: lowest scores, differences between models, subtrees, stability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.api.figure import BarChart, Mosaic, ScatterPlot
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.statistics import mean_interval

from .mosaic import find_pictures, show_pictures
from .options import ROOTS, HypernymyOptions
from .preferences import preferences
from .stability import between_runs, stability
from .sweeps import sweeps
from .synsets import by_synset, join_measures, per_synset, side_by_side, synsets_of
from .taxonomy import Taxonomy

SHOWN = 50
"""Number of synsets that a table lists, as in the paper's Figure 11."""

WITH_IMAGES = 8
"""Number of listed synsets that a figure shows with images."""

NAMED = 5
"""Number of synsets at each end of the sorted differences that a figure names, as many as between them."""


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
    yield random_of_lowest(study, measure, wide, models)
    if len(models) > 1:
        for model in models:
            yield lowest(study, measure, wide[[model]].dropna(), [model])
        for a, b in combinations(models, 2):
            yield ranked_differences(measure, wide, a, b)
            yield difference(study, measure, wide, a, b)
        yield from stability(wide, "models", "model", f"Spearman's rho of synsets' {measure} between models.")
    # values that combine all seeds cannot be compared between seeds
    if "seed" in rows and rows["seed"].nunique() > 1 and ("seeds" not in rows or rows["seeds"].isna().all()):
        for model in models:
            seeds = per_synset(rows[rows["model"] == model], "seed")
            summary = f"Spearman's rho of synsets' {measure} between seeds of {model}."
            yield from stability(seeds, f"seeds of {model}", "seed", summary)
    synsets = synsets_of(study.table, study.others)
    yield from between_runs(study, by_synset(wide, synsets), measure, options.beside)
    yield subtrees(study, rows, synsets, taxonomy, options.roots)
    yield from sweeps(study, measure)
    yield from side_by_side(study, measure, options.frequency)
    if options.preferences is not None:
        scores = by_synset(join_measures(study, measure), synsets)
        yield from preferences(options.preferences, scores, synsets, find_places(study.samples))


def lowest(study: Study, measure: str, wide: pd.DataFrame, models: Sequence[str]) -> Analysis:
    """Return the synsets with the lowest mean score over models, without those that some model lacks."""
    mean = _sort_means(wide)
    worst = mean.index[:SHOWN]
    table = pd.DataFrame({"synset": worst, measure: mean.loc[worst].to_numpy()})
    if len(models) > 1:
        for model in models:
            table[model] = wide.loc[worst, model].to_numpy()
    name = "lowest" if len(models) > 1 or study.table["model"].nunique() == 1 else f"lowest of {models[0]}"
    summary = f"The synsets with the lowest {measure}, {_name_mean(models)}."
    return Analysis(name, summary, table, _show_means(study, mean[:WITH_IMAGES], models))


def random_of_lowest(study: Study, measure: str, wide: pd.DataFrame, models: Sequence[str]) -> Analysis:
    """Return a seeded random draw among the synsets with the lowest mean score over models.

    References:
        Hypernymy paper, Figures 11 and 12.
    """
    worst = _sort_means(wide)[:SHOWN]
    drawn = np.random.default_rng(0).choice(len(worst), min(WITH_IMAGES, len(worst)), replace=False)
    mean = worst.iloc[np.sort(drawn)]
    table = pd.DataFrame({"synset": mean.index, measure: mean.to_numpy()})
    summary = f"A random draw of the {len(worst)} synsets with the lowest {measure}, {_name_mean(models)}."
    return Analysis("random of the lowest", summary, table, _show_means(study, mean, models))


def _sort_means(wide: pd.DataFrame) -> pd.Series:
    """Return the mean over models of each synset that all models have, ascending."""
    return wide.dropna().mean(axis=1).sort_values(kind="stable")


def _name_mean(models: Sequence[str]) -> str:
    return models[0] if len(models) == 1 else f"mean of {len(models)} models"


def _show_means(study: Study, mean: pd.Series, models: Sequence[str]) -> Mosaic:
    """Return the images of synsets, each with its mean score."""
    rows = [(f"{name}\n{value:.3f}", find_pictures(study, models, str(name))) for name, value in mean.items()]
    return show_pictures(rows, models)


def ranked_differences(measure: str, wide: pd.DataFrame, a: str, b: str) -> Analysis:
    """Return the difference of two models for each synset by rank, the ends and some between with their names.

    References:
        Hypernymy paper, Figure 5.
    """
    gain = wide[a].sub(wide[b]).dropna().sort_values(ascending=False, kind="stable")
    table = pd.DataFrame(
        {"rank": np.arange(1, len(gain) + 1), "synset": gain.index, "difference": gain.to_numpy()}
    )
    from_end = np.minimum(table.index, len(table) - 1 - table.index)
    between = np.linspace(0, len(gain) - 1, NAMED + 2).round()
    named = (from_end < NAMED) | table.index.isin(between)
    data = table.assign(name=table["synset"].where(named, "")).iloc[np.argsort(from_end, kind="stable")]
    figure = ScatterPlot(
        x="rank", y="difference", label="name", reference=0, data=data, hover=["synset"],
        x_title="synsets by difference", y_title=f"{measure}: {a} - {b}",
    )  # fmt: skip
    return Analysis(
        f"{a} minus {b} by rank", f"Difference of synsets' {measure}, sorted: {a} - {b}.", table, figure
    )


def difference(study: Study, measure: str, wide: pd.DataFrame, a: str, b: str) -> Analysis:
    """Return the synsets with the largest differences of two models, from the gains of `a` to those of `b`."""
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


def subtrees(
    study: Study, rows: pd.DataFrame, synsets: Mapping[str, str], taxonomy: Taxonomy, roots: Sequence[str]
) -> Analysis:
    """Return the mean over the synsets at or below each root, and over all synsets, with intervals.

    Each synset counts once, however many images it has. The paper's roots are skipped if the taxonomy does not
    contain them.

    Args:
        study: The run.
        rows: The rows of one measure.
        synsets: The synset of each prompt whose id is not its synset.
        taxonomy: The taxonomy that contains the synsets.
        roots: The roots.

    Raises:
        BadOption: The taxonomy does not contain a root that the user named.

    References:
        Hypernymy paper, Tables 9 and 10.
    """
    for root in roots:
        if root not in taxonomy and root not in ROOTS:
            raise BadOption(f"roots: {root!r} is not in the taxonomy{did_you_mean(root, taxonomy.near(root))}")
    measure = str(rows["measure"].iloc[0])
    models = list(per_synset(rows, "model").columns)
    prompts = rows["prompt"].astype(object)
    nodes = {prompt: synsets.get(prompt, prompt) for prompt in prompts.unique()}
    above = {prompt: taxonomy.closure(node) | {node} for prompt, node in nodes.items() if node in taxonomy}
    trees = {root: {prompt for prompt, over in above.items() if root in over} for root in roots}
    lines: list[dict[str, Any]] = []
    for root, own in {**trees, "all": set(nodes)}.items():
        below = rows[prompts.isin(own)]
        for model in models if own else ():
            estimate = _estimate_mean(study, measure, below[below["model"] == model])
            lines.append({"root": root, "synsets": len(own), "model": model, measure: estimate[0]})
            lines[-1].update(low=estimate[1], high=estimate[2])
    long = pd.DataFrame(lines)
    table = long.drop_duplicates("root")[["root", "synsets"]].reset_index(drop=True)
    for model in models:
        part = long[long["model"] == model].reset_index(drop=True)
        table[model], table[f"{model} low"], table[f"{model} high"] = part[measure], part["low"], part["high"]
    figure = BarChart(label="root", value=measure, colour="model", data=long, hover=["synsets"])
    return Analysis("subtrees", f"Mean {measure} over the synsets at or below a root.", table, figure)


def _estimate_mean(study: Study, measure: str, rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return the mean over synsets of the mean over images, with its interval; NaN without rows."""
    if rows.empty:
        return np.nan, np.nan, np.nan
    declared = (each for own in study.measures.values() for each in own if each.name == measure)
    low, high = next(((each.low, each.high) for each in declared), (None, None))
    prompt = rows["prompt"].astype(str)
    per_image = "seed" in rows and rows["seed"].notna().all()
    found = mean_interval(
        rows["value"].to_numpy(np.float64),
        prompt,
        rows["seed"].astype(str) if per_image else None,
        weights=1 / prompt.map(prompt.value_counts()).to_numpy(np.float64),
        interval=study.interval if per_image else "prompts",
        low=None if isinstance(low, str) else low,
        high=None if isinstance(high, str) else high,
    )
    return found.value, found.lo, found.hi
