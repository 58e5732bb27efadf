"""Models, prompts and seeds that files of battles name, so that published battles can be rated without images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from t2i_core.api import ExistingImagesInfo, Failure, Generated, ImageRequest, Prompt, Setup
from t2i_core.api.facet_levels import join_levels

from .battle_files import read_battles
from .battles import Battle


class AbsentImages:
    """Images of a model that files of battles name: none is here."""

    def __init__(self, setup: Setup[Any]) -> None:
        pass

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request as missing."""
        for request in requests:
            yield request, Failure("only battles of this model are here, no images", missing=True)


def list_battle_models(paths: Sequence[Path]) -> Mapping[str, ExistingImagesInfo]:
    """Return the models that files of battles name, in order of their names, with the prompts of the battles.

    Args:
        paths: The files.

    Raises:
        BadOption: If a file cannot be read.
    """
    battles = list(chain.from_iterable(map(read_battles, paths)))
    prompts = _list_prompts(battles)
    seeds = sorted({battle.seed for battle in battles if battle.seed is not None}) or [0]
    info = ExistingImagesInfo(
        name="battles",
        summary="A model that files of battles name; its images are not here.",
        create=AbsentImages,
        code=("battle_models.py", "battle_files.py"),
        prompts=partial(_give, prompts),
        seeds=partial(_give, seeds),
        holds=_hold_none,
    )
    return dict.fromkeys(sorted({model for battle in battles for model in (battle.left, battle.right)}), info)


def _list_prompts(battles: Iterable[Battle]) -> list[Prompt]:
    """Return the prompts that battles name. Files have no texts, so the id stands for the text."""
    subsets: dict[str, list[str]] = {}
    for battle in battles:
        if battle.prompt:
            subsets.setdefault(battle.prompt, []).extend([battle.subset] if battle.subset else [])
    return [
        Prompt(prompt, prompt, facets={"subset": join_levels(own)} if own else {})
        for prompt, own in subsets.items()
    ]


def _give(found: Any, setup: Setup[Any]) -> Any:
    return found


def _hold_none(setup: Setup[Any]) -> Any:
    return lambda prompt, seed: False
