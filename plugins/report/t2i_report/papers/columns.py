"""Columns of a paper's table: headline scores, named scores and levels of facets, as `--columns` names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from t2i_core.api.errors import UnknownName
from t2i_core.results.result import Result, Score

from .groups import PaperGroup


@dataclass(frozen=True)
class PaperColumn:
    """A column of scores.

    Attributes:
        group: The metric and its models.
        measure: Name of the measure; None for the headline.
        facet: Name of the facet; None for a score over all samples.
        level: Its level.
    """

    group: PaperGroup
    measure: str | None = None
    facet: str | None = None
    level: str = ""

    @property
    def title(self) -> str:
        """The title of the column."""
        measure, place = self.measure, self.facet and f"{self.facet} = {self.level}"
        if measure is None:
            return self.group.first.headline.replace(self.group.first.title, self.group.title, 1)
        if place is None or measure == next(iter(self.group.first.scores), None):
            return f"{self.group.title}: {place or measure}"
        return f"{self.group.title}: {measure}, {place}"

    @property
    def higher_is_better(self) -> bool | None:
        """True if a higher score is better; None if neither is, or the metric is not installed."""
        if self.measure is None:
            return self.group.first.higher_is_better
        return next((m.higher_is_better for m in self.group.measures if m.name == self.measure), None)

    def find_score(self, model: str) -> Score | None:
        """Return a model's score; None if it has none."""
        entry = self.group.entries.get(model)
        if entry is None:
            return None
        result = entry.result
        if self.measure is None:
            return Score(value=result.score, ci=result.ci or [None, None])
        if self.facet is None:
            return result.scores.get(self.measure)
        return result.facets.get(self.measure, {}).get(self.facet, {}).get(self.level)


def choose_columns(groups: Sequence[PaperGroup], wanted: Sequence[str]) -> list[PaperColumn]:
    """Return the columns of a table.

    Args:
        groups: The metrics with their results.
        wanted: The columns: `geneval`, `geneval.counting` (a score by its name), `tiam.n` (a facet, a column for
            each level), `tiam.n=2`; also several, separated by commas. If empty, all headline scores.

    Raises:
        UnknownName: If the results have no such score.
    """
    if not wanted:
        return [PaperColumn(group) for group in groups]
    return [column for text in wanted for column in _read(groups, text)]


def _read(groups: Sequence[PaperGroup], text: str) -> list[PaperColumn]:
    found = [column for group in groups for column in _find(group, text)]
    if found:
        return found
    first, comma, rest = text.partition(",")
    if comma:
        return [column for part in (first, rest) for column in _read(groups, part.strip())]
    name, _, level = text.partition("=")
    if levels := list(
        dict.fromkeys(each.level for group in groups for each in _find(group, name) if each.facet is not None)
    ):
        raise UnknownName.among("level", level, levels, f"{name} has {_list_some(levels)}")
    raise UnknownName.among(
        "column", text, names := list(dict.fromkeys(_list_names(groups))), f"the runs have {_list_some(names)}"
    )


def _find(group: PaperGroup, text: str) -> Iterator[PaperColumn]:
    for name in dict.fromkeys((group.first.metric, group.title)):
        if text == name:
            yield PaperColumn(group)
            return
        if text.startswith(f"{name}."):
            yield from _find_part(group, text.removeprefix(f"{name}."))
            return


def _find_part(group: PaperGroup, text: str) -> Iterator[PaperColumn]:
    results = [each.result for each in group.entries.values()]
    if any(text in result.scores for result in results):
        yield PaperColumn(group, text)
        return
    for measure, facet in _list_facets(results):
        levels = list(dict.fromkeys(level for result in results for level in _list_levels(result, measure, facet)))
        for name in (facet, f"{measure}.{facet}"):
            chosen = [level for level in levels if text in (name, f"{name}={level}")]
            if chosen:
                yield from (PaperColumn(group, measure, facet, level) for level in chosen)
                return


def _list_facets(results: Sequence[Result]) -> dict[tuple[str, str], None]:
    """Return each measure with each of its facets, those of the headline first."""
    return {
        (measure, facet): None
        for result in results
        for measure in result.facets
        for facet in result.facets[measure]
    }


def _list_levels(result: Result, measure: str, facet: str) -> Sequence[str]:
    return list(result.facets.get(measure, {}).get(facet, {}))


def _list_names(groups: Sequence[PaperGroup]) -> Iterator[str]:
    for group in groups:
        metric = group.first.metric
        yield metric
        results = [each.result for each in group.entries.values()]
        yield from (f"{metric}.{name}" for result in results for name in result.scores)
        yield from (f"{metric}.{facet}" for _, facet in _list_facets(results))


def _list_some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{', '.join(names[:_MOST])}{more}"


_MOST = 12
"""Maximum number of columns or levels that a message lists."""
