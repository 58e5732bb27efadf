"""The output of a metric: the rows that it measures, and the meaning of each kind of row (`Measure`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .evidence import Evidence
from .options import Options, resolve_number
from .text import fit_one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_ROUNDING = 1e-9


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
    """One measured value for each of a prompt's samples, for a `PromptMetric`: a row for each seed.

    Attributes:
        measure: The name of one of the metric's measures.
        values: float64, finite, shape (number of seeds,).
        facets: Facets of the values beyond prompt and seed.
        seeds: The seeds of the samples. If None, those of the unit.
        together: True if each value depends on all of the unit's samples; then only prompts with the same samples
            are compared between models.
        because: Why each value is what it is, in words, as for a `Row`; empty if no value has a reason.
    """

    measure: str
    values: NDArray[np.float64]
    facets: Mapping[str, str | int | float] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None
    together: bool = False
    because: Sequence[str] = ()


@dataclass(frozen=True)
class Excluded:
    """A unit that has no value and needs none (no person is visible, a synset has one leaf).

    Attributes:
        reason: The reason in one line, as for a Failure.
    """

    reason: str

    def __post_init__(self) -> None:
        _fit_text(self, "reason")


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
        _fit_text(self, "text")


def _fit_text(instance: Excluded | Note, name: str) -> None:
    """Fit a field of a frozen instance into one line; raise TypeError if it is not a text."""
    text = getattr(instance, name)
    if not isinstance(text, str):
        raise TypeError(f"the {name} of {type(instance).__name__} must be a text, got {type(text).__name__}")
    object.__setattr__(instance, name, fit_one_line(text))


@dataclass(frozen=True)
class Measure:
    """The meaning of one kind of row.

    Attributes:
        name: Its name in rows.
        summary: One line.
        low: Lower bound of the value: a number, or the name of the metric's option, or property of its options,
            that has it; None if the value is unbounded. No value may lie outside the bounds, and no interval
            exceeds them.
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

    def holds(self, value: float) -> bool:
        """Return whether a value lies within the bounds, which rounding may exceed a little."""
        above = self.low is None or value >= self.low - _ROUNDING
        return above and (self.high is None or value <= self.high + _ROUNDING)
