"""The most frequent mistakes: wrong values of each metric and model, counted by reason, with pictures."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from .evidence import Overlays
from .explained_values import ExplainedMetric, ExplainedValue
from .gallery import Gallery
from .overlay import Overlay
from .shown_image import ShownImage

MOST_SHOWN = 8
"""Maximum number of pictures of a reason on a page, of all models together."""

WITHOUT_REASON = "wrong, without a reason"
"""The group of wrong values without a reason."""

MOST_GROUPS, MOST_EXAMPLES, MOST_TEXTS = 5, 4, 4
"""Maximum number of reasons of a metric, and of a model's examples and concrete reasons of each."""


@dataclass(frozen=True)
class MistakeExample:
    """A picture with a wrong value.

    Attributes:
        place: Index of the image in the gallery.
        image: The image.
        because: Why the value is wrong, in full; may be empty.
        value: The value; None if the value is that of both pictures.
        overlay: The evidence over the picture, or None.
        right: The best picture that another model drew of the same prompt and seed, if its value is better and it
            may be shown; of a metric that compares two models, the other picture.
    """

    place: int
    image: ShownImage
    because: str
    value: float | None
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
        is_counted: True if these are all values with this reason; False if they are only the worst ones.
        texts: The most frequent concrete reasons, with their counts.
        examples: Pictures, the worst first.
    """

    metric: str
    measure: str
    model: str
    because: str
    count: int
    n: int
    is_counted: bool = True
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
    def is_counted(self) -> bool:
        """True if the counts are those of all values with this reason."""
        return all(each.is_counted for each in self.models)

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


def find_mistakes(metrics: Iterable[ExplainedMetric], shown: Gallery, overlays: Overlays) -> list[Mistake]:
    """Return the most frequent reasons of wrong values, by metric and model, the most frequent first.

    A metric without reasons that sort its values has one group for each model: its lowest values, or highest if
    lower is better.

    Args:
        metrics: The values of each metric.
        shown: The images.
        overlays: The evidence.
    """
    return [mistake for own in metrics for mistake in MistakeFinder(own, shown, overlays).find()]


def group_mistakes(mistakes: Iterable[Mistake]) -> dict[str, list[MistakeGroup]]:
    """Return the reasons of each metric, by its title, the most frequent first."""
    found: dict[str, dict[str, list[Mistake]]] = {}
    for each in mistakes:
        found.setdefault(each.metric, {}).setdefault(each.because, []).append(each)
    return {
        metric: sorted((MistakeGroup(*group) for group in groups.items()), key=lambda group: -group.count)
        for metric, groups in found.items()
    }


class MistakeFinder:
    """Finds the mistakes under one metric.

    Args:
        metric: The values of the metric.
        shown: The images.
        overlays: The evidence.
    """

    def __init__(self, metric: ExplainedMetric, shown: Gallery, overlays: Overlays) -> None:
        self.metric, self.shown, self.overlays = metric, shown, overlays

    def find(self) -> Iterator[Mistake]:
        """Yield the groups of the models' wrong values, by model."""
        wrong: dict[str, list[ExplainedValue]] = {each.model: [] for each in self.metric.values}
        for each in self.metric.values:
            if self.metric.is_wrong(each):
                wrong[each.model].append(each)
        yield from self.sort(wrong, Counter(each.model for each in self.metric.values))

    def sort(self, wrong: Mapping[str, Sequence[ExplainedValue]], n: Mapping[str, int]) -> Iterator[Mistake]:
        """Yield the groups of wrong values, by model.

        Args:
            wrong: The wrong values of each model.
            n: Number of values of each model.
        """
        if self.metric.sorts_mistakes:
            yield from self._count(wrong, n)
            return
        yield from (self._rank(model, own, n[model]) for model, own in wrong.items() if own)

    def _count(self, wrong: Mapping[str, Sequence[ExplainedValue]], n: Mapping[str, int]) -> Iterator[Mistake]:
        """Yield the groups of the reasons that are the most frequent over all models, whole for each model."""
        groups: dict[str, dict[str, list[ExplainedValue]]] = {model: defaultdict(list) for model in wrong}
        for model, values in wrong.items():
            for each in values:
                for reason in each.reasons or ((WITHOUT_REASON,) if self.metric.is_binary else ()):
                    groups[model][reason].append(each)
        counts = Counter(reason for own in groups.values() for reason, found in own.items() for _ in found)
        chosen = {reason for reason, _ in counts.most_common(MOST_GROUPS)}
        for model, by_reason in groups.items():
            for reason, own in sorted(by_reason.items(), key=lambda group: -len(group[1])):
                if reason in chosen:
                    texts = Counter(text for each in own if (text := each.reasons.get(reason)) is not None)
                    yield self._make(model, reason, own, n[model], texts.most_common(MOST_TEXTS))

    def _rank(self, model: str, wrong: Sequence[ExplainedValue], n: int) -> Mistake:
        """Return the worst values as one group; all, if a value is either right or wrong."""
        if self.metric.is_binary:
            return self._make(model, WITHOUT_REASON, wrong, n, [])
        worst = sorted(wrong, key=lambda each: self.metric.sign * each.value)[:MOST_EXAMPLES]
        because = "lowest values" if self.metric.sign > 0 else "highest values"
        return replace(self._make(model, because, worst, n, []), is_counted=False)

    def _make(
        self, model: str, because: str, own: Sequence[ExplainedValue], n: int, texts: list[tuple[str, int]]
    ) -> Mistake:
        examples = list(self._choose_examples(own))
        return Mistake(
            self.metric.title,
            self.metric.measure.name,
            model,
            because,
            len(own),
            n,
            texts=texts,
            examples=examples,
        )

    def _choose_examples(self, own: Iterable[ExplainedValue]) -> Iterator[MistakeExample]:
        """Yield the worst pictures; of equals, first those with evidence and a better one of another model."""
        found = [
            replace(example, right=self._find_better(each))
            for each in own
            if (example := self._make_example(each)) is not None
        ]
        found.sort(
            key=lambda e: (
                self.metric.sign * (e.value or 0), not e.image.is_there, e.overlay is None, e.right is None
            )
        )  # fmt: skip
        first: dict[str, MistakeExample] = {}  # of each prompt one, before others of the same prompt
        later = [e for e in found if first.setdefault(e.image.prompt_key, e) is not e]
        yield from [*first.values(), *later][:MOST_EXAMPLES]

    def _make_example(self, each: ExplainedValue) -> MistakeExample | None:
        """Return a value as an example; None without an image."""
        places = self.shown.find_all(each.model, each.prompt, each.seed)
        if not places:
            return None
        place = places[0]
        overlay = self.overlays.get((self.metric.title, place))
        return MistakeExample(place, self.shown.images[place], each.because, each.value, overlay)

    def _find_better(self, each: ExplainedValue) -> MistakeExample | None:
        sign = self.metric.sign
        others = [
            other
            for other in self.metric.by_cell[each.prompt, each.seed]
            if sign * other.value > sign * each.value and other.model != each.model
        ]
        best = max(others, key=lambda other: sign * other.value, default=None)
        found = None if best is None else self._make_example(best)
        return found if found is not None and found.image.may_be_shown else None
