"""People's answers beside the metric's decisions: accuracy by model and skill, and phi by skill over models.

References:
    DALL-Eval, first version, Tables 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import BarChart, ForestPlot
from t2i_core.api.study import UPPER_BOUND, Analysis
from t2i_core.io.majority import MajorityRule
from t2i_core.statistics import Estimate, Question, mean_interval, phi, statistic_intervals

from .analyses import average_accuracy
from .answers import UNITS, majorities, read_people
from .skills import SKILLS

AVERAGE = "average"
_RULES = {"most": "the most frequent answer", "half": "the answer of more than half of the people"}
_COLUMNS = {"people": "majority", "metric": "value"}


def compare_with_people(
    path: Path,
    rows: pd.DataFrame,
    places: Mapping[str, tuple[str, str, int]],
    question: Question,
    rule: MajorityRule = "most",
) -> Iterator[Analysis]:
    """Yield accuracy by people and by the metric for each model and skill, and phi for each skill over models.

    Args:
        path: File of people's answers.
        rows: The metric's decisions, one row for each image, models in the order of the run.
        places: Model, prompt and seed by digest of the image file.
        question: The question that the intervals of accuracy answer.
        rule: Which answer of several people counts.

    Raises:
        BadOption: The file is not valid, or is about none of the run's images.
    """
    found = majorities(read_people(path, rows, places), rule)
    if found.empty:
        raise BadOption(f"{path}: none of the answers is about one image of a skill")
    own = rows[[*UNITS, "skill", "value"]].astype({"model": str, "prompt": str, "seed": int, "skill": str})
    both = found.merge(own, on=UNITS, how="left")
    undecided = both[both["value"].isna()]
    if len(undecided) == len(both):
        first = undecided.iloc[0]
        raise BadOption(
            f"{path}: none of the answers is about an image of the run; the first is about model "
            f"{first['model']!r}, prompt {first['prompt']!r}, seed {first['seed']}"
        )
    both = both.dropna(subset="value")
    models = [model for model in dict.fromkeys(own["model"]) if (both["model"] == model).any()]
    skills = [skill for skill in SKILLS if (both["skill"] == skill).any()]
    groups = [
        (model, skill, part)
        for model in models
        for skill in skills
        if len(part := both[(both["model"] == model) & (both["skill"] == skill)])
    ]
    lines = []
    for model in models:
        of_model = [group for group in groups if group[0] == model]
        lines += [_line(model, skill, part, [skill], question) for _, skill, part in of_model]
        if len(skills) > 1:
            lines.append(_line(model, AVERAGE, pd.concat([part for *_, part in of_model]), skills, question))
    left_out = f", without {len(undecided)} that the metric does not decide" if len(undecided) else ""
    summary = (
        f"Accuracy by the majority of people ({_RULES[rule]}) and by the metric on the same images{left_out}; the "
        "average is the mean of the skills, if people's majority is clear in each of them (DALL-Eval, Table 4). "
        "phi has a 95 % interval over prompts."
    )
    table = pd.DataFrame(lines)
    yield Analysis("people", summary, table, _plot_accuracies(table))
    yield _phi_by_skill(both[~both["model"].str.startswith(UPPER_BOUND)])


def _line(model: str, skill: str, part: pd.DataFrame, wanted: Sequence[str], question: Question) -> dict[str, Any]:
    """Return accuracy by people and by the metric, and their agreement, for one model and skill or average.

    Without a clear majority for an image of each wanted skill they are NaN: means of other skills do not compare.
    """
    clear = part.dropna(subset="majority").assign(equal=lambda t: t["majority"] == t["value"])
    counted = clear if set(wanted) <= set(clear["skill"]) else clear[:0]
    line: dict[str, Any] = {"model": model, "skill": skill}
    for name, column in _COLUMNS.items():
        found = _accuracy(counted, column, question)
        line |= {name: found.value, f"{name} low": found.lo, f"{name} high": found.hi}
    agreed = _NONE if skill == AVERAGE else phi(clear["majority"], clear["value"], clear["prompt"])
    return {
        **line,
        "agreement": float(counted.groupby("skill")["equal"].mean().mean()),
        "phi": agreed.value,
        "phi low": agreed.lo,
        "phi high": agreed.hi,
        "images": len(clear),
        "ties": len(part) - len(clear),
        "annotators": part["people"].mean(),
    }


_NONE = Estimate(float("nan"), float("nan"), float("nan"), "none", "", 0)


def _accuracy(counted: pd.DataFrame, column: str, question: Question) -> Estimate:
    """Return the mean of the skills' accuracies, of which there may be one, with its interval."""
    if counted.empty:
        return _NONE
    values = counted[column].to_numpy(np.float64)
    if counted["skill"].nunique() == 1:
        return mean_interval(values, counted["prompt"], counted["seed"], interval=question, low=0, high=1)
    codes = counted["skill"].map(SKILLS.index).to_numpy(np.intp)
    found = statistic_intervals(
        lambda weights: {AVERAGE: average_accuracy(codes, values, weights)},
        counted["prompt"], counted["seed"], interval=question, strata=counted["skill"], ranges={AVERAGE: (0, 1)},
    )  # fmt: skip
    return found[AVERAGE]


def _phi_by_skill(both: pd.DataFrame) -> Analysis:
    """Return phi of people and the metric for each skill over all models, and the mean of the skills.

    A skill without a clear majority has no phi, and then the mean has none.

    References:
        DALL-Eval, Table 5.
    """
    skills = [skill for skill in SKILLS if (both["skill"] == skill).any()]
    clear = both.dropna(subset="majority")
    parts = {skill: clear[clear["skill"] == skill] for skill in skills}
    found = {skill: phi(own["majority"], own["value"], own["prompt"]) for skill, own in parts.items()}
    lines = [_phi_line(skill, parts[skill], each.value, each.lo, each.hi) for skill, each in found.items()]
    if len(skills) > 1:
        ends = np.array([(each.lo, each.value, each.hi) for each in found.values()])
        lines.append(_phi_line(AVERAGE, clear, *average_independent(ends)))
    table = pd.DataFrame(lines, columns=["skill", "phi", "phi low", "phi high", "models", "prompts", "images"])
    summary = (
        "phi of people's majorities and the metric for each skill over all models, without upper bounds, and the "
        "mean of the skills, with 95 % intervals over prompts (DALL-Eval, Table 5)."
    )
    figure = ForestPlot(
        label="skill", value="phi", interval=("phi low", "phi high"), reference=0, range=(-1, 1),
        title="phi of people and the metric", data=table, hover=["images"],
    )  # fmt: skip
    return Analysis("phi by skill", summary, table, figure)


def _phi_line(skill: str, own: pd.DataFrame, value: float, low: float, high: float) -> dict[str, Any]:
    counts = {"models": own["model"].nunique(), "prompts": own["prompt"].nunique(), "images": len(own)}
    return {"skill": skill, "phi": value, "phi low": low, "phi high": high, **counts}


def average_independent(ends: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean of independent values with its interval, which follows from theirs.

    A value without variation, such as a phi of 1, has an interval, but no variance that resampling could find.

    Args:
        ends: Lower end, value and upper end of each, shape (n, 3).

    Returns:
        The mean and the ends of its interval; NaN if one of the values is.

    References:
        G. Y. Zou, A. Donner, Construction of confidence limits about effect measures: a general approach (2008).
    """
    low, value, high = ends.T
    mean = float(value.mean())
    return (
        mean,
        mean - float(np.linalg.norm(value - low)) / len(ends),
        mean + float(np.linalg.norm(high - value)) / len(ends),
    )


def _plot_accuracies(table: pd.DataFrame) -> BarChart:
    """Return bars of accuracy by people and by the metric, with intervals, for each model and skill."""
    columns = ["model", "skill", "judged by", "accuracy", "low", "high", "images"]
    lines = [
        (row["model"], row["skill"], who, row[who], row[f"{who} low"], row[f"{who} high"], row["images"])
        for _, row in table.dropna(subset="people").iterrows()
        for who in _COLUMNS
    ]
    return BarChart(
        label=("model", "skill"), value="accuracy", colour="judged by", range=(0, 1),
        data=pd.DataFrame(lines, columns=columns), hover=["images"],
    )  # fmt: skip
