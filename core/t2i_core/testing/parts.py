"""Parts to evaluate with in tests: no weights, no downloads, milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PILImage

from ..api.adapter import find_chain
from ..api.errors import NoJudge, UnknownName
from ..api.extension import Extension
from ..api.failure import Failure
from ..api.generator import Generated, ImageRequest
from ..api.image import Image, load_image
from ..api.judge import Capability, Query
from ..api.observation import Observation, find_capability, list_capabilities
from ..api.plugin_info import INFO_TYPES, Domain, GeneratorInfo, Info, JudgeInfo, Kind, PromptSourceInfo, Setup
from ..api.prompt import ObjectClass, Prompt, Scene, SceneObject
from ..api.resolver import Isolate, JudgeChoice, OptionTable
from ..engine.component import Component, settle_component

CLASSES = (ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01"))


class StaticResolver:
    """A resolver that finds only the given descriptors, for evaluations without installed plugins."""

    def __init__(self, *infos: Info) -> None:
        self._infos = {
            (kind, info.name): info for info in infos for kind, t in INFO_TYPES.items() if isinstance(info, t)
        }

    def component(self, kind: Kind, spec: str, options: OptionTable) -> Component[Any]:
        """Return the component of a name, its options checked."""
        name, _, argument = spec.partition(":")
        if (kind, name) not in self._infos:
            raise UnknownName.among(kind, name, [n for k, n in self._infos if k == kind])
        info = self._infos[kind, name]
        given = {**options.get(name, {}), **options.get(f"{kind}:{name}", {})}
        return Component(kind, spec, info, info.options(**given), argument or None).for_argument()

    def with_environments(self, isolate: Isolate) -> StaticResolver:
        """Return this resolver: its descriptors are in this process's memory."""
        return self

    def choose_judge(
        self,
        capability: Capability,
        requires: frozenset[str],
        asked: Sequence[str],
        preferred: Sequence[tuple[str, str]],
        domain: Domain,
        options: OptionTable,
    ) -> JudgeChoice[Component[Any]]:
        """Return the first judge that can serve, one of those asked for if possible."""
        wanted = {word.removeprefix(f"{capability}=") for word in asked}
        choices = []
        for (kind, name), info in self._infos.items():
            if kind == "judge" and isinstance(info, JudgeInfo):
                chain = find_chain(capability, frozenset(info.capabilities))
                if chain is not None and requires <= info.capabilities[chain[-1].offered if chain else capability]:
                    choices.append(JudgeChoice(self.component("judge", name, options), chain, "given by the test"))
        if not choices:
            raise NoJudge(f"no judge given offers {capability}")
        return min(choices, key=lambda c: c.judge.name not in wanted)

    def read_options(self, assignments: Iterable[str]) -> OptionTable:
        """Read `NAME.KEY=VALUE` texts into an option table."""
        table: dict[str, dict[str, Any]] = {}
        for text in assignments:
            place, _, value = text.partition("=")
            name, _, key = place.rpartition(".")
            table.setdefault(name, {})[key] = value
        return table

    def apply_suite(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse the suite: no plugin is installed."""
        raise UnknownName.among("suite", name, [])

    def manifest(self) -> list[dict[str, Any]]:
        """Return the names of the given descriptors."""
        return [{"kind": kind, "name": name} for kind, name in self._infos]

    def list_extensions(self, group: str) -> Sequence[Extension]:
        """Return nothing: no plugin is installed."""
        return ()

    def find_missing_dist(self, name: str) -> str | None:
        """Return None: no plugin is known."""
        return None


class _NoiseModel:
    """Draws noise that depends on seed and text alone."""

    settings: Mapping[str, Any] = {"size": 32}

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        for request in requests:
            rng = np.random.default_rng([request.noise_seed, *request.prompt.text.encode()])
            yield request, Generated(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8))


class _AllCapabilities(Mapping[Capability, frozenset[str]]):
    """Every capability that there is by now, with all that a judge may give beyond the required."""

    def __getitem__(self, name: Capability) -> frozenset[str]:
        if name not in list_capabilities():
            raise KeyError(name)
        return frozenset(find_capability(name).extras)

    def __iter__(self) -> Iterator[Capability]:
        return iter(list_capabilities())

    def __len__(self) -> int:
        return len(list_capabilities())


class _MeanJudge:
    """Answers every capability from the image's mean colour, as its class says."""

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        for query in queries:
            yield query, _make_answer(capability, query)


def _make_answer(capability: Capability, query: Query) -> Observation:
    pixels = query.images[0].pixels if query.images else np.full((32, 32, 3), len(query.texts[0]) % 256, np.uint8)
    vector = pixels.mean(axis=(0, 1)).astype(np.float32)
    return find_capability(capability).sample(query, vector, CLASSES)


def _prompts(setup: Setup[Any]) -> Iterator[Prompt]:
    for cls in CLASSES:
        yield Prompt(
            id=cls.name,
            text=f"a photo of a {cls.name}",
            scene=Scene((SceneObject(cls),)),
            facets={"object": cls.name},
        )


TEST_MODEL = GeneratorInfo(name="test-noise", summary="Noise by seed.", create=lambda setup: _NoiseModel())
"""A model: 32 x 32 pixels of noise, the same for the same seed and text."""

TEST_JUDGE = JudgeInfo(
    name="test-mean",
    summary="Answers from the mean colour.",
    capabilities=_AllCapabilities(),
    create=lambda setup: _MeanJudge(),
    labels=lambda argument, options: CLASSES,
)
"""A judge that offers every capability and knows two classes, car and dog."""

TEST_PROMPTS = PromptSourceInfo(name="test-prompts", summary="A car and a dog.", prompts=_prompts)
"""Two prompts, with scenes."""


def sample_images(folder: Path, count: int = 3, size: int = 32) -> list[Image]:
    """Write images of smooth colours and noise to a folder and return them."""
    images = []
    for index in range(count):
        rng = np.random.default_rng(index)
        ramp = np.linspace(0, 255, size)[:, None, None] * rng.uniform(0.3, 1, 3)
        pixels: NDArray[np.uint8] = np.clip(ramp + rng.normal(0, 10, (size, size, 3)), 0, 255).astype(np.uint8)
        file = folder / f"{index}.png"
        PILImage.fromarray(pixels).save(file)
        images.append(load_image(file))
    return images


def settle(info: Info, options: Mapping[str, Any], argument: str | None) -> Component[Any]:
    """Settle a descriptor with options given as plain data."""
    return settle_component(info, info.options(**options), argument)
