"""The metric `calibration`: is a classifier as often right as it says? On labelled images (paper's Table 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import ClassScores
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Row
from t2i_core.api.prompt import Prompt
from t2i_core.api.study import Analysis, Study

from .metrics import NEED, asked_class

BINS = 100


def bin_of(confidence: NDArray[np.float64]) -> NDArray[np.intp]:
    """The bin of each confidence in (0, 1], of equal width, closed above."""
    return np.clip(np.ceil(confidence * BINS).astype(np.intp) - 1, 0, BINS - 1)


def calibration_error(
    confidence: NDArray[np.float64], correct: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Expected calibration error: mean over images of |accuracy - mean confidence| of their bin; NaN of none."""
    total = weights.sum()
    if not total > 0:
        return float("nan")
    return float(np.abs(np.bincount(bin_of(confidence), weights * (correct - confidence))).sum() / total)


class Calibration(TableMetric):
    """Is the classifier as often right as it says?"""

    needs = (Need(NEED, "classify", knows=True),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse images without a label."""
        for prompt in prompts:
            asked_class(prompt)

    def measure(self, unit: Unit) -> Iterator[Row]:
        """Turn one image into two rows: whether the most probable class is its label, and that probability."""
        observed = unit.one()
        answer: ClassScores = observed.one(NEED)
        odds = np.exp(np.subtract(answer.logits, answer.logits.max(), dtype=np.float64))
        correct = answer.labels[int(answer.logits.argmax())].same_as(asked_class(observed.prompt))
        yield Row("accuracy", float(correct))
        yield Row("confidence", float(1 / odds.sum()), {"correct": int(correct)})

    def prepare(self, table: pd.DataFrame) -> _Answers:
        """Read the answers."""
        return _Answers.of(table)

    def aggregate(self, answers: _Answers, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `ece`; accuracy and confidence are plain means."""
        if not len(answers.confidence):
            return {}
        return {"ece": calibration_error(answers.confidence, answers.correct, weights[answers.rows])}

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the calibration curve (the paper's Figure 6): a row for each bin that has images."""
        rows = study.table[study.table["measure"] == "confidence"]
        for model, own in rows.groupby("model", observed=True):
            confidence = own["value"].to_numpy(np.float64)
            data = pd.DataFrame(
                {
                    "bin": bin_of(confidence),
                    "confidence": confidence,
                    "accuracy": own["correct"].to_numpy(np.float64),
                }
            )
            groups = data.groupby("bin")
            table = groups.mean().assign(images=groups.size()).reset_index(drop=True)
            summary = f"How often the judge is right, by how sure it is, on {model}."
            yield Analysis(f"curve of {model}", summary, table, partial(_curve, table))


@dataclass(frozen=True)
class _Answers:
    """A table's answers, float64 (n,), and the places of the rows that they stand in."""

    rows: NDArray[np.intp]
    confidence: NDArray[np.float64]
    correct: NDArray[np.float64]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _Answers:
        """Read them."""
        rows = np.flatnonzero(table["measure"] == "confidence")
        own = table.iloc[rows]
        correct = own["correct"].to_numpy(np.float64) if len(rows) else np.empty(0)
        return cls(rows, own["value"].to_numpy(np.float64), correct)


def _curve(table: pd.DataFrame, axes: Any) -> None:
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
    axes.plot(table["confidence"], table["accuracy"], linewidth=1, alpha=0.4)
    shares = table["images"] / table["images"].sum()
    axes.scatter(table["confidence"], table["accuracy"], 5 + 300 * shares, label="area: images in the bin")
    axes.legend()
    axes.set_xlabel("confidence")
    axes.set_ylabel("accuracy")
