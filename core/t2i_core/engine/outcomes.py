"""What became of the samples that were asked for: counted, listed, and noted by metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..api.failure import Failure
from ..api.metric import Excluded, Note
from .ledger import Ledger
from .sample import Model, PlannedSample, SampleGrid


@dataclass
class Counts:
    """Numbers of a model's samples; for a metric of pairs, of the pairs that the model is in.

    Attributes:
        ok: Those that have a value.
        failed: Those without a value, because something failed.
        missing: Those whose images never existed.
        excluded: Those that the metric excludes.
    """

    ok: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0

    @property
    def tried(self) -> int:
        """How many could have a value: images that never existed have not failed."""
        return self.ok + self.failed

    @property
    def planned(self) -> int:
        """How many were asked for."""
        return self.ok + self.failed + self.missing + self.excluded


class LostSample(NamedTuple):
    """A sample or pair that has no value, and why."""

    models: tuple[str, ...]
    prompt: str
    seed: int
    reason: str
    kind: str


@dataclass
class Outcomes:
    """What became of the samples of a job.

    Attributes:
        counts: By model label.
        scored: Ids of the prompts that have a value, by model label.
        lost: All samples that have no value.
        notes: What the metric notes about what it measured, by model label, each with the number of units.
    """

    counts: dict[str, Counts]
    scored: dict[str, set[str]] = field(default_factory=dict)
    lost: list[LostSample] = field(default_factory=list)
    notes: dict[str, Counter[Note]] = field(default_factory=dict)

    @classmethod
    def of(cls, models: Iterable[Model]) -> Outcomes:
        """Return the outcomes of models before anything was measured."""
        return cls({model.label: Counts() for model in models})

    def add_notes(self, models: Sequence[Model], notes: Iterable[Note]) -> None:
        """Record what a metric notes about samples of models."""
        for note in notes:
            for model in models:
                self.notes.setdefault(model.label, Counter())[note] += 1

    def describe_notes(self, label: str, units: str) -> list[str]:
        """Return the notes about one model in words.

        Args:
            label: The model's label.
            units: What a unit of the metric is called, in the plural.
        """
        notes = self.notes.get(label, Counter())
        return [f"{n} {units}: {note.text}" if note.counted else note.text for note, n in notes.items()]

    def keep(self, models: Sequence[Model], samples: Sequence[PlannedSample]) -> None:
        """Count samples that have a value."""
        for model in models:
            self.counts[model.label].ok += len(samples)
            self.scored.setdefault(model.label, set()).update(sample.prompt.id for sample in samples)

    def lose(self, models: Sequence[Model], samples: Sequence[PlannedSample], why: Failure | Excluded) -> None:
        """Count and list samples that have no value; of two models on one prompt and seed, the first's."""
        kind = "excluded" if isinstance(why, Excluded) else "missing" if why.missing else "failed"
        labels = tuple(model.label for model in models)
        for label in labels:
            counts = self.counts[label]
            setattr(counts, kind, getattr(counts, kind) + len(samples))
        self.lost += [LostSample(labels, sample.prompt.id, sample.seed, why.reason, kind) for sample in samples]


def count_images(grids: Iterable[SampleGrid], ledger: Ledger) -> Iterator[Outcomes]:
    """Yield what became of each model's images, if nothing is measured.

    Args:
        grids: The samples of each model.
        ledger: Which images failed.
    """
    for grid in grids:
        outcomes = Outcomes.of([grid.model])
        for sample in grid:
            if (failure := ledger.images.get(sample.key)) is not None:
                outcomes.lose([grid.model], [sample], failure)
            else:
                outcomes.keep([grid.model], [sample])
        yield outcomes
