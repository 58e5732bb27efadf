"""Base class of metrics that pick a caption for each image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadPrompts
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_output import Row
from t2i_core.api.prompt import Prompt
from t2i_core.api.study import Analysis, Study

from .estimators import Floats, share
from .samples import PAPER_CHANCE, find_fault

ABOVE, ABOVE_PAPER, ACCURACY, CHANCE = "above_chance", "above_papers_chance", "accuracy", "chance"
NONE: Mapping[str, str] = {}
PICKED, RIGHT = "picked: ", " (right: "
"""Texts before the picked and the right caption in the reason of a row of `accuracy`."""


class Choices(TableMetric):
    """Metric of accuracy above chance in picking the right caption of each image."""

    computes_headline = True

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that every prompt is a sample of one image with captions.

        Raises:
            BadPrompts: If a prompt is not.
        """
        for prompt in prompts:
            if (fault := find_fault(prompt, images=1)) is not None:
                raise BadPrompts(f"prompt {prompt.id!r}: {fault}")

    def score_decision(self, prompt: Prompt, scores: Floats, facets: Mapping[str, str] = NONE) -> Iterator[Row]:
        """Yield the rows of a sample: correctness minus chance, correctness, and chance.

        The sample is correct if the right caption has the highest score; tied captions share the decision.

        Args:
            prompt: The sample.
            scores: Scores of shape (captions,); higher is better.
            facets: Facets of the row of the headline.
        """
        assert prompt.answer is not None  # see `check`
        right, chance = share(scores, prompt.answer), 1 / len(prompt.texts)
        best = np.flatnonzero(scores == scores.max())
        picked = " | ".join(prompt.texts[caption] for caption in best)
        wrong = "" if right == 1 else f"{RIGHT}{prompt.text})"
        because = f"{PICKED}{picked}{wrong}"
        yield Row(ABOVE, right - chance, facets, because if wrong else "")
        yield Row(ACCURACY, right, because=because)
        yield Row(CHANCE, chance)

    def prepare(self, table: pd.DataFrame) -> _TaskMeans:
        """Compute the accuracy of each task's decisions."""
        return _TaskMeans.from_table(table)

    def aggregate(self, means: _TaskMeans, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the headline: the mean over tasks of accuracy minus chance.

        If all tasks are the paper's, the same with the paper's chance levels is returned too.
        """
        return means.averages(weights)

    def ranges(self, table: pd.DataFrame) -> Mapping[str, tuple[float, float]]:
        """Return the least and the greatest accuracy minus chance that these tasks allow."""
        return _TaskMeans.from_table(table).ranges()

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield scores by task, ablations, comparisons of models, and agreement with people."""
        from .analyses import analyse

        yield from analyse(study, self.options.votes)


@dataclass(frozen=True)
class _TaskMeans:
    """Rows of a table from which the means over tasks are computed.

    Attributes:
        rows: Positions of the rows of `accuracy`.
        accuracy: Accuracy of each of these rows.
        above: Accuracy minus chance of each of these rows.
        tasks: Index of each row's task in `paper`.
        paper: The paper's chance of each task; NaN for other tasks.
    """

    rows: NDArray[np.intp]
    accuracy: NDArray[np.float64]
    above: NDArray[np.float64]
    tasks: NDArray[np.intp]
    paper: NDArray[np.float64]

    @classmethod
    def from_table(cls, table: pd.DataFrame) -> _TaskMeans:
        """Find the rows of a table that holds the measures of its samples in the same order."""
        value = table["value"].to_numpy(np.float64)
        rows, above = (np.flatnonzero(table["measure"] == measure) for measure in (ACCURACY, ABOVE))
        codes, names = pd.factorize(table["task"].astype(str).to_numpy()[rows])
        paper = np.array([PAPER_CHANCE.get(name, np.nan) for name in names])
        return cls(rows, value[rows], value[above], codes.astype(np.intp), paper)

    def averages(self, weights: NDArray[np.float64]) -> dict[str, float]:
        """Return the means over tasks; NaN if the weights of a task are all 0."""
        weight = weights[self.rows]
        total = np.bincount(self.tasks, weight, len(self.paper))
        if not (total > 0).all():
            return dict.fromkeys(self._names, float("nan"))
        weight /= total[self.tasks] * len(total)  # all tasks have the same weight
        found = {
            ABOVE: float((weight * self.above).sum()),
            ABOVE_PAPER: float((weight * self.accuracy).sum() - self.paper.sum() / len(total)),
        }
        return {name: found[name] for name in self._names}

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return the ranges of the means: accuracy lies between 0 and 1, and the chance levels are known."""
        samples = np.bincount(self.tasks, minlength=len(self.paper))
        chance = np.bincount(self.tasks, self.accuracy - self.above, len(self.paper)) / samples
        found = {ABOVE: float(chance.mean()), ABOVE_PAPER: float(self.paper.mean())}
        return {name: (-found[name], 1 - found[name]) for name in self._names}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        known = len(self.paper) > 0 and bool(np.isfinite(self.paper).all())
        return (ABOVE, ABOVE_PAPER) if known else (ABOVE,)
