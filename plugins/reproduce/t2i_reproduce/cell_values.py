"""The measured values of cells: scores, differences of two models' scores, and values of analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from t2i_core.results.analysis import StoredMetrics, analyze_run, list_metrics
from t2i_core.results.table_format import find_intervals

from .paper import Source
from .paper_runs import NeededRun

if TYPE_CHECKING:
    from t2i_core.api.resolver import Resolver
    from t2i_core.api.study import Analysis
    from t2i_core.results.result import Result
    from t2i_core.results.run import Run


@dataclass(frozen=True)
class MeasuredValue:
    """A measured value.

    Attributes:
        value: A number, or a text such as the name of the best model. A cell never has None.
        ci: 95 % confidence interval of a number; None without one.
        run: Folder of the run.
        spread: A standard deviation that the paper prints beside the value, not an error of it; None if the paper
            prints none.
    """

    value: float | str | None
    ci: tuple[float, float] | None = None
    run: str = ""
    spread: float | None = None


class NoValue(LookupError):
    """A run does not give the value that a cell asks for; the message says what is missing."""


class Unmeasured(NoValue):
    """A run has no value for a good reason: a subset has no valid samples, or people have not answered yet."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run of a paper.

    Attributes:
        run: The run.
        needed: Its description.
        folders: Folders of the paper's finished runs by name, this one's too.
        resolver: Finds components by name.
    """

    run: Run
    needed: NeededRun
    folders: Mapping[str, str]
    resolver: Resolver[Any] = field(repr=False)

    @cached_property
    def analyses(self) -> Sequence[tuple[str, Analysis]]:
        """All analyses of the run, each with the title of its metric."""
        options = self.needed.list_analysis_options(self.folders)
        return list(analyze_run(self.run, self.metrics, self.resolver, options))

    @cached_property
    def metrics(self) -> StoredMetrics:
        """The metrics of the run, and why some cannot analyse it."""
        return list_metrics(self.run, self.resolver)

    def label(self, key: str) -> str:
        """Return the label of a model in the run."""
        return self.needed.models[key].names[0]

    def fill_labels(self, text: str, model: str | None, other: str | None) -> str:
        """Return a text with the labels of two models in place of `{model}` and `{other}`."""
        for word, key in (("{model}", model), ("{other}", other)):
            if key is not None:
                text = text.replace(word, self.label(key))
        return text

    def find_value(self, source: Source) -> MeasuredValue:
        """Return the value that a cell shows.

        Raises:
            NoValue: The run has no such score, analysis or column.
            Unmeasured: It has them, but no value: too few samples, or none that differ.
        """
        found = self._find_in_analysis(source) if source.analysis is not None else self._find_score(source)
        if found.value is None:
            raise Unmeasured("the run has no value for it: too few valid samples, or none that differ")
        if isinstance(found.value, str):
            return found
        scale = source.scale or 1.0
        ends = [found.value, *(found.ci or ())]
        value, *ci = [scale * (1 - end if source.complement else end) for end in ends]
        spread = None if found.spread is None else scale * found.spread
        return MeasuredValue(value, (min(ci), max(ci)) if ci else None, found.run, spread)

    def find_analyses(self, name: str, metric: str | None, judge: str | None = None) -> list[tuple[str, Analysis]]:
        """Return the analyses with a name, of one metric and judge or of any, each with the title of its metric.

        Raises:
            NoValue: No metric made one.
        """
        found = [
            (title, each)
            for title, each in self.analyses
            if each.name == name
            and (metric is None or title == metric or title.startswith(f"{metric} by "))
            and (judge is None or title.endswith(f" by {judge}"))
        ]
        if not found and (missing := self.needed.missing_answers):
            raise Unmeasured("; ".join(f"{file} is missing: {how}" for file, how in missing.items()))
        if not found:
            known = ", ".join(dict.fromkeys(each.name for _, each in self.analyses))
            absent = "".join(f"; {metric}: {why}" for metric, why in self.metrics.absent.items())
            raise NoValue(f"no analysis {name!r}; the run has {known or 'none'}{absent}")
        return found

    def _find_result(self, source: Source, key: str | None) -> Result:
        metric = source.metric or self.run.results[0].metric
        label = None if key is None else self.label(key)
        for result in self.run.results:
            if result.metric == metric and label in (None, result.label) and source.judge in (None, result.by):
                return result
        judge = "" if source.judge is None else f" by {source.judge}"
        raise NoValue(f"{metric}{judge} has no result for {label}")

    def _find_score(self, source: Source) -> MeasuredValue:
        if source.model is None and self.needed.run.models:
            raise NoValue("a score of no model; name the model of the row or column")
        folder = str(self.run.folder)
        result = self._find_result(source, source.model)
        if source.other is not None:
            return self._find_difference(result, self._find_result(source, source.other), source, folder)
        if source.score is None and source.level is None:
            return MeasuredValue(result.score, _read_interval(result.ci), folder)
        name = source.score or next(iter(result.scores), "")
        try:
            if source.level is None:
                score = result.scores[name]
            else:
                ((facet, level),) = source.level.items()
                levels = result.facets[name][facet]
                if level not in levels:
                    raise Unmeasured(f"{result.title} has no samples of {facet} {level} for {result.label}")
                score = levels[level]
        except KeyError as error:
            raise NoValue(f"{result.title} has no {error} for {result.label}") from error
        return MeasuredValue(score.value, _read_interval(score.ci), folder)

    def _find_difference(self, a: Result, b: Result, source: Source, folder: str) -> MeasuredValue:
        """Return the difference of two models' headline scores, with the interval of their paired comparison."""
        if source.score is not None or source.level is not None:
            raise NoValue("the difference of two models is that of their headline scores: leave out score, level")
        for found in self.run.comparisons:
            if (found.metric, found.by) == (a.metric, a.by) and {found.a, found.b} == {a.label, b.label}:
                sign = 1 if found.a == a.label else -1
                ends = [None if end is None else sign * end for end in found.ci][::sign]
                return MeasuredValue(
                    None if found.diff is None else sign * found.diff, _read_interval(ends), folder
                )
        if a.score is None or b.score is None:
            return MeasuredValue(None, None, folder)
        return MeasuredValue(a.score - b.score, None, folder)

    def _find_in_analysis(self, source: Source) -> MeasuredValue:
        fill = partial(self.fill_labels, model=source.model, other=source.other)
        (_, analysis), *_ = self.find_analyses(fill(source.analysis or ""), source.metric, source.judge)
        table = analysis.table
        column = fill(source.value if source.value is not None else "{model}")
        conditions = {fill(name): fill(text) for name, text in source.where.items()}
        named = (column, *filter(None, [source.spread]), *conditions)
        if absent := [name for name in named if name not in map(str, table.columns)]:
            known = ", ".join(map(str, table.columns))
            raise NoValue(f"the analysis {analysis.name!r} has no column {absent[0]!r}; it has {known}")
        for name, text in conditions.items():
            table = table[table[name].astype(str) == text]
        folder = str(self.run.folder)
        if table.empty:
            return MeasuredValue(None, None, folder)
        row = table.iloc[0]
        value = row[column]
        if isinstance(value, str):
            return MeasuredValue(value, None, folder)
        ends = find_intervals(list(map(str, table.columns))).get(column)
        ci = None if ends is None else _read_interval([_read_number(row[end]) for end in ends])
        spread = None if source.spread is None else _read_number(row[source.spread])
        return MeasuredValue(_read_number(value), ci, folder, spread)


def _read_number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def _read_interval(ci: Sequence[float | None] | None) -> tuple[float, float] | None:
    if ci is None or ci[0] is None or ci[1] is None:
        return None
    return ci[0], ci[1]
