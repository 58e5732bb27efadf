"""Evidence for a run's worst samples, for the readers of its report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from ..api.evidence import Evidence
from ..api.mask import PackedMask
from ..api.metric_output import Row
from ..results.evidence import EvidenceRegion, EvidenceRow, Segmentation
from .job import Job
from .unit_reader import Group

MOST = 100
"""Number of rows with evidence for each measure and model, or pair of models; bounds memory and files."""


@dataclass
class _WorstRows:
    """The worst rows of a measure so far; their regions are encoded only if they are still kept at the end.

    Attributes:
        rows: A number that is low for bad rows, and a function that returns the row.
        limit: A row that is not below it is not among the worst.
    """

    rows: list[tuple[float, Callable[[], EvidenceRow]]] = field(default_factory=list)
    limit: float = math.inf

    def add(self, goodness: float, make: Callable[[], EvidenceRow]) -> None:
        """Add a row if it may be among the worst."""
        if goodness < self.limit:
            self.rows.append((goodness, make))
            if len(self.rows) >= 2 * MOST:
                self.trim()
                self.limit = self.rows[-1][0]

    def trim(self) -> None:
        """Sort the rows, the worst first, and drop all but the worst."""
        self.rows.sort(key=lambda each: each[0])  # stable: the first of equal rows stay
        del self.rows[MOST:]


class EvidenceKeeper:
    """Keeps the evidence of the worst rows of each measure of a metric and model.

    The worst have the lowest value, or the highest if lower is better, or come first if neither is.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, ...], _WorstRows] = {}

    def add(self, job: Job, group: Group, row: Row) -> None:
        """Add the evidence of a row, if it has any."""
        unit = group.unit
        if not row.evidence or unit.prompt is None:
            return
        higher_is_better = job.measures_by_name[row.measure].higher_is_better
        goodness = 0.0 if higher_is_better is None else row.value if higher_is_better else -row.value
        own = self._rows.setdefault((job.title, row.measure, *unit.models), _WorstRows())
        own.add(goodness, partial(_make_row, job.metric.spec, job.by, unit.models, unit.prompt.id, unit.seed, row))

    def rows(self) -> Iterator[EvidenceRow]:
        """Yield the collected rows, measure by measure and model by model, the worst first."""
        for own in self._rows.values():
            own.trim()
            yield from (make() for _, make in own.rows)


def _make_row(
    metric: str, by: str | None, models: tuple[str, ...], prompt: str, seed: int | None, row: Row
) -> EvidenceRow:
    return EvidenceRow(
        metric=metric,
        by=by,
        models=list(models),
        prompt=prompt,
        seed=seed,
        measure=row.measure,
        value=row.value,
        because=row.because,
        regions=[_make_region(each) for each in row.evidence],
    )


def _make_region(evidence: Evidence) -> EvidenceRegion:
    box = evidence.box if evidence.box is not None or evidence.mask is None else evidence.mask.box
    return EvidenceRegion(
        label=evidence.label,
        box=None if box is None else [float(side) for side in box],
        segmentation=None if evidence.mask is None else _encode_mask(evidence.mask),
        seed=evidence.seed,
        model=evidence.model,
    )


def _encode_mask(mask: PackedMask) -> Segmentation:
    width, height = mask.size
    return Segmentation(size=[height, width], counts=mask.count_runs())
