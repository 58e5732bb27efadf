"""The base classes of metrics, one for each kind of unit, and one for scores of the whole table.

A metric never asks for a model. It names the capabilities that it needs (`Need`) and turns each unit's
observations into rows of one table. Its base class gives the unit: a sample (`Metric`), a prompt's samples
(`PromptMetric`, or `StackedMetric` for arrays), a model's set (`SetMetric`) or a pair of models (`PairMetric`).
Core computes means, intervals, facets and comparisons. A metric whose score is not a mean of rows overrides
`aggregate`. `TableMetric`, which combines with the others, has more hooks for such scores; of these a `SetMetric`
gets only `remarks`. `AdaptiveMetric`, which combines with them too, asks in rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from .metric_input import Need, NeedJudge, Observed, Unit
from .metric_output import Excluded, Note, Row, Rows
from .options import BoundedOptions
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


class Metric:
    """Base of metrics; without another base class a metric measures one sample at a time.

    A subclass sets `needs` and implements `measure`.

    Attributes:
        needs: The observations that it needs (an instance may compute them from its options).
        strata: A facet of prompts within which prompts are resampled.
        upper_bound: A generator, as the user would name it, that draws the requested scenes. The same judges judge
            its images on the same prompts and seeds, and results show its score as the bound of each model's.
            `BoundedOptions` set it.
        upper_settings: Options of that generator.
        judges: Judges by capability that its options choose; they replace those of `Defaults`.
        rows_depend_on_prompts: True if an image's rows depend on the other prompts of the run, too. Models of runs
            with different prompts are then not compared.
    """

    needs: Sequence[Need] = ()
    strata: ClassVar[str | None] = None
    upper_bound: str | None = None
    upper_settings: Mapping[str, Any] = {}
    judges: Mapping[str, str] = {}
    rows_depend_on_prompts: bool = False

    def __init__(self, setup: Setup[Any]) -> None:
        self.options = setup.options
        self.setup = setup
        if isinstance(setup.options, BoundedOptions):
            self.upper_bound, self.upper_settings = setup.options.upper, setup.options.upper_settings

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that cannot be measured, before anything runs.

        Raises:
            BadPrompts: If a prompt cannot be measured.
        """

    def check_judges(self, judges: Mapping[str, NeedJudge]) -> None:
        """Refuse judges that do not fit the options, before anything runs.

        Args:
            judges: The judges by the need's name, for each panel of judges that the user names. `Unit.judges` has
                those of a measurement.

        Raises:
            BadOption: If an option and a judge contradict each other.
        """

    def measure(self, unit: Unit) -> Iterable[Row | Rows | Note | Failure | Excluded]:
        """Turn one unit's observations into rows.

        Args:
            unit: The unit.

        Returns:
            At least one row. No two rows of one measure may have the same facets. If the unit has no value, one
            Failure (its samples count as failed) or Excluded instead. Notes may accompany either.
        """
        raise NotImplementedError

    def aggregate(self, table: Any, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the scores that are not plain means of rows; a metric of means does not override it.

        Core resamples the scores by calling it with other weights. Measures that it does not name get the mean of
        their rows.

        Args:
            table: All rows as a pandas DataFrame with the columns measure, value, model (or model_a, model_b),
                prompt, seed, and the facets; or what `TableMetric.prepare` made of them.
            weights: The weight of each row, float64 of shape (number of rows,).

        Returns:
            The scores by name.
        """
        return {}

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield tables and figures made from the measurements."""
        yield from ()


class PromptMetric(Metric):
    """Base of metrics that measure all samples of a prompt together."""


class StackedMetric(PromptMetric):
    """Base of metrics that get a prompt's answers as arrays (`Unit.stacked`), read in bulk.

    For needs that ask about each generated image alone and take a vector: classify, embed, features.
    """


class SetMetric(Metric):
    """Base of metrics that measure all images of a model together.

    `measure` is called once for the whole set and once for each of up to 20 subsets, without one block of images
    each. It gives one row per measure, without facets. If a measure names facets of prompts, the same follows for
    the images of each of their levels. Notes on subsets and levels are dropped, and so are levels without a value.

    Attributes:
        whole_prompts: True if a block holds all images of its prompts, so that the interval resamples prompts.
    """

    whole_prompts: ClassVar[bool] = False


class PairMetric(Metric):
    """Base of metrics that compare the images of two models for one prompt and seed.

    `aggregate` returns one score for each model label. Other scores by name (a position bias) are shown with every
    model.

    Attributes:
        crossed: True if seeds are resampled besides prompts, because the same seeds serve all prompts.
        raters: Facet of rows with the person who answered. If every row has one, people are resampled, crossed
            with prompts, in the place of seeds.
    """

    crossed: ClassVar[bool] = True
    raters: ClassVar[str | None] = None

    def set_models(self, labels: Sequence[str]) -> None:
        """Receive the models, of which queries and units name two at a time; called once, before any query.

        Args:
            labels: The labels of all models that are compared, in their order.
        """


class TableMetric(Metric):
    """Base of metrics with scores of the whole table; a second base class may give the unit.

    Attributes:
        aggregates: Measures whose rows `aggregate` reads. If None, all. If these rows have seeds, seeds are
            resampled too, whatever the other rows have.
        computes_headline: True if `aggregate` or `estimates` computes the first measure. Runs cannot stop early by
            such a score.
    """

    aggregates: ClassVar[frozenset[str] | None] = None
    computes_headline: ClassVar[bool] = False

    def prepare(self, table: pd.DataFrame) -> Any:
        """Return what `aggregate` gets in place of the table, for the part of it that does not depend on weights.

        Core calls it once for each table and then calls `aggregate` about a thousand times.

        Args:
            table: The rows of the measures that `aggregates` names, in the columns that `aggregate` documents.
        """
        return table

    def remarks(self, table: pd.DataFrame) -> Iterable[Note]:
        """Return notes for readers of the scores about all rows together, in columns as those of `aggregate`."""
        return ()

    def ranges(self, table: pd.DataFrame) -> Mapping[str, tuple[float | None, float | None]]:
        """Return narrower ranges than the measures declare, for scores that these rows limit further.

        Accuracy minus chance, for example, cannot exceed one minus the chance level of these samples.

        Args:
            table: The rows that `aggregate` computes the scores from.

        Returns:
            Lower and upper end by score.
        """
        return {}

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


class AdaptiveMetric(Metric):
    """Base of metrics that ask in rounds, because answers decide what is asked next.

    A second base class may give the unit. `Need.queries` returns the queries of all rounds so far, and before
    `begin_rounds` as many as the metric expects to ask, from which a dry run estimates the cost. Rounds may depend
    only on the prompts, the options and the answers, because an interrupted run goes through them again with the
    answers that it kept.

    Attributes:
        adaptive: True if this instance asks in rounds (its options may say).
    """

    adaptive: bool = True

    def begin_rounds(self, prompts: Sequence[Prompt]) -> None:
        """Forget all answers, and return to the queries of the first round.

        Args:
            prompts: The prompts of the run.
        """
        raise NotImplementedError

    def add_round(self, observed: Iterable[Observed]) -> bool:
        """Choose the queries of the next round.

        Args:
            observed: The samples or pairs that all rounds so far asked about, with their answers; those that
                failed are left out.

        Returns:
            False if nothing more is asked.
        """
        raise NotImplementedError
