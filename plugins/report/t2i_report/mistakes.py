"""The most frequent mistakes: wrong values of each metric and model, counted by reason, with pictures."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import pandas as pd
from t2i_core.api.metric_output import Measure
from t2i_core.results.run import Run

from .evidence import Overlays
from .gallery import Gallery, ShownImage
from .overlay import Overlay
from .reasons import PromptWords, read_run_words, split_reasons

MOST_SHOWN = 8
"""Maximum number of pictures of a reason on a page, of all models together."""

MOST_GROUPS, MOST_EXAMPLES, MOST_TEXTS = 5, 4, 4
"""Maximum number of groups of a metric and model, and of examples and concrete reasons of a group."""


@dataclass(frozen=True)
class MistakeExample:
    """A picture with a wrong value.

    Attributes:
        place: Index of the image in the gallery.
        image: The image.
        because: Why the value is wrong, in full; may be empty.
        value: The value.
        overlay: The evidence over the picture, or None.
        right: The best picture that another model drew of the same prompt and seed, if its value is better.
    """

    place: int
    image: ShownImage
    because: str
    value: float
    overlay: Overlay | None = None
    right: MistakeExample | None = None


@dataclass(frozen=True)
class Mistake:
    """Wrong values of a metric and model with one reason.

    Attributes:
        metric: Title of the metric.
        measure: Name of the measure.
        model: Name of the model.
        because: The reason, with placeholders for words that depend on the prompt: `no [object] found`.
        count: Number of values with this reason. A value may have several.
        n: Number of values of the measure.
        texts: The most frequent concrete reasons, with their counts.
        examples: Pictures, the worst first.
    """

    metric: str
    measure: str
    model: str
    because: str
    count: int
    n: int
    texts: list[tuple[str, int]] = field(default_factory=list)
    examples: list[MistakeExample] = field(default_factory=list)


@dataclass(frozen=True)
class MistakeGroup:
    """One reason of a metric, with the wrong values of each model.

    Attributes:
        because: The reason.
        models: The mistakes of the models with this reason.
    """

    because: str
    models: list[Mistake]

    @property
    def count(self) -> int:
        """Number of values of all models."""
        return sum(each.count for each in self.models)

    @property
    def examples(self) -> list[MistakeExample]:
        """Examples of all models, in turns."""
        turns = zip_longest(*(each.examples for each in self.models))
        return [example for turn in turns for example in turn if example is not None][:MOST_SHOWN]

    @property
    def words(self) -> list[tuple[str, bool]]:
        """The reason in parts, each with whether it is a placeholder; the concrete reason if there is only one."""
        texts = {text for each in self.models for text, _ in each.texts}
        text = texts.pop() if len(texts) == 1 else self.because
        return [(part.strip("[]"), part.startswith("[")) for part in re.split(r"(\[[a-z.]+\])", text) if part]


@dataclass(frozen=True)
class _Value:
    """A value: of an image, or, with seed None, of the images of a prompt.

    reasons: the concrete reasons, by the general ones
    """

    model: str
    prompt: str
    seed: int | None
    value: float
    because: str
    reasons: Mapping[str, str]


def find_mistakes(
    runs: Sequence[Run], shown: Gallery, measures: Mapping[str, Sequence[Measure]], overlays: Overlays
) -> list[Mistake]:
    """Return the most frequent reasons of wrong values, by metric and model, the most frequent first.

    A metric without reasons has one group for each model: its lowest values, or highest if lower is better.
    Metrics of which neither is better have none.

    Args:
        runs: The runs.
        shown: Their images.
        measures: Measures of each installed metric, the headline first.
        overlays: The evidence.
    """
    found: list[Mistake] = []
    tables = [(run, table) for run, table in zip(runs, shown.tables, strict=True) if len(table)]
    titles = dict.fromkeys(title for _, table in tables for title in table["title"].unique())
    for title in titles:
        parts = [(read_run_words(run), table[table["title"] == title]) for run, table in tables]
        metric = next(str(part["metric"].iloc[0]) for _, part in parts if len(part))
        measure = _choose_measure(pd.concat([part for _, part in parts]), measures.get(metric, ()))
        if measure.higher_is_better is None:
            continue
        values = [v for words, part in parts for v in _list_values(part[part["measure"] == measure.name], words)]
        found += _Finder(title, measure, values, shown, overlays).find()
    return found


def group_mistakes(mistakes: Iterable[Mistake]) -> dict[str, list[MistakeGroup]]:
    """Return the reasons of each metric, by its title, the most frequent first."""
    found: dict[str, dict[str, list[Mistake]]] = {}
    for each in mistakes:
        found.setdefault(each.metric, {}).setdefault(each.because, []).append(each)
    return {
        metric: sorted((MistakeGroup(*group) for group in groups.items()), key=lambda group: -group.count)
        for metric, groups in found.items()
    }


def _choose_measure(rows: pd.DataFrame, declared: Sequence[Measure]) -> Measure:
    """Return the headline, or, if its rows give no reasons, the measure with the most reasons."""
    known = {each.name: each for each in declared}
    order = [name for name in known if name in set(rows["measure"])] or list(rows["measure"].unique())
    reasons = Counter(rows.loc[rows["because"].notna(), "measure"]) if "because" in rows else Counter[str]()
    headline = declared[0].name if declared else order[0]
    if reasons and not reasons[headline]:
        headline = max(order, key=lambda name: reasons[name])
    elif headline not in order:
        headline = order[0]
    return known.get(headline) or Measure(headline, "", higher_is_better=None)


def _list_values(rows: pd.DataFrame, words: PromptWords) -> Iterator[_Value]:
    known: dict[tuple[str, str], Mapping[str, str]] = {}
    reasons = rows["because"].fillna("") if "because" in rows else [""] * len(rows)
    columns = (rows["model"], rows["prompt"], rows["seed"], rows["value"], reasons)
    for model, prompt, seed, value, because in zip(*columns, strict=True):
        key = because, prompt if words.texts else ""
        if key not in known:
            id = prompt.partition("\0")[0]
            known[key] = {words.generalize(reason, id): reason for reason in split_reasons(because)}
        yield _Value(model, prompt, None if pd.isna(seed) else int(seed), float(value), because, known[key])


class _Finder:
    """Finds the mistakes under one metric."""

    def __init__(
        self, title: str, measure: Measure, values: Sequence[_Value], shown: Gallery, overlays: Overlays
    ) -> None:
        self.title, self.measure, self.values = title, measure, values
        self.shown, self.overlays = shown, overlays
        self.sign = 1 if measure.higher_is_better else -1
        best = measure.high if measure.higher_is_better else measure.low
        self.best = float(best) if isinstance(best, int | float) else None
        self.by_cell: dict[tuple[str, int | None], list[_Value]] = defaultdict(list)
        for each in values:
            self.by_cell[each.prompt, each.seed].append(each)

    def find(self) -> Iterator[Mistake]:
        wrong = [each for each in self.values if each.value != self.best]
        explained = self._explain(wrong)
        for model in dict.fromkeys(each.model for each in self.values):
            own = [each for each in wrong if each.model == model]
            n = sum(each.model == model for each in self.values)
            yield from self._count(model, own, n) if explained else self._rank(model, own, n)

    def _explain(self, wrong: Sequence[_Value]) -> bool:
        """Return whether reasons sort the wrong values into groups."""
        counts = Counter(reason for each in wrong for reason in each.reasons)
        everywhere = len(counts) == 1 and len(wrong) == len(self.values) and set(counts.values()) == {len(wrong)}
        return bool(counts) and not everywhere and len(counts) <= max(1, sum(counts.values()) / 2)

    def _count(self, model: str, wrong: Sequence[_Value], n: int) -> Iterator[Mistake]:
        groups: dict[str, list[_Value]] = defaultdict(list)
        for each in wrong:
            for reason in each.reasons:
                groups[reason].append(each)
        for reason, own in sorted(groups.items(), key=lambda group: -len(group[1]))[:MOST_GROUPS]:
            texts = Counter(each.reasons[reason] for each in own).most_common(MOST_TEXTS)
            yield self._make(model, reason, own, n, texts)

    def _rank(self, model: str, wrong: Sequence[_Value], n: int) -> Iterator[Mistake]:
        """Yield the worst values as one group."""
        if wrong:
            worst = sorted(wrong, key=lambda each: self.sign * each.value)
            if self.best is None or len({each.value for each in self.values}) > 2:
                worst = worst[:MOST_EXAMPLES]
            because = (
                "wrong" if len(worst) == len(wrong) else "lowest values" if self.sign > 0 else "highest values"
            )
            yield self._make(model, because, worst, n, [])

    def _make(
        self, model: str, because: str, own: Sequence[_Value], n: int, texts: list[tuple[str, int]]
    ) -> Mistake:
        examples = list(self._choose_examples(own))
        return Mistake(self.title, self.measure.name, model, because, len(own), n, texts, examples)

    def _choose_examples(self, own: Iterable[_Value]) -> Iterator[MistakeExample]:
        """Yield the worst pictures; of equals, first those with evidence and a better one of another model."""
        found = [
            replace(example, right=self._find_better(each))
            for each in own
            if (example := self._make_example(each)) is not None
        ]
        found.sort(
            key=lambda e: (self.sign * e.value, e.image.picture is None, e.overlay is None, e.right is None)
        )
        first: dict[str, MistakeExample] = {}  # of each prompt one, before others of the same prompt
        later = [e for e in found if first.setdefault(e.image.prompt_key, e) is not e]
        yield from [*first.values(), *later][:MOST_EXAMPLES]

    def _make_example(self, each: _Value) -> MistakeExample | None:
        """Return a value as an example; None without an image."""
        place = self.shown.find(each.model, each.prompt, each.seed)
        if place is None:
            return None
        overlay = self.overlays.get((self.title, place))
        return MistakeExample(place, self.shown.images[place], each.because, each.value, overlay)

    def _find_better(self, each: _Value) -> MistakeExample | None:
        others = [
            other
            for other in self.by_cell[each.prompt, each.seed]
            if self.sign * other.value > self.sign * each.value and other.model != each.model
        ]
        best = max(others, key=lambda other: self.sign * other.value, default=None)
        return None if best is None else self._make_example(best)
