"""The samples of each model: prompts and seeds, held once for all metrics that use the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.digest import digest_data
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import Defaults, ExistingImagesInfo, GeneratorInfo
from ..api.prompt import Prompt
from .component import Component
from .prompt_lists import PromptLists
from .request import Request
from .sample import Model, SampleGrid

Drawing = tuple[str, str | None, str, str]
"""Name, argument, distribution and digest of the options of a generator."""


def identify_drawing(generator: Component[GeneratorInfo]) -> Drawing:
    """Return what distinguishes the images of one generator from another's; weights and code need not be read."""
    options = digest_data(generator.options.model_dump(mode="json"))
    return generator.info.name, generator.argument, generator.dist, options


class SampleGrids:
    """Makes the samples of models."""

    def __init__(self, request: Request, lists: PromptLists) -> None:
        self._request = request
        self._lists = lists
        self._grids: dict[Any, SampleGrid] = {}

    def make(self, model: Model, prompts: tuple[Prompt, ...], seeds: tuple[int, ...]) -> SampleGrid:
        """Return a model's samples, the same object for all metrics that use the same ones."""
        key = (model.label, identify_drawing(model.component), id(prompts), seeds)
        if key not in self._grids:
            texts = None if model.perturbation is None else self._lists.perturb(model.perturbation, prompts)
            self._grids[key] = SampleGrid(model, prompts, seeds, self._request.noise, self._request.shard, texts)
        return self._grids[key]

    def choose_seeds(self, generator: Component[GeneratorInfo], defaults: Defaults) -> tuple[int, ...]:
        """Return the seeds that the user names, those of existing images, or the metric's number of them."""
        if self._request.seeds is not None:
            return self._request.seeds
        there = list_seeds(generator)
        return tuple(range(defaults.seeds or 1)) if there is None else there


def list_seeds(generator: Component[GeneratorInfo]) -> tuple[int, ...] | None:
    """Return the seeds of existing images; None for a generator that draws any seed."""
    info = generator.info
    if not isinstance(info, ExistingImagesInfo) or info.seeds is None:
        return None
    with guard_plugin(generator, "to say its seeds"):
        return tuple(info.seeds(generator.setup()))


def name_seeds(seeds: Sequence[int] | None) -> str:
    """Return seeds in words, the first ten of them."""
    if not seeds:
        return "no seed"
    text = ", ".join(map(str, seeds[:10]))
    return f"seed {text}" if len(seeds) == 1 else f"seeds {text}{', ...' if len(seeds) > 10 else ''}"
