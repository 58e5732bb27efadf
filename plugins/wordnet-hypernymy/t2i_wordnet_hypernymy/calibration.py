"""The metric `calibration`: whether a classifier's confidence matches its accuracy, on labelled images.

References:
    Hypernymy paper, Table 7 and Figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import ClassScores
from t2i_core.api.figure import ScatterPlot
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Row
from t2i_core.api.prompt import Prompt
from t2i_core.api.study import Analysis, Study
from t2i_core.results.run import load_run

from .metrics import NEED, asked_class

BINS = 100


def bin_of(confidence: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the bin of each confidence in (0, 1]; bins have equal width and include their upper end."""
    return np.clip(np.ceil(confidence * BINS).astype(np.intp) - 1, 0, BINS - 1)


def calibration_error(
    confidence: NDArray[np.float64], correct: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Return the expected calibration error: mean over images of |accuracy - mean confidence| of their bin.

    Args:
        confidence: Probability of the predicted class, shape (n,), in (0, 1].
        correct: 1 where the predicted class is the label, otherwise 0, shape (n,).
        weights: Weights of the images, shape (n,).

    Returns:
        The error in [0, 1]; NaN if the weights sum to 0.
    """
    total = weights.sum()
    if not total > 0:
        return float("nan")
    return float(np.abs(np.bincount(bin_of(confidence), weights * (correct - confidence))).sum() / total)


class Calibration(TableMetric):
    """Expected calibration error, accuracy and mean confidence of the classifier."""

    needs = (Need(NEED, "classify", knows=True),)
    computes_headline = True

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject images without a label."""
        for prompt in prompts:
            asked_class(prompt)

    def measure(self, unit: Unit) -> Iterator[Row]:
        """Yield two rows for an image: whether the most probable class is its label, and that probability."""
        observed = unit.one()
        answer: ClassScores = observed.one(NEED)
        odds = np.exp(np.subtract(answer.logits, answer.logits.max(), dtype=np.float64))
        asked, best = asked_class(observed.prompt), answer.labels[int(answer.logits.argmax())]
        correct = best.same_as(asked)
        yield Row("accuracy", float(correct), because="" if correct else f"{best.name}, not {asked.name}")
        yield Row("confidence", float(1 / odds.sum()), {"correct": int(correct)})

    def prepare(self, table: pd.DataFrame) -> _Predictions:
        """Read the predictions."""
        return _Predictions.of(table)

    def aggregate(self, answers: _Predictions, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `ece`; core computes accuracy and confidence as plain means."""
        if not len(answers.confidence):
            return {}
        return {"ece": calibration_error(answers.confidence, answers.correct, weights[answers.rows])}

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the calibration curve of each model, and the curves of a run's several judges in one picture."""
        rows = study.table[study.table["measure"] == "confidence"]
        for model, own in rows.groupby("model", observed=True):
            table = calibration_curve(own)
            summary = f"Accuracy of the judge by its confidence, on {model}."
            yield Analysis(
                f"curve of {model}", summary, table, _plot_curves(table.assign(model=model), ("model",))
            )
        if study.by is not None:
            yield from _compare_judges(study)


def calibration_curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean confidence, the accuracy and the number of images of each bin that has images.

    Args:
        rows: Predictions, with the columns value (their confidence) and correct.
    """
    confidence = rows["value"].to_numpy(np.float64)
    data = pd.DataFrame(
        {"bin": bin_of(confidence), "confidence": confidence, "accuracy": rows["correct"].to_numpy(np.float64)}
    )
    groups = data.groupby("bin")
    return groups.mean().assign(images=groups.size()).reset_index(drop=True)


def _compare_judges(study: Study) -> Iterator[Analysis]:
    """Yield the curves of all judges of a run; the study of the first judge yields them.

    References:
        Hypernymy paper, Figure 6.
    """
    rows = load_run(study.folder).measurements()
    rows = rows[(rows["metric"] == "calibration") & (rows["measure"] == "confidence")]
    groups = [
        (judge, model, own) for (judge, model), own in rows.groupby(["by", "model"], observed=True, sort=False)
    ]
    if len({judge for judge, _, _ in groups}) < 2 or groups[0][0] != study.by:
        return
    parts = [calibration_curve(own).assign(judge=str(judge), model=str(model)) for judge, model, own in groups]
    table = pd.concat(parts, ignore_index=True)[["judge", "model", "confidence", "accuracy", "images"]]
    summary = "Accuracy of each judge by its confidence."
    yield Analysis("curves of all judges", summary, table, _plot_curves(table, ("judge", "model")))


def _plot_curves(table: pd.DataFrame, names: tuple[str, ...]) -> ScatterPlot:
    """Return a curve for each level of the columns `names`, the area of a point by its number of images."""
    curve = table[list(names)].astype(str).agg(", ".join, axis=1)
    return ScatterPlot(
        x="confidence", y="accuracy", size="images", curve="curve", colour=names if len(names) > 1 else None,
        diagonal=True, x_range=(0, 1), y_range=(0, 1), data=table.assign(curve=curve),
    )  # fmt: skip


@dataclass(frozen=True)
class _Predictions:
    """Predictions in a table.

    Attributes:
        rows: Positions of their rows in the table, shape (n,).
        confidence: Probability of the predicted class, shape (n,).
        correct: 1 where the prediction is right, otherwise 0, shape (n,).
    """

    rows: NDArray[np.intp]
    confidence: NDArray[np.float64]
    correct: NDArray[np.float64]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _Predictions:
        """Read the predictions from a table."""
        rows = np.flatnonzero(table["measure"] == "confidence")
        own = table.iloc[rows]
        correct = own["correct"].to_numpy(np.float64) if len(rows) else np.empty(0)
        return cls(rows, own["value"].to_numpy(np.float64), correct)
