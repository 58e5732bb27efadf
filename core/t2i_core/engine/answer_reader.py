"""Reader of answers: what judges answered about items, read from the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..api.adapter import combine, expand
from ..api.array_codec import decode_arrays
from ..api.errors import BrokenPlugin
from ..api.failure import Failure
from ..api.metric import AdaptiveMetric
from ..api.metric_input import Answer, Sample
from ..api.observation_codec import decode
from ..api.plugin_guard import describe_component, guard_plugin
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .job import Job, Served, derived_key
from .query_index import Failures, Item, QueryIndex

Samples = Sequence[tuple[Sample, ...] | Failure]
"""The samples of each item, or why it has none."""

Answers = list[list[Answer] | Failure]
"""Each item's answers to one need, or why it has none."""

_NOT_ANSWERED = Failure("its first answers do not exist yet")


@dataclass
class AnswerReader:
    """Reads items' answers from the cache.

    Attributes:
        index: The keys of the queries.
        failures: Why queries have no answer, by their keys.
        store: The cache.
        is_asking: True while judges are asked, or a run is planned. An answer that is not there is then no error:
            its judge was not asked, because an image is damaged, or will be.
        waiting: Number of items of `add_earlier` without all answers, while judges are asked.
    """

    index: QueryIndex
    failures: Failures
    store: Store
    is_asking: bool = False
    waiting: int = 0

    def read(self, job: Job, items: Sequence[Item], samples: Samples) -> dict[str, Answers]:
        """Return each item's answers to each need that is asked about items, by the need's name."""
        found: dict[str, Answers] = {}
        for served in job.needs:
            if served.need.per != "run":
                after = served.need.after
                own = _join_earlier(samples, found[after]) if after else samples
                found[served.need.name] = self._read_need(job, served, items, own)
        return found

    def add_earlier(self, job: Job, served: Served, items: Sequence[Item], samples: Samples) -> Samples:
        """Return samples with the answers that a need's queries depend on, or why an item has none."""
        chain = job.list_earlier(served)
        for first in chain:
            samples = _join_earlier(samples, self._read_need(job, first, items, samples))
        self.waiting += sum(each is _NOT_ANSWERED for each in samples) if chain else 0
        return samples

    def _read_need(self, job: Job, served: Served, items: Sequence[Item], samples: Samples) -> Answers:
        labels = [tuple(planned.model.label for planned in item) for item in items]
        keys = [
            self.index[id(served), own].of(item[0].index) if isinstance(s, tuple) else []
            for item, s, own in zip(items, samples, labels, strict=True)
        ]
        every = [key for own in keys for key in own]
        values = dict(zip(every, self.store.get_many(every), strict=True))
        derived: dict[str, bytes | None] = {}
        if served.need.derive:
            names = [derived_key(key, served, job.metric) for key in every]
            derived = dict(zip(every, self.store.get_many(names), strict=True))
        return [
            found if isinstance(found, Failure) else self.combine(job, served, own, found, values, derived)
            for own, found in zip(keys, samples, strict=True)
        ]

    def combine(
        self,
        job: Job,
        served: Served,
        keys: Sequence[str],
        samples: tuple[Sample, ...],
        values: Mapping[str, bytes | None],
        derived_values: Mapping[str, bytes | None],
    ) -> list[Answer] | Failure:
        """Return the answers to one need about one item or about all prompts, or why they are missing.

        Args:
            job: The job.
            served: The need.
            keys: The keys of its queries.
            samples: The samples that its queries are made from.
            values: The stored answers by key; None for one that is not there.
            derived_values: The stored numbers that are derived from them, likewise.

        Raises:
            BadFolder: If something has disappeared from the cache.
            BrokenPlugin: If the metric asks other queries than before.
        """
        try:
            with guard_plugin(job.metric, "to say what it asks", reraise_damage=True):
                queries = list(served.need.queries(samples))
        except DamagedImage as error:
            return Failure(str(error))
        kept: list[tuple[str, Any]] = []
        for key in keys:
            if key in self.failures:
                return self.failures[key]
            value = values[key]
            if value is None:
                if self.is_asking:
                    return _NOT_ANSWERED
                raise self.store.gone("an observation")
            kept.append((key, decode(value, served.asked, served.labels)))
        chain = served.chain
        answers, taken = [], 0
        for query in queries:
            width = len(expand(chain, query))
            part = kept[taken : taken + width]
            if len(part) < width:
                if self.is_asking:
                    return _NOT_ANSWERED
                raise self.store.gone("an image")
            taken += width
            derived = {}
            if served.need.derive:
                stored = derived_values[part[0][0]]
                if stored is None:
                    if self.is_asking:
                        return _NOT_ANSWERED
                    raise self.store.gone("what was derived from an observation")
                derived = decode_arrays(stored)
            combined = combine(chain, query, [observation for _, observation in part])
            if isinstance(combined, Failure):
                return combined
            answers.append(Answer(combined, derived))
        if isinstance(job.instance, AdaptiveMetric) and taken < len(kept):
            raise BrokenPlugin(
                f"{describe_component(job.metric)} asked {len(kept)} queries about a sample, and gives only "
                f"{taken} of them when it is measured; Need.queries must not change after the last round"
            )
        return answers


def _join_earlier(samples: Samples, answers: Answers) -> Samples:
    """Return samples with their item's answers to another need; a failure for each item that has none."""
    return [
        own if isinstance(own, Failure) else found if isinstance(found, Failure) else _add_answers(own, found)
        for own, found in zip(samples, answers, strict=True)
    ]


def _add_answers(samples: tuple[Sample, ...], answers: Sequence[Answer]) -> tuple[Sample, ...]:
    return tuple(replace(sample, answers=answers) for sample in samples)
