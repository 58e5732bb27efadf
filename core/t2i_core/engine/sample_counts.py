"""What became of the samples of a metric's job: counted, listed, remarked on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..api.failure import Failure
from ..api.metric import Excluded, Note
from .sample import Model, PlannedSample


@dataclass
class Counts:
    """What became of a model's samples (or, for pairs, of the pairs that it is in)."""

    ok: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0


class Lost(NamedTuple):
    """One sample or pair that has no value, and why."""

    models: tuple[str, ...]
    prompt: str
    seed: int
    reason: str
    kind: str


@dataclass
class Measured:
    """What became of a job's samples, beside the rows.

    counts:  by model label
    scored:  ids of prompts that have a value, by model label
    lost:    all that have no value
    notes:   what the metric says of what it measured, by model label, and of how many units
    """

    counts: dict[str, Counts]
    scored: dict[str, set[str]] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    notes: dict[str, Counter[Note]] = field(default_factory=dict)

    def remark(self, models: Sequence[Model], notes: Iterable[Note]) -> None:
        """Keep what is said of models' samples."""
        for note in notes:
            for model in models:
                self.notes.setdefault(model.label, Counter())[note] += 1

    def said(self, label: str, units: str) -> list[str]:
        """Return what is said of a model's units, which are called so."""
        notes = self.notes.get(label, Counter())
        return [f"{n} {units}: {note.text}" if note.counted else note.text for note, n in notes.items()]

    def keep(self, models: Sequence[Model], samples: Sequence[PlannedSample]) -> None:
        """Count samples that have a value."""
        for model in models:
            self.counts[model.label].ok += len(samples)
            self.scored.setdefault(model.label, set()).update(sample.prompt.id for sample in samples)

    def lose(self, models: Sequence[Model], samples: Sequence[PlannedSample], why: Failure | Excluded) -> None:
        """Count samples that have none, and list them; of two models on one prompt and seed, the first's."""
        kind = "excluded" if isinstance(why, Excluded) else "missing" if why.missing else "failed"
        labels = tuple(model.label for model in models)
        for label in labels:
            counts = self.counts[label]
            setattr(counts, kind, getattr(counts, kind) + len(samples))
        self.lost += [Lost(labels, sample.prompt.id, sample.seed, why.reason, kind) for sample in samples]
