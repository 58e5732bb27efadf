"""The metric's contract: what it needs to be observed, and the rows it measures.

A metric never asks for a model. It says which capabilities it needs (`Need`), over which units it measures
(`group_by`), and turns each unit's observations into rows of one table. Means, intervals, facets and comparisons
are core's; a metric whose score is no mean of rows overrides `aggregate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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

    class MeanOf(Protocol):
        """Forms the interval of the mean of some rows, all of one measure, as the run asks."""

        def __call__(self, rows: pd.DataFrame, level: float = 0.95) -> Estimate:
            """Return the mean with its interval."""
            ...


GroupBy = Literal["sample", "prompt", "model", "pair"]


@dataclass(frozen=True)
class Sample:
    """One model's answer to one prompt under one seed.

    model:  the model's label
    image:  None where the metric needs no generated images
    """

    model: str
    prompt: Prompt
    seed: int
    image: Image | None = None

    def query(self) -> Query:
        """Ask about the image alone."""
        return Query(images=(self._image(),))

    def query_with_text(self) -> Query:
        """Ask about the image and the prompt's text."""
        return Query(images=(self._image(),), texts=(self.prompt.text,))

    @property
    def own_images(self) -> tuple[Image, ...]:
        """The images that belong to the prompt itself. Raises DamagedImage where one cannot be read."""
        from .image import load_image

        return tuple(load_image(Path(path)) for path in self.prompt.images)

    def _image(self) -> Image:
        if self.image is None:
            raise ValueError("this sample has no generated image: its metric declared that it needs none")
        return self.image


def ask_about_image(samples: Sequence[Sample]) -> Sequence[Query]:
    """One query for the first sample's image: what most metrics ask."""
    return [samples[0].query()]


def ask_about_image_and_text(samples: Sequence[Sample]) -> Sequence[Query]:
    """One query for the first sample's image and its prompt: what a reward is about."""
    return [samples[0].query_with_text()]


@dataclass(frozen=True)
class Derive:
    """Numbers to take from an image together with its observation, while the image is open.

    They are kept beside the observation, so that another threshold opens no image.

    function:  takes pixels (uint8, height x width x 3) and the observation, gives named arrays; the metric's code
               (`MetricInfo.code`) is part of the key under which they are kept; so is the function itself, where
               the metric is of no installed distribution
    options:   plain data that it depends on beyond its arguments
    """

    name: str
    function: Callable[[NDArray[np.uint8], Any], Arrays]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Need:
    """One kind of observation that a metric needs.

    name:        how the metric finds the answers
    capability:  what is asked; `pixels` where the metric measures images by itself: no judge is needed, and
                 `derive` says what it takes from each
    source:      `judge`, or `model` where the model itself must answer (its own likelihood)
    images:      `generated`, or `prompt` where the queries are about the prompt's own images or texts alone
    per:         `item`: asked for each sample (or, grouped by pair, for two samples of one prompt and seed);
                 `run`: asked once, about reference images or a pool of texts; the answers are in `Unit.shared`
    queries:     the queries for one item's samples; per run, for samples without images, one of each prompt. By
                 default the image alone, or image and prompt if the capability wants a text
    params:      of a need that the model itself answers: the `params` of an item's queries, as far as they are the
                 same for all items, so that a model can refuse them before it is loaded
    requires:    what the judge must give beyond the capability (`class_probs`, `colour`)
    knows:       the judge must know every class of the prompts' scenes
    confidence:  of detections and segments: the metric looks at those from here on, so the judge must keep them
    derive:      numbers to take from image and observation
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
                f"need {self.name!r}: {self.capability} are not kept; say with `derive` what to take from them"
            )
        if self.per == "run" and (self.images == "generated" or self.derive is not None):
            raise ValueError(
                f"need {self.name!r}: asked once per run, it has no generated images and derives nothing"
            )

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
    """One observation with what was derived from it."""

    observation: Any
    derived: Arrays


@dataclass(frozen=True)
class Observed:
    """A sample, or a pair of samples, with the answers to its queries."""

    samples: tuple[Sample, ...]
    answers: Mapping[str, Sequence[Answer]]

    @property
    def sample(self) -> Sample:
        """The sample (of a pair, the first)."""
        return self.samples[0]

    @property
    def prompt(self) -> Prompt:
        """The prompt that was drawn."""
        return self.samples[0].prompt

    def one(self, need: str) -> Any:
        """The observation of a need with one query."""
        return self.answers[need][0].observation

    def all(self, need: str) -> list[Any]:
        """The observations of a need, in the order of its queries."""
        return [a.observation for a in self.answers[need]]

    def derived(self, need: str) -> Arrays:
        """What was derived from the observation of a need with one query."""
        return self.answers[need][0].derived


@dataclass(frozen=True)
class Unit:
    """What rows are measured from: a sample, a prompt's samples, a model's set, or two models on one prompt.

    models:    the model's label; for a pair, two
    prompt:    None for a model's set
    seed:      None for a prompt's samples and for a model's set
    observed:  read from the store while it is iterated; iterating again reads again. Samples that failed are
               left out (and counted by core); a sample or pair that failed makes no unit at all
    shared:    the answers to needs that are asked once per run, by the need's name
    stacked:   for a metric that says so (`Metric.stacked`), in place of `observed`: by the need's name one
               observation of all the prompt's samples, its array with one axis more in front
    seeds:     of a prompt's unit: whose samples it holds, in the order of `observed` or `stacked`
    """

    models: tuple[str, ...]
    prompt: Prompt | None
    seed: int | None
    observed: Iterable[Observed]
    shared: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    stacked: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()

    def one(self) -> Observed:
        """The only sample or pair of the unit."""
        return next(iter(self.observed))


@dataclass(frozen=True)
class Row:
    """One measured value.

    Attributes:
        measure: The name of one of the metric's measures.
        value: The number; NaN is an error, not a value.
        facets: What it can be broken down by beyond prompt and seed.
        because: Why the value is what it is, in words: ``giraffe not found``. The measurement table has it.
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
            raise TypeError("evidence must hold objects of Evidence alone")


@dataclass(frozen=True)
class Rows:
    """One measured value for each of a prompt's samples, for metrics grouped by prompt: a row for each seed.

    values:   float64, as many as seeds, finite
    seeds:    whose samples those are; all of the unit's by default
    together: each value depends on all of the unit's samples: models are compared where they have the same
    """

    measure: str
    values: NDArray[np.float64]
    facets: Mapping[str, str | int | float] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None
    together: bool = False


@dataclass(frozen=True)
class Excluded:
    """That a unit has no value and need not have one (no person to be seen, a synset with one leaf), and why.

    reason: as a Failure's
    """

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise TypeError(f"what is excluded has a reason in words, not {type(self.reason).__name__}")
        object.__setattr__(self, "reason", fit_one_line(self.reason))


@dataclass(frozen=True)
class Note:
    """What a reader of a score must know of the images that it was measured on (they are too few for it, say).

    text:    a sentence; stands with the result's other notes, once
    counted: whether the number of units that it is said of stands before it
    """

    text: str
    counted: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"a note is in words, not {type(self.text).__name__}")
        object.__setattr__(self, "text", fit_one_line(self.text))


@dataclass(frozen=True)
class Measure:
    """What one kind of row means.

    low, high:  bounds of the value: a number, or the name of an option of the metric that has it; None where there
                is none. No value may lie outside, and no interval is told beyond
    higher_is_better: None where neither
    facets:     columns that its mean is reported by: facets of its rows, `prompt`, `seed`, or facets of prompts
    """

    name: str
    summary: str
    low: float | str | None = None
    high: float | str | None = None
    higher_is_better: bool | None = True
    facets: tuple[str, ...] = ()

    def settled(self, options: Options) -> SettledMeasure:
        """Return the same with the numbers that its bounds are under these options.

        Raises ValueError where a bound is none of them.
        """
        low, high = (resolve_number(bound, options) for bound in (self.low, self.high))
        return SettledMeasure(self.name, self.summary, low, high, self.higher_is_better, self.facets)


@dataclass(frozen=True)
class SettledMeasure(Measure):
    """A measure whose bounds are numbers: what an evaluation works with."""

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Study:
    """What analyses are made from.

    table:    the metric's measured rows of all models
    samples:  one row per image: model, prompt, text, seed, status, digest, ...; the image itself is in `images`
    folder:   the run's folder
    others:   measured rows of the run's other metrics, which the column `metric` names; None where there are none
    settings: by each model's label, its values of the options that any of the models was given
    interval: the question of the run's intervals, for `t2i_core.statistics`
    floors:   by the name of a need of detections or segments: the confidence below which its judge keeps none
    measures: by metric, as `others` names it: what it measures, the headline first; of each that is installed
    find_images: returns the `Image` of each row of `samples` that has one; called when `images` is first read
    """

    table: pd.DataFrame
    samples: pd.DataFrame
    folder: Path
    others: pd.DataFrame | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    interval: Literal["new", "prompts", "seeds"] = "new"
    floors: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Sequence[Measure]] = field(default_factory=dict)
    find_images: Callable[[], pd.Series] | None = None

    @cached_property
    def images(self) -> pd.Series:
        """The `Image` of each row of `samples`, under its index; None where there is none.

        Do not open the files that `samples` names: the run may come from somebody else. The pixels of an image
        that is gone, or that may not be shown, raise DamagedImage.

        Raises:
            ValueError: If the study was made without `find_images`.
        """
        if self.find_images is None:
            raise ValueError("this study was made without images: give it `find_images`")
        return self.find_images()


@dataclass(frozen=True)
class Analysis:
    """A table, with an optional figure, made from the measured table.

    figure: draws on a matplotlib Axes
    """

    name: str
    summary: str
    table: pd.DataFrame
    figure: Callable[[Any], None] | None = None


class Metric:
    """Base of metrics. A subclass sets `needs` and implements `measure`.

    needs:        the observations it needs (an instance may compute them from its options)
    group_by:     over what `measure` is called
    crossed:      whether the same seeds serve all prompts and are resampled too
    strata:       a facet of prompts within which prompts are resampled
    stacked:      grouped by prompt: answers come as arrays of all its samples (`Unit.stacked`), read in bulk. For
                  needs that ask for each generated image alone and take a vector: classify, embed, features
    aggregates:   measures whose rows `aggregate` reads, all where it is None. Where those have seeds, seeds are
                  resampled too, whatever the others are
    upper_bound:  a generator, as the user would name it, that draws what prompts ask for: its images are judged by
                  the same judges on the same prompts and seeds, and its score stands beside each model's
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
        """Refuse prompts that cannot be measured, before anything runs: raises BadPrompts."""

    def measure(self, unit: Unit) -> Iterable[Row | Rows | Note | Failure | Excluded]:
        """Turn one unit's observations into rows.

        A unit that has no value gives a Failure (its samples count as failed) or Excluded instead of rows. Notes
        may come with either; those on a set without one of its blocks are left out.
        Grouped by model, it is called once for the whole set and once more for each of 20 leave-one-block-out
        subsets, and gives one row per measure.
        """
        raise NotImplementedError

    def aggregate(self, table: pd.DataFrame, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return, by name, the scores that are no plain means of rows; a metric of means needs none of this.

        The table holds the rows of the measures that `aggregates` names, in the columns measure, value, model (or
        model_a, model_b), prompt, seed, and the facets; weights, float64 of shape (len(table),), say how often
        each row counts. Grouped by pair, it gives one score per model label, and any others by name (a position
        bias), which are shown with every model. Core resamples whatever it returns by calling it with other
        weights. Measures that it does not name get the mean of their rows.
        """
        return {}

    def remarks(self, table: pd.DataFrame) -> Iterable[Note]:
        """Say what a reader of the scores must know of all rows together, in columns as those of `aggregate`."""
        return ()

    def estimates(self, table: pd.DataFrame, mean: MeanOf) -> Mapping[str, Estimate | None]:
        """Return, by name, the scores whose intervals are not core's to form, but follow from those of means.

        The table has columns as that of `aggregate`, and all rows of one model or of one level of a facet; `mean`
        forms the interval of some of them, all of one measure, as the run asks; at a higher level where several
        must hold together. None leaves a measure out whose mean over all rows says nothing; its facets stay. What
        `aggregate` returns too is taken from here, and from there where models are compared. Metrics of sets and
        pairs are not asked.
        """
        return {}

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield tables and figures from what was measured."""
        yield from ()


ReadT = TypeVar("ReadT")

_TABLES = 4
"""So many tables are remembered, the last ones."""


class PerTable(Generic[ReadT]):
    """What `aggregate` reads from a table before weights count, worked out once for each table.

    Core calls it a thousand times with one table and, where models are compared, with theirs by turns.
    """

    def __init__(self, read: Callable[[pd.DataFrame], ReadT]) -> None:
        self._read = read
        self._known: list[tuple[pd.DataFrame, ReadT]] = []

    def __call__(self, table: pd.DataFrame) -> ReadT:
        """Return what `read` makes of a table, which nobody may alter afterwards."""
        for known, found in self._known:
            if known is table:
                return found
        found = self._read(table)
        self._known = [(table, found), *self._known[: _TABLES - 1]]
        return found
