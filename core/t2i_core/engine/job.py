"""The units of an evaluation: which samples there are, and under which keys their results are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any

from ..api.adapter import expand
from ..api.digest import digest_data, digest_text, encode_canonically
from ..api.judge import Capability, Query
from ..api.metric import Metric, Need, Row, Sample, SettledMeasure, Unit, ask_about_image
from ..api.observation import Labels, StackableObservation, find_capability
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import JudgeInfo, MetricInfo
from ..api.prompt import Prompt
from ..api.resolver import JudgeChoice
from ..storage.store import FORMAT
from .component import Component
from .request import NoisePolicy
from .sample import Model, PlannedSample, SampleGrid


class _Nothing(Metric):
    """Measures nothing."""

    def measure(self, unit: Unit) -> Iterable[Row]:
        return ()


IMAGES = MetricInfo(name="images", summary="Only makes the images.", create=_Nothing, measures=())
"""Stands in for a metric where images are all that is wanted."""


@dataclass(frozen=True)
class Served:
    """A need with the judge that serves it; for a model's own observations, no choice but the model.

    derive_code: digest of the function that derives numbers, where the metric's code digest does not cover it
    """

    need: Need
    choice: JudgeChoice[Component[JudgeInfo]] | None
    derive_code: str | None = None

    @cached_property
    def labels(self) -> Labels | None:
        """The classes that the judge declares; None where it takes any text or is the model itself."""
        return declared_labels(self.choice.judge) if self.choice else None

    @cached_property
    def _judge(self) -> str:
        """What the judge's answers depend on: itself, and the classes that it declares."""
        assert self.choice is not None
        return digest_data([self.choice.judge.fingerprint, [[c.name, c.synset] for c in self.labels or ()]])

    @property
    def asked(self) -> Capability:
        """The capability that the judge itself is asked for."""
        return self.choice.asked_for(self.need.capability) if self.choice else self.need.capability

    @property
    def asks_image_alone(self) -> bool:
        """Whether the judge is asked one query about each generated image, and nothing else."""
        alone = self.need.images == "generated" and self.need.queries is ask_about_image
        return alone and not (self.choice and self.choice.chain)

    def address(self, grids: Sequence[SampleGrid]) -> tuple[int, tuple[str, ...]]:
        """Return under what the keys of its queries about these grids' samples stand in the ledger."""
        return id(self), tuple(grid.model.label for grid in grids)

    def queries(self, samples: tuple[Sample, ...]) -> list[Query]:
        """The queries that the judge itself is asked for one sample or pair, adapters applied."""
        chain = self.choice.chain if self.choice else ()
        return [inner for query in self.need.queries(samples) for inner in expand(chain, query)]

    def judge_fingerprint(self, model: Model) -> str:
        """What the observations depend on beside the query."""
        return self._judge if self.choice else model.component.judge_fingerprint


@dataclass(frozen=True)
class Job:
    """One metric on one model, or, where it compares pairs, on all models together.

    measures:  what it measures, the headline first, with the bounds that hold under its options
    grids:     the samples of each model
    bound:     label of the model whose score is this one's upper bound; its own, where it is the bound itself
    """

    metric: Component[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    grids: tuple[SampleGrid, ...]
    prompts_name: str
    needs: tuple[Served, ...]
    bound: str | None = None

    @property
    def models(self) -> tuple[Model, ...]:
        """The models, in the order in which they are shown."""
        return tuple(grid.model for grid in self.grids)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts, the same for all models."""
        return self.grids[0].prompts

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, the same for all models."""
        return self.grids[0].seeds

    @property
    def noise(self) -> NoisePolicy:
        """Where the starting noise comes from."""
        return self.grids[0].noise

    @property
    def is_bound(self) -> bool:
        """Whether it stands in a run only to say what others' scores can reach."""
        return self.bound is not None and self.bound == self.models[0].label

    @property
    def generates(self) -> bool:
        """Whether generated images are looked at, or are all that is wanted."""
        return self.metric.info is IMAGES or any(s.need.images == "generated" for s in self.needs)

    @property
    def pairs(self) -> bool:
        """Whether the metric compares models two by two."""
        return self.instance.group_by == "pair"

    def unstackable(self) -> str | None:
        """Say why a metric that asks for stacked answers cannot have them, if so."""
        if self.instance.group_by != "prompt":
            return f"is grouped by {self.instance.group_by}"
        for served in self.needs:
            need = served.need
            alone = need.images == "generated" and need.queries is ask_about_image and need.derive is None
            stackable = issubclass(find_capability(need.capability), StackableObservation)
            if not alone or served.asked != need.capability or not stackable:
                return f"its need {need.name!r} is no vector of each generated image alone"
        return None

    @cached_property
    def measures_by_name(self) -> dict[str, SettledMeasure]:
        """What it measures, by name."""
        return {measure.name: measure for measure in self.measures}

    def samples(self) -> Iterator[PlannedSample]:
        """Yield each sample of this shard, model after model."""
        return chain.from_iterable(self.grids)

    def groups(self) -> Iterator[tuple[SampleGrid, ...]]:
        """Yield the grids whose samples are observed together: one, or those of two models."""
        yield from combinations(self.grids, 2) if self.pairs else ((grid,) for grid in self.grids)

    def items(self) -> Iterator[tuple[PlannedSample, ...]]:
        """Yield each thing observed: one sample, or those of two models on one prompt and seed."""
        for grids in self.groups():
            yield from zip(*grids, strict=True)

    def size(self) -> int:
        """How many things are observed, without shards."""
        n = len(self.models)
        return (n * (n - 1) // 2 if self.pairs else n) * len(self.prompts) * len(self.seeds)


def declared_labels(component: Component[Any]) -> Labels | None:
    """The classes that a judge knows or a generator draws; None where it does not say."""
    labels = getattr(component.info, "labels", None)
    with guard_plugin(component, "to say which classes it knows"):
        return tuple(labels(component.argument, component.options)) if labels else None


def observation_key_head(judge_fingerprint: str, capability: Capability) -> str:
    """Return what the keys of one judge's observations have in common: a JSON list without its end.

    Args:
        judge_fingerprint: What the observations depend on beside the query.
        capability: What is asked.
    """
    return encode_canonically([FORMAT, "observation", judge_fingerprint, capability])[:-1]


def observation_key(head: str, query: Query) -> str:
    """Return the key under which an observation is kept."""
    images = [image.identity for image in query.images]
    asked = encode_canonically([images, list(query.texts), dict(query.params)])[1:]
    return digest_text(f"{head},{asked}")


def keys_of_images_alone(head: str, identities: Iterable[str]) -> list[str]:
    """Return the keys of observations that are about one image each and nothing else (`Image.identity`)."""
    return [digest_text(f'{head},["{identity}"],[],{{}}]') for identity in identities]


def derived_key(observation: str, served: Served, metric: Component[MetricInfo]) -> str:
    """The key under which what a metric derived from an observation is kept."""
    derive = served.need.derive
    assert derive is not None
    function = (derive.function.__module__, getattr(derive.function, "__qualname__", ""))
    whose = [metric.info.name, metric.code_digest, *function, served.need.capability]
    if served.derive_code is not None:
        whose.append(served.derive_code)
    return digest_data([FORMAT, "derived", observation, derive.name, dict(derive.options), *whose])
