"""Choice of the next task for an annotator: models, then prompts, then seeds with the fewest votes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from random import Random

from t2i_core.api.errors import BadFolder, UnknownName

from .pictures import StudyPicture


@dataclass(frozen=True)
class VoteItem:
    """Item that annotators vote on.

    Attributes:
        models: Two models in alphabetical order, or one.
        prompt: Id of the prompt.
        seeds: Seeds of the images.
    """

    models: tuple[str, ...]
    prompt: str
    seeds: tuple[int, ...]


class Agenda:
    """All items of a study, and how often each was shown.

    Args:
        pictures: All images of the study.
        pairs: Whether annotators compare two models.
        grid: Number of images on each side. When a model's images are shown together and alone, each prompt has
            one item with its first images.
        each: Number of annotators wanted for an item before another item is started.
        baseline: Model with which the others are compared; empty to compare each two models.
        most: Largest number of items of each prompt; None: as many as images allow. Grids beyond those without
            common images are drawn at random, each once.

    Raises:
        BadFolder: If there are no two models to compare, or they have no images in common.
        UnknownName: If there is no model of the baseline's name.
    """

    def __init__(
        self,
        pictures: Iterable[StudyPicture],
        pairs: bool,
        grid: int = 1,
        each: int = 1,
        baseline: str = "",
        most: int | None = None,
    ) -> None:
        self._pairs, self._grid, self._each, self._most = pairs, grid, each, most
        self._items: dict[tuple[tuple[str, ...], str], list[VoteItem]] = {}
        self.seeds: dict[str, dict[str, list[int]]] = {}
        for picture in sorted(pictures, key=lambda p: (p.model, p.prompt, p.seed)):
            self.seeds.setdefault(picture.model, {}).setdefault(picture.prompt, []).append(picture.seed)
        models = sorted(self.seeds)
        if pairs and len(models) < 2:
            raise BadFolder(
                f"only one model ({', '.join(models)}); name runs of two or more models to compare their images"
            )
        if baseline and baseline not in models:
            raise UnknownName.among("baseline", baseline, models, f"the models are {', '.join(models)}")
        groups = combinations(models, 2) if pairs else [(model,) for model in models]
        self._groups: dict[tuple[str, ...], list[str]] = {}
        for group in (group for group in groups if not baseline or baseline in group):
            if prompts := [prompt for prompt in self.seeds[group[0]] if self.items(group, prompt)]:
                self._groups[group] = prompts
        if not self._groups:
            of = f"{grid} seeds" if grid > 1 else "a seed"
            fewer = ", or show fewer images with --grid" if grid > 1 else ""
            raise BadFolder(
                f"no two of the models ({', '.join(models)}) have images of one prompt and {of} in common; "
                f"name runs with the same prompts and seeds{fewer}"
            )
        self._given: Counter[tuple[object, ...]] = Counter()
        self._begun: dict[VoteItem, None] = {}  # in the order in which they were begun

    def __len__(self) -> int:
        return sum(len(self.items(group, prompt)) for group, prompts in self._groups.items() for prompt in prompts)

    def overview(self) -> str:
        """Return the numbers of tasks, models and prompts, in words."""
        prompts = {prompt for of_group in self._groups.values() for prompt in of_group}
        parts = (
            count_things(len(self), "task"),
            count_things(len(self.models), "model"),
            count_things(len(prompts), "prompt"),
        )
        return "{} from {} and {}".format(*parts)

    @property
    def models(self) -> list[str]:
        """Models that can be shown, sorted."""
        return sorted({model for group in self._groups for model in group})

    def items(self, models: tuple[str, ...], prompt: str) -> list[VoteItem]:
        """Return the items of a prompt: as many as there are shared seeds for, or as are wanted."""
        if (known := self._items.get((models, prompt))) is None:
            known = self._items[models, prompt] = self._list_items(models, prompt)
        return known

    def _list_items(self, models: tuple[str, ...], prompt: str) -> list[VoteItem]:
        first, *others = (self.seeds[model].get(prompt, []) for model in models)
        shared = [seed for seed in first if all(seed in other for other in others)]
        step = self._grid
        if not self._pairs and step > 1:
            return [VoteItem(models, prompt, tuple(shared[:step]))]
        sets = [tuple(shared[i : i + step]) for i in range(0, len(shared) - step + 1, step)]
        if self._most is not None:
            random = Random(f"{prompt} {shared}")  # the same sets when the study continues
            wanted = min(self._most, comb(len(shared), step))
            while len(sets) < wanted:
                if (drawn := tuple(sorted(random.sample(shared, step)))) not in sets:
                    sets.append(drawn)
            sets = sets[:wanted]
        return [VoteItem(models, prompt, seeds) for seeds in sets]

    def give(self, item: VoteItem) -> None:
        """Count an item as shown once more."""
        self._given.update([(item.models,), (item.models, item.prompt), (item.prompt,), (item,)])
        wanted = self._given[item,] < self._each and item.models in self._groups
        if wanted and item in self.items(item.models, item.prompt):
            self._begun[item] = None
        else:
            self._begun.pop(item, None)

    def choose(self, done: Container[VoteItem], random: Random) -> VoteItem | None:
        """Return the next item for an annotator: first those that others have begun and too few have seen.

        Args:
            done: Items that the annotator has already seen.
            random: Breaks ties.

        Returns:
            The item, or None if nothing is left.
        """
        if begun := [item for item in self._begun if item not in done]:
            return min(begun, key=lambda item: (-self._given[item,], random.random()))
        for group in sorted(self._groups, key=lambda group: (self._given[group,], random.random())):
            for prompt in self._prompts(group, random):
                items = [item for item in self.items(group, prompt) if item not in done]
                if items:
                    return min(items, key=lambda item: (self._given[item,], random.random()))
        return None

    def _prompts(self, group: tuple[str, ...], random: Random) -> list[str]:
        def key(prompt: str) -> tuple[float, ...]:
            return self._given[group, prompt], self._given[prompt,], random.random()

        return sorted(self._groups[group], key=key)


def count_things(count: int, what: str) -> str:
    """Return a number of things in words: `1 task`, `2 tasks`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
