"""Samples of a plan: each model's prompts by its seeds, each with an identity that is computed once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, TypeVar

from ..api.digest import digest_data, digest_text, encode_canonically
from ..api.generator import ImageRequest
from ..api.plugin_info import ExistingImagesInfo, GeneratorInfo, PromptSourceInfo
from ..api.prompt import ObjectClass, Prompt
from ..storage.store import FORMAT
from .component import Component
from .request import NoisePolicy

_KEY_BYTES = 32
ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Model:
    """A generator with its label and settings.

    Attributes:
        component: The generator.
        label: Its name in results.
        settings: The options that the user gave it.
        unshared_seeds: Why its images of one seed have nothing in common between prompts, if they exist already
            and their seeds are not shared; None otherwise.
        classes: The classes that it declares; None if it declares none.
        perturbation: The source that changes the texts that it gets; None if it gets the prompts' own.
    """

    component: Component[GeneratorInfo]
    label: str
    settings: dict[str, Any]
    unshared_seeds: str | None = None
    classes: tuple[ObjectClass, ...] | None = None
    perturbation: Component[PromptSourceInfo] | None = None

    @property
    def fingerprint(self) -> str:
        """Digest of everything that the generator's images depend on."""
        return self.component.fingerprint


@dataclass(slots=True)
class PlannedSample:
    """One prompt and seed for one model. Nothing changes it; to freeze it would triple the time of making one.

    Attributes:
        index: Its place among the model's samples of its grid.
        model: The model.
        prompt: The prompt.
        seed: The seed, as the user counts it.
        noise_seed: The seed of the starting noise.
        key: The key of the image in the cache (SHA-256, hex).
        sent: The prompt as the generator gets it: the prompt itself, or with its changed text.
    """

    index: int
    model: Model
    prompt: Prompt
    seed: int
    noise_seed: int
    key: str
    sent: Prompt

    def request(self) -> ImageRequest:
        """Return the request to the generator."""
        return ImageRequest(self.sent, self.seed, self.noise_seed)


class SampleGrid(Sequence[PlannedSample]):
    """The samples of one model: its prompts by its seeds, prompt after prompt.

    Keys and noise seeds are computed once, at their first use, and kept packed (40 bytes a sample): every pass
    gets the same ones.

    Args:
        model: The model.
        prompts: Its prompts.
        seeds: The seeds of each prompt.
        noise: The source of the starting noise.
        shard: (i, n): only the i-th of every n samples, i from 1. If None, all.
        texts: The changed text of each prompt, by its id. If None, the generator gets the prompts as they are.
    """

    def __init__(
        self,
        model: Model,
        prompts: tuple[Prompt, ...],
        seeds: tuple[int, ...],
        noise: NoisePolicy,
        shard: tuple[int, int] | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self.model, self.prompts, self.seeds, self.noise, self.shard = model, prompts, seeds, noise, shard
        self.texts = texts
        self._sent = {} if texts is None else {p.id: replace(p, text=texts[p.id]) for p in prompts}
        self._keys = bytearray()
        self._noise_seeds = array("Q")
        self._missing_keys = self._compute_keys()

    def __len__(self) -> int:
        part, parts = self.shard or (1, 1)
        return len(range(part - 1, len(self.prompts) * len(self.seeds), parts))

    def __getitem__(self, index: Any) -> Any:
        """Return the sample at an index. Slices are not supported."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        part, parts = self.shard or (1, 1)
        number, column = divmod(part - 1 + index * parts, len(self.seeds))
        return self._make_sample(index, self.prompts[number], self.seeds[column])

    def __iter__(self) -> Iterator[PlannedSample]:
        for index, (prompt, seed) in enumerate(self.cells()):
            yield self._make_sample(index, prompt, seed)

    def cells(self) -> Iterator[tuple[Prompt, int]]:
        """Yield the prompt and the seed of each sample."""
        part, parts = self.shard or (1, 1)
        return islice(product(self.prompts, self.seeds), part - 1, None, parts)

    def _make_sample(self, index: int, prompt: Prompt, seed: int) -> PlannedSample:
        while index * _KEY_BYTES >= len(self._keys):
            next(self._missing_keys)
        key = self._keys[index * _KEY_BYTES : (index + 1) * _KEY_BYTES].hex()
        noise = self._noise_seeds[index] if self._noise_seeds else seed
        return PlannedSample(index, self.model, prompt, seed, noise, key, self._sent.get(prompt.id, prompt))

    def _compute_keys(self) -> Iterator[None]:
        """Compute one more key each time, with its noise seed if that is not the sample's own seed."""
        own_noise = self.noise == "per-prompt"
        before: Prompt | None = None
        for prompt, seed in self.cells():
            if prompt is not before:
                head, before = self.make_key_head(prompt), prompt
            noise = noise_seed(self.noise, prompt, seed)
            if own_noise:
                self._noise_seeds.append(noise)
            self._keys += bytes.fromhex(image_key(head, seed, noise))
            yield

    def make_key_head(self, prompt: Prompt) -> str:
        """Return the common beginning of the keys of a prompt's images, as canonical JSON without its end."""
        info, sent = self.model.component.info, self._sent.get(prompt.id, prompt)
        drawn = sent.scene_digest if info.reads_scene else sent.text_digest
        # existing images are also found by the prompt's id
        identity = prompt.id if isinstance(info, ExistingImagesInfo) else ""
        return encode_canonically([FORMAT, "image", self.model.fingerprint, drawn, identity])[:-1]


BLOCK = 64
"""Number of samples that are looked up together."""


def iterate_blocks(items: Iterable[ItemT], size: int = BLOCK) -> Iterator[list[ItemT]]:
    """Yield items in lists of at most `size`."""
    rest = iter(items)
    while block := list(islice(rest, size)):
        yield block


def image_key(head: str, seed: int, noise: int) -> str:
    """Return the key of an image in the cache.

    Args:
        head: The common beginning of the keys of its prompt's images: a JSON list without its end.
        seed: The sample's seed.
        noise: The seed of its starting noise.
    """
    return digest_text(f"{head},{seed},{noise}]")


def noise_seed(policy: NoisePolicy, prompt: Prompt, seed: int) -> int:
    """Return the seed of the starting noise: the sample's own, or one made from prompt and seed (below 2**63)."""
    if policy == "shared":
        return seed
    return int(digest_data(["noise", prompt.text, seed])[:16], 16) >> 1
