"""ARO: who has which attribute, and who stands how to whom, in boxes of Visual Genome's images.

Yuksekgonul et al.: When and why vision-language models behave like bags-of-words, and what to do about it? ICLR
2023. Each image has a true caption and one whose attributes or objects are exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from t2i_core.api import Prompt, Setup
from t2i_core.io.prompt_images import PromptImages

from ..task_options import AroOptions, AroRelationOptions
from .fields import TaskEntry, folder_of, listed
from .parts import cut
from .picking import Draft, samples

#: The relations that the paper's appendix calls spatial.
SPATIAL = frozenset(
    {"above", "at", "behind", "below", "beneath", "in", "in front of", "inside", "on", "on top of"}
    | {"to the left of", "to the right of", "under"}
)


def attribution(setup: Setup[AroOptions]) -> Iterator[Prompt]:
    """Yield the samples of attributes. Raises BadPrompts."""
    file = folder_of(setup.argument, "aro-attribution") / "visual_genome_attribution.json"
    return _samples(file, [(n, entry, "", {}) for n, entry in enumerate(listed(file))], "attribute-binding", setup)


def relation(setup: Setup[AroRelationOptions]) -> Iterator[Prompt]:
    """Yield the samples of relations, each of them as often as there are. Raises BadPrompts."""
    file = folder_of(setup.argument, "aro-relation") / "visual_genome_relation.json"
    every = setup.options.relations == "all"
    named = [(n, entry, entry.text("relation_name")) for n, entry in enumerate(listed(file))]
    kept = [(n, entry, name, {"relation": name}) for n, entry, name in named if every or name in SPATIAL]
    return _samples(file, kept, "spatial", setup)


def _samples(
    file: Path, entries: list[tuple[int, TaskEntry, str, dict[str, str]]], task: str, setup: Setup[Any]
) -> Iterator[Prompt]:
    options: AroOptions = setup.options
    drafts = [draft for one in entries if (draft := _draft(file, *one, task, options.crop)) is not None]
    with PromptImages() as images:
        shown = partial(cut, images=images, dry=setup.dry)
        yield from samples(drafts, "aro", str(file), options.limit, options.seed, shown)


def _draft(
    file: Path, number: int, entry: TaskEntry, answer: str, facets: dict[str, str], task: str, crop: bool
) -> Draft | None:
    """One sample; None where what was exchanged is the same (a dog to the left of a dog)."""
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
        entry.fail("bbox_w" if width < 1 else "bbox_h", "want 1 or more")
    return x, y, width, height
