"""Looks at a growing run that stops when an interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .design import Floats
from .estimate import Estimate, Form, Range
from .look_cells import has_values, read_cells, widen_constant
from .looks import Look
from .means import estimate_mean


def follow_width(
    table: Floats,
    looks: Sequence[Look],
    width: float,
    *,
    crossed: bool = True,
    bounds: Range = (None, None),
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """Return the plain interval of a mean at each look, up to the first that is narrow enough.

    It is NaN at a look without values, and infinite if values do not vary and no range limits them.

    A width is not a test and spends no error. At ten prompts and more, the interval of a run that stopped for its
    width is nearly that of a run of fixed size.

    Args:
        table: Values, shape (prompts, seeds) of the last look or larger; NaN for failed samples.
        looks: The looks.
        width: The run stops if the interval is at most this wide, from its lower to its upper end.
        crossed: True if prompts share their seeds.
        bounds: The range of the measure.
        level: The confidence level.
    """
    found: list[Estimate] = []
    for look in looks:
        if not has_values(table, look):
            found.append(Estimate(math.nan, math.nan, math.nan, "none", "new", 0))
            continue
        sample, design = read_cells(table, look, crossed=crossed)
        binary = sample.binary and bounds in ((None, None), (0, 1))
        form: Form = "wilson" if binary else "logit"
        own = (0.0, 1.0) if binary else bounds
        found.append(widen_constant(estimate_mean(sample, design, form=form, bounds=own, level=level), own))
        if found[-1].hi - found[-1].lo <= width:
            break
    return tuple(found)
