"""The facets by which the scores of a measure are reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..api.facet_levels import split_levels
from ..api.metric_output import SettledMeasure
from ..api.prompt import Prompt

MOST_LEVELS = 1000
"""Largest number of levels of a facet that is estimated; the measurement table has the others."""


def list_facets(measures: Iterable[SettledMeasure], prompts: Sequence[Prompt]) -> list[str]:
    """Return the names of the facets of measures, each once; `*` stands for all facets of the prompts."""
    of_prompts = sorted({facet for prompt in prompts for facet in prompt.facets})
    named = (name for measure in measures for name in measure.facets)
    return list(dict.fromkeys(facet for name in named for facet in (of_prompts if name == "*" else [name])))


def count_levels(facet: str, prompts: Iterable[Prompt]) -> int:
    """Return the number of levels that prompts have of a facet."""
    return len({level for p in prompts if facet in p.facets for level in split_levels(p.facets[facet])})
