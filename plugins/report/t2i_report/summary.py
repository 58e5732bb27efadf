"""Everything on a page that is made from results alone: headline, answers, models, differences, meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .citation import Citation
from .judges import ReadJudge
from .metric_results import MetricResults
from .plots.facet_map import FacetMap, draw_facet_maps
from .plots.forest import Forest, draw_forests
from .reading import MetricReading, read_metrics
from .words.answers import PageAnswers, answer
from .words.headline import Headline, write_headline


@dataclass(frozen=True)
class ResultSummary:
    """Sections of a page about the results of a run, or of a comparison.

    Attributes:
        name: Name of the run.
        headline: Title and paragraph.
        answers: The five answers.
        forests: The models beside each other.
        maps: Where the models differ.
        readings: What each metric means.
    """

    name: str
    headline: Headline
    answers: PageAnswers
    forests: Sequence[Forest]
    maps: Sequence[FacetMap]
    readings: Sequence[MetricReading]

    @property
    def is_single(self) -> bool:
        """True if one model was measured."""
        return all(forest.group.is_single for forest in self.forests)


def summarize(
    name: str,
    groups: Sequence[MetricResults],
    judges: Sequence[ReadJudge],
    citation: Citation,
    faults: list[str],
    *,
    failed: str | None = None,
    stopped: str | None = None,
) -> ResultSummary:
    """Return the sections about results.

    Args:
        name: Name of the run.
        groups: The results by metric.
        judges: The judges.
        citation: Command and references.
        faults: Receives why figures are left out.
        failed: Why the run failed; None if it did not.
        stopped: The verdict of a run that stops early.
    """
    return ResultSummary(
        name,
        write_headline(groups, failed, stopped),
        answer(groups, judges, citation),
        draw_forests(groups, faults),
        draw_facet_maps(groups, faults),
        read_metrics(groups),
    )
