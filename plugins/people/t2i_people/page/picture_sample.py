"""A random sample of a study's pictures, with the same prompts and seeds for all models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

from t2i_core.api.errors import BadOption

from .pictures import Material, StudyPicture

Item = TypeVar("Item")


def draw_pictures(material: Material, limit: int, whole_prompts: bool, seed: int) -> tuple[StudyPicture, ...]:
    """Return the pictures of randomly drawn prompts and seeds that all models have.

    The sample is spread over the subsets of prompts, then over prompts: a second seed of a prompt is drawn only
    when every prompt of its subset has one.

    Args:
        material: All pictures.
        limit: Number of pictures of each model, or of prompts.
        whole_prompts: Whether to draw prompts with all their seeds, because several are shown at once.
        seed: Random seed.

    Raises:
        BadOption: If the models have no prompt and seed in common.
    """
    places = [{(p.prompt, p.seed) for p in material.pictures if p.model == model} for model in material.models]
    shared = set.intersection(*places)
    if not shared:
        raise BadOption("--limit: the models have no prompt and seed in common; leave it out")
    random = Random(f"pictures {seed}")
    subsets: dict[str, dict[str, list[tuple[str, int]]]] = {}
    for prompt, number in sorted(shared):
        subsets.setdefault(material.prompts[prompt][1], {}).setdefault(prompt, []).append((prompt, number))
    by_subset = []
    for prompts in subsets.values():
        groups = [random.sample(own, len(own)) for own in random.sample(list(prompts.values()), len(prompts))]
        by_subset.append([group[0] for group in groups] if whole_prompts else list(take_turns(groups)))
    chosen = set(list(take_turns(by_subset))[:limit])
    wanted = {prompt for prompt, _ in chosen}
    return tuple(
        p for p in material.pictures if (p.prompt in wanted if whole_prompts else (p.prompt, p.seed) in chosen)
    )


def take_turns(groups: Sequence[Sequence[Item]]) -> Iterable[Item]:
    """Yield the first item of each group, then the second of each that has one, and so on."""
    for turn in range(max(map(len, groups), default=0)):
        yield from (group[turn] for group in groups if turn < len(group))
