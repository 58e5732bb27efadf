"""What all metrics of choices share: a caption is picked for each image, and accuracy is counted above chance."""

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
from .samples import PAPER_CHANCE, wrong_with

ABOVE, ABOVE_PAPER, ACCURACY, CHANCE = "above_chance", "above_papers_chance", "accuracy", "chance"
NONE: Mapping[str, str] = {}


class Choices(TableMetric):
    """Picks a caption for each sample's image."""

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that are no samples of one image with captions."""
        for prompt in prompts:
            if (fault := wrong_with(prompt, images=1)) is not None:
                raise BadPrompts(f"the prompt {prompt.id!r} {fault}")

    def decided(self, prompt: Prompt, scores: Floats, facets: Mapping[str, str] = NONE) -> Iterator[Row]:
        """Yield a sample's rows: whether its right caption has the highest score, ties shared, and what chance is.

        scores:  (captions,), higher is better
        facets:  of the headline
        """
        assert prompt.answer is not None  # as checked before anything ran
        right, chance = share(scores, prompt.answer), 1 / len(prompt.texts)
        yield Row(ABOVE, right - chance, facets)
        yield Row(ACCURACY, right)
        yield Row(CHANCE, chance)

    def prepare(self, table: pd.DataFrame) -> _TaskMeans:
        """Find how right the decisions of each task are."""
        return _TaskMeans.of(table)

    def aggregate(self, means: _TaskMeans, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the headline, the mean over tasks of accuracy minus chance.

        And, where all tasks are the paper's, the same with the paper's chances.
        """
        return means.averages(weights)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield tables by task, ablations, and where models differ, beside what people prefer."""
        from .analyses import analyse

        yield from analyse(study, self.options.votes)


@dataclass(frozen=True)
class _TaskMeans:
    """Where a table says how right decisions are.

    rows:    positions of its rows of accuracy
    values:  float64, by row: accuracy; and less chance
    tasks:   of each row, an index into `paper`
    paper:   each task's chance in the paper, NaN where it has none
    """

    rows: NDArray[np.intp]
    accuracy: NDArray[np.float64]
    above: NDArray[np.float64]
    tasks: NDArray[np.intp]
    paper: NDArray[np.float64]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _TaskMeans:
        """Find the rows; each sample has one of each measure, in one order."""
        value = table["value"].to_numpy(np.float64)
        rows, above = (np.flatnonzero(table["measure"] == measure) for measure in (ACCURACY, ABOVE))
        codes, names = pd.factorize(table["task"].astype(str).to_numpy()[rows])
        paper = np.array([PAPER_CHANCE.get(name, np.nan) for name in names])
        return cls(rows, value[rows], value[above], codes.astype(np.intp), paper)

    def averages(self, weights: NDArray[np.float64]) -> dict[str, float]:
        """Return the means over tasks; NaN where nothing of one of them weighs."""
        weight = weights[self.rows]
        total = np.bincount(self.tasks, weight, len(self.paper))
        if not (total > 0).all():
            return dict.fromkeys(self._names, float("nan"))
        weight /= total[self.tasks] * len(total)  # a task's weigh as much as another's
        found = {
            ABOVE: float((weight * self.above).sum()),
            ABOVE_PAPER: float((weight * self.accuracy).sum() - self.paper.sum() / len(total)),
        }
        return {name: found[name] for name in self._names}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        known = len(self.paper) > 0 and bool(np.isfinite(self.paper).all())
        return (ABOVE, ABOVE_PAPER) if known else (ABOVE,)
