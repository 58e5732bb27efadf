"""People's preferences for each model over one baseline, beside every metric's difference from it.

References:
    "Hypernymy Understanding Evaluation of Text-to-Image Models via WordNet Hierarchy", Tables 2, 3 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from t2i_core.api.errors import BadOption, UnknownName
from t2i_core.api.resolver import Resolver
from t2i_core.results.run import Run
from t2i_core.statistics import spearman

from .agreement import make_units
from .human_values import HumanValues
from .metric_values import MetricValues
from .model_pairs import HumanPreference, Range, list_pairs, measure_difference, summarize_preference
from .result import Predictor, name_predictor
from .sources import read_sources

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MetricBesidePeople:
    """A metric's difference between a model and the baseline, and how it goes with people's preference.

    Differences and correlations have the metric's own sign.

    Attributes:
        question: The question that people answered.
        predictor: The metric and measure.
        model: The model.
        share: Share of people's decided answers for the model; None if none is decided.
        difference: The metric's mean of the model minus that of the baseline; None if it does not exist.
        ci: Its 95 % interval over prompts.
        n_prompts: Number of prompts of the difference; 0 for a value of a model's whole set.
        rho: Spearman's correlation over prompts of the metric's difference with the share of people who prefer
            the model; None if it does not exist.
        rho_ci: Its 95 % interval; None below 5 prompts.
        p: Its two-sided p-value.
        n: Number of prompts of the correlation.
        absent: Why the difference, its interval or the correlation does not exist, by field.
    """

    question: str
    predictor: Predictor
    model: str
    share: float | None
    difference: float | None
    ci: Range
    n_prompts: int
    rho: float | None
    rho_ci: Range
    p: float | None
    n: int
    absent: Mapping[str, str]


@dataclass(frozen=True)
class BaselineComparison:
    """Each model against one baseline.

    Attributes:
        baseline: Label of the baseline.
        preferences: People's preferences; `a` is the model, `b` the baseline.
        metrics: The metrics beside them.
        notes: What was left out, and why.
    """

    baseline: str
    preferences: tuple[HumanPreference, ...]
    metrics: tuple[MetricBesidePeople, ...]
    notes: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return one row for each metric and model."""
        import pandas as pd

        rows = []
        for line in self.metrics:
            low, high = line.ci or (None, None)
            rho_low, rho_high = line.rho_ci or (None, None)
            row = {"question": line.question, **asdict(line.predictor), "model": line.model}
            row |= {"baseline": self.baseline, "share": line.share}
            row |= {"difference": line.difference, "lo": low, "hi": high, "n_prompts": line.n_prompts}
            row |= {"rho": line.rho, "rho_lo": rho_low, "rho_hi": rho_high, "p": line.p, "n": line.n}
            rows.append({**row, "absent": "; ".join(f"{name}: {why}" for name, why in line.absent.items())})
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """Return the output of `--json` as plain data."""
        return {
            "baseline": self.baseline,
            "preferences": [asdict(each) for each in self.preferences],
            "metrics": [_flatten(line) for line in self.metrics],
            "notes": list(self.notes),
        }


def _flatten(line: MetricBesidePeople) -> dict[str, Any]:
    values = asdict(line)
    return {"question": values.pop("question"), **values.pop("predictor"), **values}


def compare_with_baseline(
    runs: Sequence[str | Path],
    answers: str | Path,
    baseline: str,
    *,
    metrics: Iterable[str] = (),
    questions: Sequence[str] = (),
    by: str | None = None,
    resolver: Resolver[Any] | None = None,
) -> BaselineComparison:
    """Set each metric's differences from one model beside people's preferences over it.

    Args:
        runs: Folders of finished runs.
        answers: File of people's answers (a database of the voting page, or CSV).
        baseline: Label of the model with which the others are compared.
        metrics: Names of metrics; all, if empty.
        questions: Names of questions; all, if empty.
        by: Column of measurements.csv: each of its levels gets its own lines.
        resolver: Finds the metrics, for the direction of their measures; the installed one, if None.

    Raises:
        BadFolder: If a folder holds no finished run.
        BadOption: If the answers cannot be read, are about other images, or have no preferences.
        UnknownName: If the runs have no metric of a name, or people compared no model with the baseline.
    """
    sources = read_sources(runs, answers, metrics, questions, by, resolver)
    asked = [human for human in sources.people if human.form == "preference"]
    if not asked:
        raise BadOption(f"--baseline: {answers} has no preferences between two models; leave the option out")
    compared = sorted({model for human in asked for pair in list_pairs(human) for model in pair})
    if baseline not in compared:
        raise UnknownName.among("baseline", baseline, compared, f"people compared {', '.join(compared)}")
    preferences: list[HumanPreference] = []
    lines: list[MetricBesidePeople] = []
    for human in asked:
        for model in (model for pair in list_pairs(human) if baseline in pair for model in {*pair} - {baseline}):
            preference = summarize_preference(human, model, baseline, sources.clusters)
            preferences.append(preference)
            lines += [
                _compare(human, values, preference, sources.runs, sources.clusters) for values in sources.metrics
            ]
    order = {values: number for number, values in enumerate(map(name_predictor, sources.metrics))}
    lines.sort(key=lambda line: (line.question, order[line.predictor]))
    notes = (*sources.notes, *_list_absent(preferences, lines))
    return BaselineComparison(baseline, tuple(preferences), tuple(lines), notes)


def _compare(
    human: HumanValues,
    values: MetricValues,
    preference: HumanPreference,
    runs: Sequence[Run],
    clusters: Mapping[str, str],
) -> MetricBesidePeople:
    model, baseline = preference.a, preference.b
    sign = -1.0 if values.direction == "lower" else 1.0
    gap = measure_difference(values, model, baseline)
    difference = None if gap.value is None else sign * gap.value
    ci = gap.ci if gap.ci is None or sign > 0 else (-gap.ci[1], -gap.ci[0])
    absent: dict[str, str] = {}
    if difference is None:
        absent["difference"] = "no value of both models"
    elif values.scope == "model":
        ci = _find_interval_of_sets(runs, values, model, baseline, difference)
    if difference is not None and ci is None:
        one = gap.n_prompts == 1
        absent["ci"] = (
            "the runs have no interval of it" if values.scope == "model"
            else "a single prompt" if one
            else "the same difference on every prompt"
        )  # fmt: skip
    rho, rho_ci, p, n, why = _correlate(human, values, preference, clusters, sign)
    if why:
        absent["rho"] = why
    return MetricBesidePeople(
        human.question, name_predictor(values), model, preference.share,
        difference, ci, gap.n_prompts, rho, rho_ci, p, n, absent,
    )  # fmt: skip


def _find_interval_of_sets(
    runs: Sequence[Run], values: MetricValues, model: str, baseline: str, difference: float
) -> Range:
    """Return the interval of a run's own comparison of two models, if it is of this difference."""
    for run in runs:
        for one in run.comparisons:
            if (one.metric, one.by) != (values.metric, values.by) or {one.a, one.b} != {model, baseline}:
                continue
            sign = 1.0 if one.a == model else -1.0
            ends = [end for end in one.ci or () if end is not None]
            if one.diff is not None and len(ends) == 2 and math.isclose(sign * one.diff, difference, rel_tol=1e-6):
                low, high = sorted(sign * end for end in ends)
                return low, high
    return None


def _correlate(
    human: HumanValues,
    values: MetricValues,
    preference: HumanPreference,
    clusters: Mapping[str, str],
    sign: float,
) -> tuple[float | None, Range, float | None, int, str]:
    """Return rho over prompts, its interval, p-value and number of prompts, and why it does not exist."""
    if values.scope == "model":
        return None, None, None, 0, "the metric has one value for all images of a model"
    units = make_units(human, "prompt", values, clusters)
    units = units.of_models((min(preference.a, preference.b), max(preference.a, preference.b)))
    n = len(units)
    if n < 3:
        return None, None, None, n, f"{n} of the 3 prompts that it needs have a value and a decided answer"
    for side, what in ((units.predictor, "the metric's difference"), (units.people, "people's share")):
        if np.ptp(side) == 0:
            return None, None, None, n, f"{what} is the same on every prompt"
    # both sides are of the first model by name minus the second: rho is the same for the other order
    found = spearman(sign * units.predictor, units.people)
    ci = None if math.isnan(found.lo) else (found.lo, found.hi)
    return found.value, ci, found.p, n, ""


_FIELDS = {
    "share": "share", "alpha": "alpha", "alpha_with_ties": "alpha with ties",
    "difference": "difference", "ci": "interval", "rho": "rho",
}  # fmt: skip


def _list_absent(preferences: Iterable[HumanPreference], lines: Iterable[MetricBesidePeople]) -> Iterator[str]:
    """Yield a note for each reason why values do not exist, with those that it holds for."""
    models: dict[tuple[str, str, str, str], list[str]] = {}
    for each in preferences:
        for field, why in each.absent.items():
            models.setdefault((each.question, _FIELDS[field], why, ""), []).append(each.a)
    for line in lines:
        name = line.predictor
        measure = name.measure if name.measure != name.metric else None
        title = " ".join(filter(None, (name.metric, name.by, measure, name.facet)))
        for field, why in line.absent.items():
            models.setdefault((line.question, _FIELDS[field], why, title), []).append(line.model)
    metrics: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for (question, field, why, title), own in models.items():
        metrics.setdefault((question, field, why, tuple(own)), []).append(title)
    for (question, field, why, labels), titles in metrics.items():
        of = f" of {', '.join(titles)}" if any(titles) else ""
        yield f"{question}: no {field}{of} for {', '.join(labels)} ({why})"
