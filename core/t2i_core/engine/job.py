"""The units of an evaluation: which samples there are, and under which keys their results are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, product
from typing import Any

from ..api.adapter import expand
from ..api.digest import digest_data, digest_text, encode_canonically
from ..api.failure import Failure
from ..api.generator import ImageRequest
from ..api.judge import Capability, Query
from ..api.metric import Metric, Need, Row, Sample, SettledMeasure, Unit, ask_about_image
from ..api.observation import TYPES, Labels
from ..api.plugin_info import ExistingImagesInfo, GeneratorInfo, MetricInfo
from ..api.prompt import Prompt
from ..storage.store import FORMAT
from .component import Component
from .plugin_guard import guard_plugin
from .request import NoisePolicy
from .resolver import JudgeChoice


class _Nothing(Metric):
    """Measures nothing."""

    def measure(self, unit: Unit) -> Iterable[Row]:
        return ()


IMAGES = MetricInfo(name="images", summary="Only makes the images.", create=_Nothing, measures=())
"""Stands in for a metric where images are all that is wanted."""


@dataclass(frozen=True)
class Model:
    """A generator with its label and the settings that the user gave it."""

    component: Component[GeneratorInfo]
    label: str
    settings: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """What the generator's images depend on."""
        return self.component.fingerprint


@dataclass(frozen=True)
class Served:
    """A need with the judge that serves it; for a model's own observations, no choice but the model.

    derive_code: digest of the function that derives numbers, where the metric's code digest does not cover it
    """

    need: Need
    choice: JudgeChoice | None
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
    bound:     label of the model whose score is this one's upper bound; its own, where it is the bound itself
    """

    metric: Component[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    models: tuple[Model, ...]
    prompts: tuple[Prompt, ...]
    prompts_name: str
    seeds: tuple[int, ...]
    needs: tuple[Served, ...]
    noise: NoisePolicy
    shard: tuple[int, int] | None = None
    bound: str | None = None

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
            if not alone or served.asked != need.capability or not hasattr(TYPES[need.capability], "stacked"):
                return f"its need {need.name!r} is no vector of each generated image alone"
        return None

    @cached_property
    def measures_by_name(self) -> dict[str, SettledMeasure]:
        """What it measures, by name."""
        return {measure.name: measure for measure in self.measures}

    def drawn(self) -> Iterator[tuple[Prompt, int]]:
        """Each prompt and seed of this process's shard: every n-th of them."""
        part, parts = self.shard or (1, 1)
        return islice(product(self.prompts, self.seeds), part - 1, None, parts)

    def cells(self) -> Iterator[tuple[Model, Prompt, int]]:
        """Each sample of this shard: model, prompt, seed."""
        for model in self.models:
            for prompt, seed in self.drawn():
                yield model, prompt, seed

    def items(self) -> Iterator[tuple[tuple[Model, ...], Prompt, int]]:
        """Each thing observed, as models, prompt and seed: one sample, or two models on one prompt and seed."""
        groups = combinations(self.models, 2) if self.pairs else ((m,) for m in self.models)
        for models in groups:
            for prompt, seed in self.drawn():
                yield models, prompt, seed

    def size(self) -> int:
        """How many things are observed, without shards."""
        n = len(self.models)
        return (n * (n - 1) // 2 if self.pairs else n) * len(self.prompts) * len(self.seeds)

    def request(self, prompt: Prompt, seed: int) -> ImageRequest:
        """What the generator is asked for one sample."""
        return ImageRequest(prompt, seed, noise_seed(self.noise, prompt, seed))

    def image_key(self, model: Model, prompt: Prompt, seed: int) -> str:
        """The key under which a sample's image is kept."""
        return self.image_keys(model, prompt, (seed,))[0]

    def image_keys(self, model: Model, prompt: Prompt, seeds: Iterable[int]) -> list[str]:
        """The keys of a prompt's images."""
        info = model.component.info
        drawn = prompt.scene_digest if info.reads_scene else prompt.text_digest
        # images that exist already are found by the prompt's id too
        identity = prompt.id if isinstance(info, ExistingImagesInfo) else ""
        head = encode_canonically([FORMAT, "image", model.fingerprint, drawn, identity])[:-1]
        return [digest_text(f"{head},{seed},{noise_seed(self.noise, prompt, seed)}]") for seed in seeds]


def declared_labels(component: Component[Any]) -> Labels | None:
    """The classes that a judge knows or a generator draws; None where it does not say."""
    labels = getattr(component.info, "labels", None)
    with guard_plugin(component, "to say which classes it knows"):
        return tuple(labels(component.argument, component.options)) if labels else None


def noise_seed(policy: NoisePolicy, prompt: Prompt, seed: int) -> int:
    """The seed of the starting noise: the sample's own, or (below 2**63) one of prompt and seed."""
    if policy == "shared":
        return seed
    return int(digest_data(["noise", prompt.text, seed])[:16], 16) >> 1


def observation_key(judge_fingerprint: str, capability: Capability, query: Query) -> str:
    """The key under which an observation is kept."""
    images = [i.identity for i in query.images]
    head = [FORMAT, "observation", judge_fingerprint, capability]
    return digest_data([*head, images, list(query.texts), dict(query.params)])


def keys_of_images_alone(judge_fingerprint: str, capability: Capability, identities: Iterable[str]) -> list[str]:
    """The same for queries that are about one image each and nothing else, in a third of the time.

    Args:
        judge_fingerprint: What the observations depend on beside the query.
        capability: What is asked.
        identities: `Image.identity` of each image.
    """
    asked = [FORMAT, "observation", judge_fingerprint, capability, ["@"], [], {}]
    before, after = encode_canonically(asked).split("@")
    return [digest_text(f"{before}{identity}{after}") for identity in identities]


def derived_key(observation: str, served: Served, metric: Component[MetricInfo]) -> str:
    """The key under which what a metric derived from an observation is kept."""
    derive = served.need.derive
    assert derive is not None
    function = (derive.function.__module__, getattr(derive.function, "__qualname__", ""))
    whose = [metric.info.name, metric.code_digest, *function, served.need.capability]
    if served.derive_code is not None:
        whose.append(served.derive_code)
    return digest_data([FORMAT, "derived", observation, derive.name, dict(derive.options), *whose])


@dataclass
class Failures:
    """Why samples have no image and queries no answer, in this process.

    They are not kept: the next run tries again.
    healed: digests of images that were damaged and are made again, once
    """

    images: dict[str, Failure] = field(default_factory=dict)
    observations: dict[str, Failure] = field(default_factory=dict)
    healed: set[str] = field(default_factory=set)
