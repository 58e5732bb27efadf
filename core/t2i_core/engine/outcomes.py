"""Outcomes of samples: counted, listed, and noted by metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..api.failure import Failure
from ..api.metric_output import Excluded, Note
from .query_index import Failures
from .sample import Model, PlannedSample, SampleGrid


@dataclass
class Counts:
    """Numbers of a model's samples; for a metric of pairs, of the pairs that the model is in.

    Attributes:
        ok: Samples with a value.
        failed: Samples without a value because something failed.
        missing: Samples whose images never existed, or that nobody was asked about.
        excluded: Samples that the metric excludes.
    """

    ok: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0

    @property
    def tried(self) -> int:
        """Number of samples that could have a value: images that never existed have not failed."""
        return self.ok + self.failed

    @property
    def planned(self) -> int:
        """Number of requested samples."""
        return self.ok + self.failed + self.missing + self.excluded


class LostSample(NamedTuple):
    """A sample or pair without a value.

    Attributes:
        models: Label of its model, or of the two models of a pair.
        prompt: The prompt's id.
        seed: The seed.
        reason: Why it has no value.
        kind: `failed`, `missing` or `excluded`.
    """

    models: tuple[str, ...]
    prompt: str
    seed: int
    reason: str
    kind: str


@dataclass
class Outcomes:
    """The outcomes of a job's samples.

    Attributes:
        counts: Numbers of samples by model label.
        scored: Ids of the prompts with a value, by model label.
        lost: All samples without a value.
        notes: The metric's notes, by model label, each with the number of units.
    """

    counts: dict[str, Counts]
    scored: dict[str, set[str]] = field(default_factory=dict)
    lost: list[LostSample] = field(default_factory=list)
    notes: dict[str, Counter[Note]] = field(default_factory=dict)

    @classmethod
    def of(cls, models: Iterable[Model]) -> Outcomes:
        """Return the outcomes of models before anything is measured."""
        return cls({model.label: Counts() for model in models})

    def add_notes(self, models: Sequence[Model], notes: Iterable[Note]) -> None:
        """Add a metric's notes about samples of models."""
        for note in notes:
            for model in models:
                self.notes.setdefault(model.label, Counter())[note] += 1

    def describe_notes(self, label: str, units: str) -> list[str]:
        """Return the notes about one model in words.

        Args:
            label: The model's label.
            units: The metric's word for its units, in the plural.
        """
        notes = self.notes.get(label, Counter())
        return [f"{n} {units}: {note.text}" if note.counted else note.text for note, n in notes.items()]

    def keep(self, models: Sequence[Model], samples: Sequence[PlannedSample]) -> None:
        """Count samples that have a value."""
        for model in models:
            self.counts[model.label].ok += len(samples)
            self.scored.setdefault(model.label, set()).update(sample.prompt.id for sample in samples)

    def lose(self, models: Sequence[Model], samples: Sequence[PlannedSample], why: Failure | Excluded) -> None:
        """Count and list samples without a value; of a pair of models, those of the first are given."""
        kind = "excluded" if isinstance(why, Excluded) else "missing" if why.missing else "failed"
        labels = tuple(model.label for model in models)
        for label in labels:
            counts = self.counts[label]
            setattr(counts, kind, getattr(counts, kind) + len(samples))
        self.lost += [LostSample(labels, sample.prompt.id, sample.seed, why.reason, kind) for sample in samples]


def count_images(grid: SampleGrid, without_image: Failures) -> Outcomes:
    """Return the outcome of a model's images if nothing is measured.

    Args:
        grid: The samples of the model.
        without_image: Why samples have no image, by their keys.
    """
    outcomes = Outcomes.of([grid.model])
    for sample in grid:
        if (failure := without_image.get(sample.key)) is not None:
            outcomes.lose([grid.model], [sample], failure)
        else:
            outcomes.keep([grid.model], [sample])
    return outcomes
