"""The metric's contract: the observations that it needs, and the rows that it measures.

A metric never asks for a model. It names the capabilities that it needs (`Need`) and the units over which it
measures (`group_by`), and turns each unit's observations into rows of one table. Core computes means, intervals,
facets and comparisons. A metric whose score is not a mean of rows overrides `aggregate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from .evidence import Evidence
from .judge import Capability, Query
from .observation import find_capability
from .options import Options, resolve_number
from .plugin_info import Setup
from .prompt import Prompt
from .text import fit_one_line

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ..statistics import Estimate
    from .array_codec import Arrays
    from .failure import Failure
    from .image import Image
    from .observation import Observation
    from .study import Analysis, Study

    class MeanOf(Protocol):
        """Forms the interval of the mean of some rows, all of one measure, as the run asks."""

        def __call__(self, rows: pd.DataFrame, level: float = 0.95) -> Estimate:
            """Return the mean with its interval."""
            ...


GroupBy = Literal["sample", "prompt", "model", "pair"]


@dataclass(frozen=True)
class Sample:
    """One model's image for one prompt and seed.

    Attributes:
        model: The model's label.
        prompt: The prompt.
        seed: The seed.
        image: The image; None if the metric needs no generated images.
    """

    model: str
    prompt: Prompt
    seed: int
    image: Image | None = None

    def query(self) -> Query:
        """Return a query about the image alone."""
        return Query(images=(self._image(),))

    def query_with_text(self) -> Query:
        """Return a query about the image and the prompt's text."""
        return Query(images=(self._image(),), texts=(self.prompt.text,))

    @property
    def own_images(self) -> tuple[Image, ...]:
        """The images that belong to the prompt itself. Raises DamagedImage if one cannot be read."""
        from .image import load_image

        return tuple(load_image(Path(path)) for path in self.prompt.images)

    def _image(self) -> Image:
        if self.image is None:
            raise ValueError("this sample has no generated image, because its metric declared that it needs none")
        return self.image


def ask_about_image(samples: Sequence[Sample]) -> Sequence[Query]:
    """Return one query about the first sample's image, which suits most metrics."""
    return [samples[0].query()]


def ask_about_image_and_text(samples: Sequence[Sample]) -> Sequence[Query]:
    """Return one query about the first sample's image and its prompt, which suits rewards."""
    return [samples[0].query_with_text()]


@dataclass(frozen=True)
class Derive:
    """Numbers to derive from an image and its observation while the image is open.

    They are stored with the observation, so that a new threshold opens no image.

    Attributes:
        name: Name of the derivation.
        function: Takes pixels (uint8 of shape (height, width, 3)) and the observation, returns named arrays. The
            metric's code (`MetricInfo.code`) is part of the key under which they are stored; if the metric is in
            no installed distribution, the function too.
        options: Plain data that the result depends on beyond the arguments.
    """

    name: str
    function: Callable[[NDArray[np.uint8], Any], Arrays]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Need:
    """One kind of observation that a metric needs.

    Attributes:
        name: Name under which the metric finds the answers.
        capability: The capability to ask for. `pixels` if the metric measures images itself: then no judge is
            needed, and `derive` gives the numbers to take from each.
        source: `judge`, or `model` if the model itself must answer (its own likelihood).
        images: `generated`, or `prompt` if the queries are about the prompt's own images or texts alone.
        per: `item` asks for each sample (or, grouped by pair, for two samples of one prompt and seed); `run` asks
            once, about reference images or a pool of texts, with the answers in `Unit.shared`.
        queries: Returns the queries about one item's samples; per run, about one sample without an image for each
            prompt. By default the image alone, or image and prompt if the
            capability wants a text.
        params: For needs that the model itself answers: the `params` of the queries, as far as they are the same
            for all items, so that a model can refuse them before it is loaded.
        requires: Fields that the judge must give beyond the capability (`class_probs`, `colour`).
        knows: True if the judge must know every class of the prompts' scenes.
        confidence: For detections and segments, the lowest confidence that the metric uses, in [0, 1]; the judge
            must keep those above it.
        derive: Numbers to derive from image and observation.
    """

    name: str
    capability: Capability
    source: Literal["judge", "model"] = "judge"
    images: Literal["generated", "prompt"] = "generated"
    per: Literal["item", "run"] = "item"
    queries: Callable[[Sequence[Sample]], Sequence[Query]] = ask_about_image
    params: tuple[Mapping[str, Any], ...] = ()
    requires: frozenset[str] = frozenset()
    knows: bool = False
    confidence: float = 1.0
    derive: Derive | None = None

    def __post_init__(self) -> None:
        capability = find_capability(self.capability)
        if self.queries is ask_about_image:
            object.__setattr__(self, "queries", self._find_default_queries(capability))
        if not capability.judged and self.derive is None:
            raise ValueError(
                f"need {self.name!r}: {self.capability} are not stored; set `derive` to take numbers from them"
            )
        if self.per == "run" and (self.images == "generated" or self.derive is not None):
            raise ValueError(f"need {self.name!r}: a need per run cannot use generated images or `derive`")

    def _find_default_queries(
        self, capability: type[Observation]
    ) -> Callable[[Sequence[Sample]], Sequence[Query]]:
        """Return what asks about the first sample's image, with its prompt if a text is wanted."""
        for texts, queries in ((0, ask_about_image), (1, ask_about_image_and_text)):
            if any(shape.holds(1, texts) for shape in capability.queries):
                return queries
        raise ValueError(
            f"need {self.name!r}: {self.capability} is not about one image; say with `queries` what to ask"
        )


@dataclass(frozen=True)
class Answer:
    """One observation with the numbers derived from it.

    Attributes:
        observation: The observation.
        derived: The derived arrays by name.
    """

    observation: Any
    derived: Arrays


@dataclass(frozen=True)
class Observed:
    """A sample, or a pair of samples, with the answers to its queries.

    Attributes:
        samples: The sample, or both samples of a pair.
        answers: The answers by the need's name.
    """

    samples: tuple[Sample, ...]
    answers: Mapping[str, Sequence[Answer]]

    @property
    def sample(self) -> Sample:
        """The sample; the first one of a pair."""
        return self.samples[0]

    @property
    def prompt(self) -> Prompt:
        """The prompt of the sample."""
        return self.samples[0].prompt

    def one(self, need: str) -> Any:
        """Return the observation of a need with one query."""
        return self.answers[need][0].observation

    def all(self, need: str) -> list[Any]:
        """Return the observations of a need, in the order of its queries."""
        return [a.observation for a in self.answers[need]]

    def derived(self, need: str) -> Arrays:
        """Return the arrays derived from the observation of a need with one query."""
        return self.answers[need][0].derived


@dataclass(frozen=True)
class Unit:
    """The input of one measurement: a sample, a prompt's samples, a model's set, or two models on one prompt.

    Attributes:
        models: The model's label; two labels for a pair.
        prompt: The prompt; None for a model's set.
        seed: The seed; None for a prompt's samples and for a model's set.
        observed: The observations, read from the cache at each iteration. Samples that failed are skipped, and
            core counts them; a sample or pair that failed makes no unit.
        shared: The answers to needs that are asked once per run, by the need's name.
        stacked: For metrics with `Metric.stacked`, instead of `observed`: by the need's name one observation of
            all the prompt's samples, its array with one more leading axis.
        seeds: For a prompt's unit, the seeds of its samples, in the order of `observed` or `stacked`.
    """

    models: tuple[str, ...]
    prompt: Prompt | None
    seed: int | None
    observed: Iterable[Observed]
    shared: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    stacked: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()

    def one(self) -> Observed:
        """Return the only sample or pair of the unit."""
        return next(iter(self.observed))


@dataclass(frozen=True)
class Row:
    """One measured value.

    Attributes:
        measure: The name of one of the metric's measures.
        value: The number; NaN is an error, not a value.
        facets: Facets of the value beyond prompt and seed.
        because: Why the value is what it is, in words: `giraffe not found`. The measurement table has it.
        evidence: The parts of the image that show why. The run folder keeps those of the worst samples.
    """

    measure: str
    value: float
    facets: Mapping[str, str | int | float] = field(default_factory=dict)
    because: str = ""
    evidence: Sequence[Evidence] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.because, str):
            raise TypeError(f"because must be a text, got {type(self.because).__name__}")
        if not all(isinstance(each, Evidence) for each in self.evidence):
            raise TypeError("evidence must hold only Evidence objects")


@dataclass(frozen=True)
class Rows:
    """One measured value for each of a prompt's samples, for metrics grouped by prompt: a row for each seed.

    Attributes:
        measure: The name of one of the metric's measures.
        values: float64, finite, shape (number of seeds,).
        facets: Facets of the values beyond prompt and seed.
        seeds: The seeds of the samples. If None, those of the unit.
        together: True if each value depends on all of the unit's samples; then only prompts with the same samples
            are compared between models.
    """

    measure: str
    values: NDArray[np.float64]
    facets: Mapping[str, str | int | float] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None
    together: bool = False


@dataclass(frozen=True)
class Excluded:
    """A unit that has no value and needs none (no person is visible, a synset has one leaf).

    Attributes:
        reason: The reason in one line, as for a Failure.
    """

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise TypeError(f"the reason of Excluded must be a text, got {type(self.reason).__name__}")
        object.__setattr__(self, "reason", fit_one_line(self.reason))


@dataclass(frozen=True)
class Note:
    """A note for readers of a score about the images that it was measured on (for example, too few images).

    Attributes:
        text: A sentence. It appears once, among the result's notes.
        counted: True if the number of units precedes the sentence.
    """

    text: str
    counted: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"the text of a Note must be a text, got {type(self.text).__name__}")
        object.__setattr__(self, "text", fit_one_line(self.text))


@dataclass(frozen=True)
class Measure:
    """The meaning of one kind of row.

    Attributes:
        name: Its name in rows.
        summary: One line.
        low: Lower bound of the value: a number, or the name of the metric's option that has it; None if there is
            none. No value may lie outside the bounds, and no interval exceeds them.
        high: Upper bound, in the same way.
        higher_is_better: True or False; None if neither is better.
        facets: Columns by which its mean is reported: facets of its rows, `prompt`, `seed`, or facets of prompts.
    """

    name: str
    summary: str
    low: float | str | None = None
    high: float | str | None = None
    higher_is_better: bool | None = True
    facets: tuple[str, ...] = ()

    def settled(self, options: Options) -> SettledMeasure:
        """Return the measure with its bounds as numbers, under these options.

        Raises:
            ValueError: If a bound is the name of no option.
        """
        low, high = (resolve_number(bound, options) for bound in (self.low, self.high))
        return SettledMeasure(self.name, self.summary, low, high, self.higher_is_better, self.facets)


@dataclass(frozen=True)
class SettledMeasure(Measure):
    """A measure whose bounds are numbers, for use in an evaluation."""

    low: float | None = None
    high: float | None = None


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
