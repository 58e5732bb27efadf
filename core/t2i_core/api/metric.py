"""The base of metrics.

A metric never asks for a model. It names the capabilities that it needs (`Need`) and the units over which it
measures (`group_by`), and turns each unit's observations into rows of one table. Core computes means, intervals,
facets and comparisons. A metric whose score is not a mean of rows overrides `aggregate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from .metric_input import Need, Unit
from .metric_output import Excluded, Note, Row, Rows
from .prompt import Prompt

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ..statistics import Estimate
    from .failure import Failure
    from .plugin_info import Setup
    from .study import Analysis, Study

    class MeanOf(Protocol):
        """Forms the interval of the mean of some rows, all of one measure, as the run asks."""

        def __call__(self, rows: pd.DataFrame, level: float = 0.95) -> Estimate:
            """Return the mean with its interval."""
            ...


GroupBy = Literal["sample", "prompt", "model", "pair"]


class Metric:
    """Base of metrics. A subclass sets `needs` and implements `measure`.

    Attributes:
        needs: The observations that it needs (an instance may compute them from its options).
        group_by: The unit of `measure`: a sample, a prompt, a model's set, or a pair of models.
        crossed: True if the same seeds serve all prompts and are resampled too.
        strata: A facet of prompts within which prompts are resampled.
        stacked: For metrics grouped by prompt: answers come as arrays of all its samples (`Unit.stacked`), read in
            bulk. For needs that ask about each generated image alone and take a vector: classify, embed, features.
        aggregates: Measures whose rows `aggregate` reads. If None, all. If these rows have seeds, seeds are
            resampled too, whatever the other rows have.
        upper_bound: A generator, as the user would name it, that draws the requested scenes. The same judges judge
            its images on the same prompts and seeds, and results show its score as the bound of each model's.
    """

    needs: Sequence[Need] = ()
    group_by: ClassVar[GroupBy] = "sample"
    crossed: ClassVar[bool] = True
    strata: ClassVar[str | None] = None
    stacked: ClassVar[bool] = False
    aggregates: ClassVar[frozenset[str] | None] = None
    upper_bound: str | None = None

    def __init__(self, setup: Setup[Any]) -> None:
        self.options = setup.options
        self.setup = setup

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that cannot be measured, before anything runs.

        Raises:
            BadPrompts: If a prompt cannot be measured.
        """

    def measure(self, unit: Unit) -> Iterable[Row | Rows | Note | Failure | Excluded]:
        """Turn one unit's observations into rows.

        A metric grouped by model is called once for the whole set and once for each of 20 leave-one-block-out
        subsets, and gives one row per measure.

        Args:
            unit: The unit.

        Returns:
            Rows; or a Failure (its samples count as failed) or Excluded if the unit has no value. Notes may
            accompany either; notes on a set without one of its blocks are dropped.
        """
        raise NotImplementedError

    def aggregate(self, table: pd.DataFrame, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the scores that are not plain means of rows; a metric of means does not override it.

        Core resamples the scores by calling it with other weights. Measures that it does not name get the mean of
        their rows.

        Args:
            table: The rows of the measures that `aggregates` names, in the columns measure, value, model (or
                model_a, model_b), prompt, seed, and the facets.
            weights: The weight of each row, float64 of shape (len(table),).

        Returns:
            The scores by name. Grouped by pair, one score per model label, and any others by name (a position
            bias), which are shown with every model.
        """
        return {}

    def remarks(self, table: pd.DataFrame) -> Iterable[Note]:
        """Return notes for readers of the scores about all rows together, in columns as those of `aggregate`."""
        return ()

    def estimates(self, table: pd.DataFrame, mean: MeanOf) -> Mapping[str, Estimate | None]:
        """Return the scores whose intervals core cannot form, because they follow from intervals of means.

        Metrics of sets and pairs are not asked.

        Args:
            table: All rows of one model or of one level of a facet, in columns as those of `aggregate`.
            mean: Forms the interval of rows of one measure, as the run asks; use a higher level if several must
                hold together.

        Returns:
            The scores by name. None drops a measure whose mean over all rows means nothing; its facets stay.
            Scores that `aggregate` returns too are taken from here, except where models are compared.
        """
        return {}

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield tables and figures made from the measurements."""
        yield from ()


ReadT = TypeVar("ReadT")

_TABLES = 4
"""Number of remembered tables, the latest ones."""


class PerTable(Generic[ReadT]):
    """A function of a table that remembers its results, for the part of `aggregate` that needs no weights.

    Core calls `aggregate` a thousand times with one table and, if models are compared, with both tables in turn.
    """

    def __init__(self, read: Callable[[pd.DataFrame], ReadT]) -> None:
        self._read = read
        self._known: list[tuple[pd.DataFrame, ReadT]] = []

    def __call__(self, table: pd.DataFrame) -> ReadT:
        """Return the result for a table, which nobody may change afterwards."""
        for known, found in self._known:
            if known is table:
                return found
        found = self._read(table)
        self._known = [(table, found), *self._known[: _TABLES - 1]]
        return found
