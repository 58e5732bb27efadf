"""ARO: who has which attribute, and who stands how to whom, in boxes of Visual Genome's images.

Yuksekgonul et al.: When and why vision-language models behave like bags-of-words, and what to do about it? ICLR
2023. Each image has a true caption and one whose attributes or objects are exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2i_core import Prompt, Setup
from t2i_core.store import Store

from ..task_options import AroOptions, AroRelationOptions
from .fields import Entry, folder_of, listed
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
    return _samples(
        file, [(n, entry, "", {}) for n, entry in enumerate(listed(file))], "attribute-binding", setup.options
    )


def relation(setup: Setup[AroRelationOptions]) -> Iterator[Prompt]:
    """Yield the samples of relations, each of them as often as there are. Raises BadPrompts."""
    file = folder_of(setup.argument, "aro-relation") / "visual_genome_relation.json"
    every = setup.options.relations == "all"
    named = [(n, entry, entry.text("relation_name")) for n, entry in enumerate(listed(file))]
    kept = [(n, entry, name, {"relation": name}) for n, entry, name in named if every or name in SPATIAL]
    return _samples(file, kept, "spatial", setup.options)


def _samples(
    file: Path, entries: list[tuple[int, Entry, str, dict[str, str]]], task: str, options: AroOptions
) -> Iterator[Prompt]:
    drafts = [_draft(file, *one, task, options.crop) for one in entries]
    with Store() as store:
        yield from samples(drafts, "aro", str(file), options.limit, options.seed, lambda draft: cut(draft, store))


def _draft(
    file: Path, number: int, entry: Entry, answer: str, facets: dict[str, str], task: str, crop: bool
) -> Draft:
    box = tuple(entry.number(f"bbox_{name}") for name in "xywh")
    if min(box[2:]) < 1:
        entry.fail("bbox_w" if box[2] < 1 else "bbox_h", "want 1 or more")
    right, wrong = entry.text("true_caption"), entry.text("false_caption")
    if right == wrong:
        entry.fail("false_caption", "is the true one")
    return Draft(
        id=f"{file.stem.replace('visual_genome', 'aro').replace('_', '-')}-{number}",
        image=file.parent / "images" / entry.text("image_path"),
        right=right,
        wrong=(wrong,),
        task=task,
        answer=answer,
        part=(box[0], box[1], box[2], box[3]) if crop else None,
        facets=facets,
    )
