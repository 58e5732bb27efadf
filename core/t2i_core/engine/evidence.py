"""Evidence for a run's worst samples, for the readers of its report."""

from __future__ import annotations

from collections.abc import Iterator

from ..api.evidence import Evidence
from ..api.mask import PackedMask
from ..api.metric_output import Row
from ..results.evidence import EvidenceRegion, EvidenceRow, Segmentation
from .job import Job
from .unit_reader import Group

MOST = 100
"""Number of rows with evidence for each measure and model, or pair of models; bounds memory and files."""


class EvidenceKeeper:
    """Keeps the evidence of the worst rows of each measure of a metric and model.

    The worst have the lowest value, or the highest if lower is better, or come first if neither is.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, ...], list[tuple[float, EvidenceRow]]] = {}

    def add(self, job: Job, group: Group, row: Row) -> None:
        """Add the evidence of a row, if it has any."""
        unit = group.unit
        if not row.evidence or unit.prompt is None:
            return
        higher_is_better = job.measures_by_name[row.measure].higher_is_better
        goodness = 0.0 if higher_is_better is None else row.value if higher_is_better else -row.value
        found = EvidenceRow(
            metric=job.metric.spec,
            by=job.by,
            models=list(unit.models),
            prompt=unit.prompt.id,
            seed=unit.seed,
            measure=row.measure,
            value=row.value,
            because=row.because,
            regions=[_make_region(each) for each in row.evidence],
        )
        own = self._rows.setdefault((job.title, row.measure, *unit.models), [])
        own.append((goodness, found))
        if len(own) >= 2 * MOST:
            _keep_worst(own)

    def rows(self) -> Iterator[EvidenceRow]:
        """Yield the collected rows, measure by measure and model by model, the worst first."""
        for own in self._rows.values():
            _keep_worst(own)
            yield from (row for _, row in own)


def _keep_worst(rows: list[tuple[float, EvidenceRow]]) -> None:
    rows.sort(key=lambda each: each[0])  # stable: the first of equal rows stay
    del rows[MOST:]


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
