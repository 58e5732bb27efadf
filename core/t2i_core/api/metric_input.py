"""The input of a metric: the observations that it asks for (`Need`), and the units that it measures (`Unit`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .judge import Capability, Query
from .observation import find_capability
from .prompt import ObjectClass, Prompt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .array_codec import Arrays
    from .image import Image
    from .observation import Observation


@dataclass(frozen=True)
class Sample:
    """One model's image for one prompt and seed.

    Attributes:
        model: The model's label.
        prompt: The prompt.
        seed: The seed.
        image: The image; None if the metric needs no generated images.
        answers: For the queries of a need with `Need.after`: the answers to that need about the same item (for a
            pair, about both samples).
    """

    model: str
    prompt: Prompt
    seed: int
    image: Image | None = None
    answers: Sequence[Answer] = field(default=(), compare=False)

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
        per: `item` asks for each sample (for a `PairMetric`, for two samples of one prompt and seed); `run` asks
            once, about reference images or a pool of texts, with the answers in `Unit.shared`.
        queries: Returns the queries about one item's samples; per run, about one sample without an image for each
            prompt. By default the image alone, or image and prompt if the capability takes a text.
        params: For needs that the model itself answers: the `params` of the queries, as far as they are the same
            for all items, so that a model can refuse them before it is loaded.
        requires: Fields that the judge must give beyond the capability (`class_probs`, `colour`).
        knows: True if the judge must know every class of the prompts' scenes.
        classes: Returns the classes that queries about a prompt name besides those of its scene. A judge that does
            not know one of them is refused.
        confidence: For detections and segments, the lowest confidence that the metric uses, in [0, 1]; the judge
            must keep those above it.
        derive: Numbers to derive from image and observation.
        question: For the capability `answer`: the question in words, with a place in braces for everything that
            depends on the prompt, for readers of plans and documents.
        alternatives: Needs of other capabilities that may take this one's place, in order of preference. They have
            the same name, and the metric sees by the observation which one was served.
        replaces: For an alternative: names of needs, declared later, that it makes unnecessary.
        spares: Names of needs, declared later, that are unnecessary if the judge gives a field beyond the
            capability, by the field (`colour`).
        after: Name of a need, declared earlier, whose answers `queries` reads (`Sample.answers`). An item without
            these answers has failed. Both needs are asked for each item, about the same images.
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
    classes: Callable[[Prompt], Iterable[ObjectClass]] | None = None
    confidence: float = 1.0
    derive: Derive | None = None
    question: str = ""
    alternatives: tuple[Need, ...] = ()
    replaces: frozenset[str] = frozenset()
    spares: Mapping[str, frozenset[str]] = field(default_factory=dict)
    after: str = ""

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
        if self.after and (self.per == "run" or self.queries in (ask_about_image, ask_about_image_and_text)):
            raise ValueError(
                f"need {self.name!r}: a need after another is asked for each item, and `queries` says what"
            )
        for other in self.alternatives:
            alike = ("name", "source", "images", "per", "after")
            same = all(getattr(other, name) == getattr(self, name) for name in alike)
            if not same or self.source != "judge" or other.alternatives:
                raise ValueError(
                    f"need {self.name!r}: an alternative must have its name, ask a judge about the same images "
                    "after the same need, and have no alternatives itself"
                )
        if len({each.capability for each in self.ways}) < len(self.ways):
            raise ValueError(f"need {self.name!r}: its alternatives must be of different capabilities")

    @property
    def is_judged(self) -> bool:
        """True if a judge answers, neither the model itself nor core."""
        return self.source == "judge" and find_capability(self.capability).judged

    @property
    def ways(self) -> tuple[Need, ...]:
        """The need itself and its alternatives, in order of preference."""
        return (self, *self.alternatives)

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
class NeedJudge:
    """The judge that serves a need.

    Attributes:
        name: Its name without argument.
        labels: The classes that it declares; None if it declares none.
    """

    name: str
    labels: tuple[ObjectClass, ...] | None = None


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
        stacked: For a `StackedMetric`, instead of `observed`: by the need's name one observation of
            all the prompt's samples, its array with one more leading axis.
        seeds: For a prompt's unit, the seeds of its samples, in the order of `observed` or `stacked`.
        judges: The judges by the need's name; a need that the model itself answers has none.
    """

    models: tuple[str, ...]
    prompt: Prompt | None
    seed: int | None
    observed: Iterable[Observed]
    shared: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    stacked: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    judges: Mapping[str, NeedJudge] = field(default_factory=dict)

    def one(self) -> Observed:
        """Return the only sample or pair of the unit."""
        return next(iter(self.observed))
