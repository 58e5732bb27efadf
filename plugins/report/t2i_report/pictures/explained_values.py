"""Values of images with the reasons that their metrics give."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

import pandas as pd
from t2i_core.api.metric_output import Measure
from t2i_core.results.run import Run
from t2i_core.results.shown_measure import choose_measure, list_alike

from .gallery import Gallery
from .reasons import PromptWords, read_run_words, split_reasons


@dataclass(frozen=True)
class ExplainedValue:
    """A value of an image, or, with seed None, of a model's images of a prompt.

    Attributes:
        model: Name of the model.
        prompt: `ShownImage.prompt_key` of the prompt.
        seed: The seed, or None.
        value: The value.
        because: Why the value is what it is; may be empty.
        reasons: The concrete reasons by the general ones, which have placeholders.
    """

    model: str
    prompt: str
    seed: int | None
    value: float
    because: str
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class ExplainedMetric:
    """The values of a metric that tell right images from wrong ones.

    Attributes:
        title: Title of the metric.
        measure: Their measure: the headline, or, if its values have no reasons, the one with the most reasons.
        values: The values.
    """

    title: str
    measure: Measure
    values: Sequence[ExplainedValue]

    @property
    def sign(self) -> int:
        """1 if higher is better, -1 if lower is."""
        return -1 if self.measure.higher_is_better is False else 1

    @property
    def best(self) -> float | None:
        """The best possible value; None if it has no bound."""
        bound = self.measure.high if self.sign > 0 else self.measure.low
        return float(bound) if isinstance(bound, int | float) else None

    @cached_property
    def is_binary(self) -> bool:
        """True if each value is right or wrong."""
        return self.best is not None and {each.value for each in self.values} <= {0.0, 1.0}

    def is_wrong(self, each: ExplainedValue) -> bool:
        """Return whether a value is not the best possible one."""
        return each.value != self.best

    @cached_property
    def by_cell(self) -> dict[tuple[str, int | None], list[ExplainedValue]]:
        """The values of all models by prompt and seed."""
        found: dict[tuple[str, int | None], list[ExplainedValue]] = defaultdict(list)
        for each in self.values:
            found[each.prompt, each.seed].append(each)
        return found

    @cached_property
    def sorts_mistakes(self) -> bool:
        """True if reasons sort the wrong values into groups: a caption or a number as a reason does not."""
        wrong = [each for each in self.values if self.is_wrong(each)]
        counts = Counter(reason for each in wrong for reason in each.reasons)
        if not counts or (len(counts) == 1 and len(wrong) == len(self.values) == counts.total()):
            return False
        return len(counts) <= max(3, counts.total() / 2)


def read_values(
    runs: Sequence[Run], shown: Gallery, measures: Mapping[str, Sequence[Measure]]
) -> list[ExplainedMetric]:
    """Return the values of each metric that measures images one by one, or all of a prompt.

    Metrics of which neither higher nor lower is better have none.

    Args:
        runs: The runs.
        shown: Their images.
        measures: Measures of each installed metric, the headline first.
    """
    found = []
    tables = [(run, table) for run, table in zip(runs, shown.tables, strict=True) if len(table)]
    words = {run.folder: read_run_words(run) for run, _ in tables}
    for title in dict.fromkeys(title for _, table in tables for title in table["title"].unique()):
        parts = [(words[run.folder], table[table["title"] == title]) for run, table in tables]
        rows = pd.concat([part for _, part in parts])
        measure = _choose_measure(rows, measures.get(str(rows["metric"].iloc[0]), ()))
        if measure is not None and measure.higher_is_better is not None:
            metric = ExplainedMetric(title, measure, [])
            own = [
                _list_values(part[part["measure"] == measure.name], known, metric.best) for known, part in parts
            ]
            found.append(replace(metric, values=list(_merge(own))))
    return found


def _choose_measure(rows: pd.DataFrame, declared: Sequence[Measure]) -> Measure | None:
    """Return the headline or the measure that stands for it, by the rows with reasons if there are any."""
    if not declared:
        return None
    with_reasons = rows[rows["because"].notna()] if "because" in rows else rows.iloc[:0]
    for part in (with_reasons, rows):
        for alike in (list_alike(declared), [each.name for each in declared]):
            name = choose_measure(part, declared[0].name, alike)
            if name is not None:
                return next(each for each in declared if each.name == name)
    return None


def _list_values(rows: pd.DataFrame, words: PromptWords, best: float | None) -> Iterator[ExplainedValue]:
    """Yield the value of each image: the mean of its rows, with the reasons of those that are not right."""
    reasons = rows["because"].fillna("") if "because" in rows else [""] * len(rows)
    by_image: dict[tuple[str, str, int | None], list[tuple[float, str]]] = defaultdict(list)
    columns = (rows["model"], rows["prompt"], rows["seed"], rows["value"], reasons)
    for model, prompt, seed, value, because in zip(*columns, strict=True):
        by_image[model, prompt, None if pd.isna(seed) else int(seed)].append((float(value), because))
    known: dict[tuple[str, str], Mapping[str, str]] = {}
    for (model, prompt, seed), own in by_image.items():
        wrong = [because for value, because in own if value != best]
        because = "; ".join(dict.fromkeys(filter(None, wrong or (because for _, because in own))))
        key = because, prompt if words.texts else ""
        if key not in known:
            id = prompt.partition("\0")[0]
            known[key] = {words.generalize(reason, id): reason for reason in split_reasons(because)}
        yield ExplainedValue(model, prompt, seed, fmean(value for value, _ in own), because, known[key])


def _merge(runs: Iterable[Iterable[ExplainedValue]]) -> Iterator[ExplainedValue]:
    """Yield the values of several runs; those that an earlier run has too are left out."""
    seen: set[tuple[str, str, int | None]] = set()
    for values in runs:
        own = [(each, (each.model, each.prompt, each.seed)) for each in values]
        yield from (each for each, place in own if place not in seen)
        seen.update(place for _, place in own)
