"""ARO's tasks of attributes and relations: Visual Genome's images, each with a true and a false caption.

The false caption exchanges the two attributes or the two objects of the true one.

References:
    Yuksekgonul et al.: When and why vision-language models behave like bags-of-words, and what to do about it?
    ICLR 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from t2i_core.api import Prompt, Setup
from t2i_core.io.prompt_images import PromptImages

from ..task_options import AroOptions, AroRelationOptions
from .fields import TaskEntry, find_folder, read_list
from .parts import crop_image
from .selection import Draft, build_samples

SPATIAL = frozenset(
    {"above", "at", "behind", "below", "beneath", "in", "in front of", "inside", "on", "on top of"}
    | {"to the left of", "to the right of", "under"}
)
"""The relations that the appendix of ARO's paper calls spatial."""


def attribution(setup: Setup[AroOptions]) -> Iterator[Prompt]:
    """Yield the samples of attributes.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
    """
    file = find_folder(setup.argument, "aro-attribution") / "visual_genome_attribution.json"
    return _samples(
        file, [(n, entry, "", {}) for n, entry in enumerate(read_list(file))], "attribute-binding", setup
    )


def relation(setup: Setup[AroRelationOptions]) -> Iterator[Prompt]:
    """Yield the samples of relations.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
    """
    file = find_folder(setup.argument, "aro-relation") / "visual_genome_relation.json"
    every = setup.options.relations == "all"
    named = [(n, entry, entry.text("relation_name")) for n, entry in enumerate(read_list(file))]
    kept = [(n, entry, name, {"relation": name}) for n, entry, name in named if every or name in SPATIAL]
    return _samples(file, kept, "spatial", setup)


def _samples(
    file: Path, entries: list[tuple[int, TaskEntry, str, dict[str, str]]], task: str, setup: Setup[Any]
) -> Iterator[Prompt]:
    options: AroOptions = setup.options
    drafts = [draft for one in entries if (draft := _draft(file, *one, task, options.crop)) is not None]
    with PromptImages() as images:
        shown = partial(crop_image, images=images, dry=setup.dry)
        yield from build_samples(drafts, "aro", str(file), options.limit, options.seed, shown)


def _draft(
    file: Path, number: int, entry: TaskEntry, answer: str, facets: dict[str, str], task: str, crop: bool
) -> Draft | None:
    """Return one sample; None if both captions are equal (a dog to the left of a dog)."""
    right, wrong = entry.text("true_caption"), entry.text("false_caption")
    if right == wrong:
        return None
    return Draft(
        id=f"{file.stem.replace('visual_genome', 'aro').replace('_', '-')}-{number}",
        image=file.parent / "images" / entry.text("image_path"),
        right=right,
        wrong=(wrong,),
        task=task,
        answer=answer,
        part=_box(entry) if crop else None,
        facets=facets,
    )


def _box(entry: TaskEntry) -> tuple[int, int, int, int]:
    x, y, width, height = (entry.number(f"bbox_{name}") for name in "xywh")
    if min(width, height) < 1:
        entry.fail("bbox_w" if width < 1 else "bbox_h", f"must be at least 1 (got {min(width, height)})")
    return x, y, width, height
