"""The data sets of Lewis et al.: CLEVR images of one object, two objects or a relation, each with five captions.

The wrong captions are those of the data sets. For a relation a R b they are b R a, a S b with the opposite
relation S, and c R b and a R c with another object c. The right caption can be inferred from the five captions
alone, because it is the most similar to all others.

References:
    Lewis et al.: Does CLIP Bind Concepts? Probing Compositionality in Large Image Models. arXiv:2212.10537.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.io.table import read_table

from ..task_options import BindingOptions
from .fields import find_folder, read_object
from .selection import Draft, build_samples, derive_rng

_NOUNS = ("cube", "sphere", "cylinder")
_OPPOSITE = {"front": "behind", "behind": "front", "left": "right", "right": "left"}
_COLUMNS = ("file_name", "pos", "neg_0", "neg_1", "neg_2", "neg_3")


def prompts(setup: Setup[BindingOptions]) -> Iterator[Prompt]:
    """Yield the samples.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
    """
    folder, options = find_folder(setup.argument, "clevr-binding"), setup.options
    part = folder / options.part.replace("-", "_")
    if options.part == "rel":
        file = part / f"{options.split}.json"
        drafts = _relations(file, part / "images" / options.split, options)
    else:
        alone = options.part == "single-object"  # it has one folder of images, and names its last split `test`
        file = part / f"{'test' if alone and options.split == 'gen' else options.split}.csv"
        drafts = _objects(file, part / "images" / ("" if alone else options.split), options)
    return build_samples(drafts, "clevr-binding", str(file), options.limit, options.seed)


def _objects(file: Path, images: Path, options: BindingOptions) -> Iterator[Draft]:
    for row in read_table(file, BadPrompts, _COLUMNS):
        if missing := next((name for name in _COLUMNS if name not in row.cells), None):
            raise BadPrompts(
                f"{file}, line {row.line}: column {missing!r} is empty; fill it in or delete the line"
            )
        name, right, *wrong = (row.cells[column] for column in _COLUMNS)
        if len({right, *wrong}) < len(wrong) + 1:
            raise BadPrompts(f"{file}, line {row.line}: pos and neg_0 to neg_3 must be five different captions")
        yield _draft(f"{options.part}-{row.line}", images / name, right, wrong, "attribute-binding", options)


def _relations(file: Path, images: Path, options: BindingOptions) -> Iterator[Draft]:
    for name, entry in read_object(file).items():
        for number, right in enumerate(entry.texts("pos")):
            words = right.split()
            if len(words) != 3 or words[1] not in _OPPOSITE or len({words[0], words[2]} & set(_NOUNS)) != 2:
                entry.fail(
                    f"pos[{number}]",
                    f"must be two of {', '.join(_NOUNS)} with one of {', '.join(_OPPOSITE)} between them "
                    f"(got {right!r})",
                )
            one, relation, other = words
            third = next(noun for noun in _NOUNS if noun not in (one, other))
            wrong = [
                f"{other} {relation} {one}",
                f"{one} {_OPPOSITE[relation]} {other}",
                f"{third} {relation} {other}",
                f"{one} {relation} {third}",
            ]
            id = f"rel-{options.split}-{Path(name).stem}-{number}"
            yield _draft(id, images / name, right, wrong, "spatial", options)


def _draft(id: str, image: Path, right: str, wrong: list[str], task: str, options: BindingOptions) -> Draft:
    choices = options.choices or (4 if task == "spatial" else 2)
    kept = derive_rng(options.seed, "clevr-binding", id).sample(wrong, choices - 1)
    right, *others = (options.template.format(text) for text in (right, *kept))
    return Draft(f"clevr-binding-{id}", image, right, tuple(others), task)
