"""The number of prompts that a comparison without a verdict needs, from its variances."""

from __future__ import annotations

from ..api.metric_output import SettledMeasure
from ..statistics import PairedDifference
from ..statistics.needed_design import MARGIN, POWER, find_needed_design, read_components
from ..statistics.power import find_power
from .sample_need import FIXED_PROMPTS, SampleNeed


def make_sample_need(compared: PairedDifference, measure: SettledMeasure) -> SampleNeed | None:
    """Return the design that would show a difference of the default margin.

    Args:
        compared: A comparison, whose variances are the pilot's.
        measure: The measure that is compared.

    Returns:
        The design. None if the measure has no range, so that no margin is known; if nothing varies; or if the
        interval holds the prompts fixed or is one over people.
    """
    if measure.low is None or measure.high is None or not compared.terms:
        return None
    if compared.question == FIXED_PROMPTS or "annotators" in compared.question:
        return None
    found = find_needed_design(compared.terms)
    if found is None:
        return None
    own = read_components(compared.terms)
    return SampleNeed(
        margin=MARGIN,
        power=POWER,
        prompts=found.prompts,
        seeds=found.seeds,
        reached=find_power(own, own.prompts, own.seeds, MARGIN) >= POWER,
    )
