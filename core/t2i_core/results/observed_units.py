"""Units of observed samples and their rows: the same for judges of a run and for people who label a stored one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..api.failure import Failure
from ..api.metric_input import Answer, NeedJudge, Observed, Sample, Unit
from ..api.metric_output import Row, Rows
from .measurement_table import TableBuilder
from .metric_rows import seeds_of


def join_answers(
    samples: tuple[Sample, ...], answers: Mapping[str, Sequence[Answer] | Failure]
) -> Observed | Failure:
    """Return samples with their answers, or the first failure.

    Args:
        samples: The sample, or both samples of a pair.
        answers: The answers to each need, or why it has none, by the need's name.
    """
    whole: dict[str, Sequence[Answer]] = {}
    for name, found in answers.items():
        if isinstance(found, Failure):
            return found
        whole[name] = found
    return Observed(samples, whole)


def make_sample_unit(
    observed: Observed,
    shared: Mapping[str, Sequence[Answer]] | None = None,
    judges: Mapping[str, NeedJudge] | None = None,
) -> Unit:
    """Return the unit of a sample or a pair.

    Args:
        observed: It, with its answers.
        shared: The answers to needs that are asked once per run, by the need's name.
        judges: The judges by the need's name.
    """
    models = tuple(sample.model for sample in observed.samples)
    return Unit(models, observed.prompt, observed.sample.seed, (observed,), shared or {}, judges=judges or {})


def add_row(builder: TableBuilder, unit: Unit, row: Row | Rows, columns: Mapping[str, Any]) -> None:
    """Add a unit's row to a table: one value, or one for each of its samples.

    Args:
        builder: The table.
        unit: The unit.
        row: Its row.
        columns: What tells the row apart.
    """
    if isinstance(row, Rows):
        reasons = {"because": [each or None for each in row.because]} if any(row.because) else {}
        builder.extend(row.values, columns, {"seed": seeds_of(unit, row), **reasons})
    else:
        builder.append(row.value, columns)
