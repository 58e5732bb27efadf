"""A metric's rows as people see them: what it measures on the samples that people labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, groupby
from typing import Any

import pandas as pd

from ..api.failure import Failure
from ..api.image import ImagePlace
from ..api.judge import Query
from ..api.metric import Metric, PairMetric, PromptMetric
from ..api.metric_input import Answer, Need, Observed, Sample, Unit
from ..api.metric_output import Excluded, SettledMeasure
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import JudgeInfo, MetricInfo
from ..api.resolver import ResolvedComponent
from ..io.answers import HumanAnswer
from .asked_people import list_asked_needs
from .measurement_table import TableBuilder
from .metric_rows import make_columns, rows_of
from .observed_units import add_row, join_answers, make_sample_unit

PROBABILITY = "probability"
"""Column of the rows of labels: the probability with which the unit was drawn to be labelled."""


@dataclass(frozen=True)
class LabelledMetric:
    """A metric, and the people who answer its questions.

    Attributes:
        metric: The metric.
        instance: The created metric.
        measures: Its measures, the headline first, with their bounds under its options.
        people: The judge that gives people's answers.
    """

    metric: ResolvedComponent[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    people: ResolvedComponent[JudgeInfo]

    @cached_property
    def measures_by_name(self) -> dict[str, SettledMeasure]:
        """The measures by name."""
        return {measure.name: measure for measure in self.measures}

    @cached_property
    def asked(self) -> list[Need]:
        """The needs that people serve.

        Raises:
            NoJudge: If people cannot be asked what the metric needs.
        """
        return list_asked_needs(self.metric.spec, self.instance, self.people.info.capabilities)


@dataclass(frozen=True)
class LabelRows:
    """The rows of the units that people labelled.

    Attributes:
        table: The rows, with the columns of the measurement table and `PROBABILITY`, which is missing if the
            answers' file does not say it.
        without_value: Number of labelled units without a value, by reason.
    """

    table: pd.DataFrame
    without_value: Mapping[str, int] = field(default_factory=dict)


def measure_labels(
    labelled: LabelledMetric,
    answers: Iterable[HumanAnswer],
    samples: Iterable[Sample],
    models: Sequence[str],
) -> LabelRows:
    """Measure the samples that people labelled, by their answers.

    Args:
        labelled: The metric and the people.
        answers: Their answers, which say how the images were drawn.
        samples: The samples with their images. Those that nobody answered about are skipped.
        models: Labels of the models, in the order in which the metric has them.

    Raises:
        NoJudge: If people cannot be asked what the metric needs.
        BrokenPlugin: If the metric or the judge fails.
    """
    drawn = _DrawnImages(answers)
    found = [_add_place(s) for s in samples if s.model in models and drawn.holds(s)]
    items = list(_list_items(labelled.instance, found, models))
    observed = _observe(labelled, items)
    builder, lost = TableBuilder(), Counter[str]()
    for unit, of_unit in _list_units(labelled.instance, items, observed, lost):
        rows, _ = rows_of(labelled, unit)
        if isinstance(rows, Failure | Excluded):
            lost[rows.reason] += len(of_unit)
            continue
        chances = {drawn.find_probability(item) for item in of_unit}
        seeds = " ".join(str(item[0].seed) for item in of_unit)
        known = {PROBABILITY: chances.pop()} if len(chances) == 1 else {}
        for row in rows:
            add_row(builder, unit, row, {**make_columns(unit, row, seeds), **known})
    return LabelRows(builder.build(), dict(lost))


Item = tuple[Sample, ...]

_UNANSWERED = Failure("nobody answered all questions about this", missing=True)


class _DrawnImages:
    """The images that people answered about, by their digests or their places, and how they were drawn."""

    def __init__(self, answers: Iterable[HumanAnswer]) -> None:
        self._images: set[str | ImagePlace] = set()
        self._probabilities: dict[frozenset[str | ImagePlace], float] = {}
        for answer in answers:
            digests = frozenset(digest for side in answer.shown for digest in side.digests)
            places = frozenset(
                ImagePlace(side.model, answer.prompt, seed) for side in answer.shown for seed in side.seeds
            )
            self._images |= digests or places
            if answer.probability is not None:
                self._probabilities |= {digests: answer.probability, places: answer.probability}

    def holds(self, sample: Sample) -> bool:
        return sample.image is not None and bool(self._images & {sample.image.digest, _place(sample)})

    def find_probability(self, item: Item) -> float | None:
        places = frozenset(map(_place, item))
        digests = frozenset(sample.image.digest for sample in item if sample.image is not None)
        return self._probabilities.get(places, self._probabilities.get(digests))


def _place(sample: Sample) -> ImagePlace:
    return ImagePlace(sample.model, sample.prompt.id, sample.seed)


def _add_place(sample: Sample) -> Sample:
    """Return a sample whose image knows where it belongs: answers may name it so."""
    return replace(sample, image=sample.image and replace(sample.image, place=_place(sample)))


def _list_items(metric: Metric, samples: Sequence[Sample], models: Sequence[str]) -> Iterator[Item]:
    """Yield what is observed together: single samples, or those of each two models for one prompt and seed."""
    if not isinstance(metric, PairMetric):
        yield from ((sample,) for sample in samples)
        return
    metric.set_models(models)
    cells: dict[tuple[str, int], dict[str, Sample]] = {}
    for sample in samples:
        cells.setdefault((sample.prompt.id, sample.seed), {})[sample.model] = sample
    for cell in cells.values():
        yield from combinations([cell[model] for model in models if model in cell], 2)


def _observe(labelled: LabelledMetric, items: Sequence[Item]) -> list[Observed | Failure]:
    """Return each item with people's answers, or why it has none."""
    asked: list[list[tuple[Need, list[Query]]]] = []
    for item in items:
        with guard_plugin(labelled.metric, "to say what it asks"):
            asked.append([(need, list(need.queries(item))) for need in labelled.asked])
    answers: dict[int, Any] = {}
    with guard_plugin(labelled.people, "to answer"):
        judge = labelled.people.info.create(labelled.people.setup())
        for capability in dict.fromkeys(need.capability for need in labelled.asked):
            of_capability = (some for own in asked for need, some in own if need.capability == capability)
            queries = list(chain.from_iterable(of_capability))
            answers |= {id(query): answer for query, answer in judge.observe(capability, queries)}
        if hasattr(judge, "close"):
            judge.close()
    return [_join(item, own, answers) for item, own in zip(items, asked, strict=True)]


def _join(item: Item, asked: Sequence[tuple[Need, list[Query]]], answers: Mapping[int, Any]) -> Observed | Failure:
    found: dict[str, list[Answer] | Failure] = {}
    for need, queries in asked:
        own = [answers.get(id(query), _UNANSWERED) for query in queries]
        failed = next((answer for answer in own if isinstance(answer, Failure)), None)
        found[need.name] = failed or [Answer(answer, {}) for answer in own]
    return join_answers(item, found)


def _list_units(
    metric: Metric, items: Sequence[Item], observed: Sequence[Observed | Failure], lost: Counter[str]
) -> Iterator[tuple[Unit, list[Item]]]:
    """Yield each unit with its items; count those without answers."""
    whole: list[tuple[Item, Observed]] = []
    for item, answered in zip(items, observed, strict=True):
        if isinstance(answered, Failure):
            lost[answered.reason] += 1
        else:
            whole.append((item, answered))
    if isinstance(metric, PromptMetric):
        whole.sort(key=lambda each: (each[0][0].model, each[0][0].prompt.id))
        for _, group in groupby(whole, key=lambda each: (each[0][0].model, each[0][0].prompt.id)):
            members = list(group)
            first = members[0][0][0]
            seeds = tuple(item[0].seed for item, _ in members)
            unit = Unit((first.model,), first.prompt, None, tuple(one for _, one in members), seeds=seeds)
            yield unit, [item for item, _ in members]
        return
    for item, answered in whole:
        yield make_sample_unit(answered), [item]
