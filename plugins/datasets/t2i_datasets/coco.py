"""COCO captions as prompts, from the official JSON or from a published list of single captions.

References:
    Chen et al.: Microsoft COCO Captions. arXiv:1504.00325. The splits: Karpathy, Fei-Fei: Deep Visual-Semantic
    Alignments. CVPR 2015.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import Prompt
from t2i_core.io.text_file import read_text

from . import published_list
from .options import CocoOptions
from .published_list import ListedCaption
from .sampling import rank, sample

CaptionT = TypeVar("CaptionT")


class CocoCaption(NamedTuple):
    """One caption of one image, with COCO's ids."""

    image: int
    id: int
    text: str


def prompts(file: Path, options: CocoOptions) -> Iterator[Prompt]:
    """Yield the selected captions by image and id, or those of a published list. Raises BadPrompts.

    The captions of an image are a cluster, and all of them are references of each.
    """
    if (listed := published_list.read_list(file)) is not None:
        yield from _of_list(file, listed, options)
        return
    if options.references is not None:
        raise BadPrompts(f"{file}: has all captions of its images; remove the option references")
    captions = _captions(file)
    if options.split_file is not None:
        captions = _of_split(captions, file, Path(options.split_file), options.split)
    per_image = {image: list(own) for image, own in groupby(sorted(captions), key=lambda caption: caption.image)}
    candidates = (caption for own in per_image.values() for caption in _of_image(own, options))
    chosen = _sample(file, candidates, options, _id)
    for caption in chosen:
        yield Prompt(
            f"coco-{caption.id}",
            caption.text,
            cluster=f"coco-image-{caption.image}",
            references=tuple(each.text for each in per_image[caption.image]),
        )


def _of_list(file: Path, listed: list[ListedCaption], options: CocoOptions) -> Iterator[Prompt]:
    if options.split_file is not None:
        raise BadPrompts(f"{file}: is a list of captions; remove the option split_file")
    chosen = _sample(file, listed, options, lambda caption: caption.id)
    known = None if options.references is None else _read_references(options.references)
    for caption in chosen:
        references = caption.references if known is None else known.get(caption.image)
        if references is None:
            raise BadPrompts(f"{options.references}: has no caption of image {caption.image}, which {file} lists")
        cluster = f"coco-image-{caption.image}"
        yield Prompt(caption.id, caption.text, cluster=cluster, references=references)


def _sample(
    file: Path, captions: Iterable[CaptionT], options: CocoOptions, key: Callable[[CaptionT], str | int]
) -> list[CaptionT]:
    """Return a sample of captions. Raises BadPrompts if there are fewer than the limit."""
    chosen = sample(captions, options.limit, options.seed, key)
    if options.limit is not None and len(chosen) < options.limit:
        raise BadPrompts(f"{file}: limit is {options.limit}, but the file has only {len(chosen)} captions")
    return chosen


def _read_references(file: Path) -> dict[int, tuple[str, ...]]:
    """Return all captions by image, from COCO's file of captions or Karpathy's dataset_coco.json."""
    data = _json(file)
    if not (isinstance(data, dict) and isinstance(data.get("images"), list) and "annotations" not in data):
        found: dict[int, tuple[str, ...]] = {}
        for caption in sorted(_captions(file)):
            found[caption.image] = (*found.get(caption.image, ()), caption.text)
        return found
    try:
        return {
            int(image["cocoid"]): tuple(" ".join(each["raw"].split()) for each in image["sentences"])
            for image in data["images"]
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadPrompts(
            f"{file}: its images must have a whole number 'cocoid' and 'sentences' with a text 'raw', as "
            "Karpathy's dataset_coco.json has them"
        ) from error


def _id(caption: CocoCaption) -> int:
    return caption.id


def _of_image(own: list[CocoCaption], options: CocoOptions) -> list[CocoCaption]:
    if options.captions == "all":
        return own
    if options.captions == "random":
        return [min(own, key=lambda caption: rank(options.seed, f"of image {caption.id}"))]
    return own[:1]


def _captions(file: Path) -> list[CocoCaption]:
    data = _json(file)
    annotations = data.get("annotations") if isinstance(data, dict) else None
    if not isinstance(annotations, list):
        raise BadPrompts(
            f"{file}: has no list 'annotations'; name a file of COCO's captions (captions_val2014.json)"
        )
    if annotations and isinstance(annotations[0], dict) and "caption" not in annotations[0]:
        raise BadPrompts(f"{file}: must be a file of captions (captions_*.json), not of instances or keypoints")
    captions, seen = [], set()
    for number, each in enumerate(annotations):
        try:
            # the originals have line breaks and trailing blanks
            caption = CocoCaption(int(each["image_id"]), int(each["id"]), " ".join(each["caption"].split()))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadPrompts(
                f"{file}: annotations[{number}]: wants a text 'caption' and whole numbers 'id' and 'image_id'"
            ) from error
        if not caption.text:
            raise BadPrompts(f"{file}: annotations[{number}]: the caption {caption.id} is empty")
        if caption.id in seen:
            raise BadPrompts(f"{file}: annotations[{number}]: the caption {caption.id} appears twice")
        seen.add(caption.id)
        captions.append(caption)
    if not captions:
        raise BadPrompts(f"{file}: holds no captions")
    return captions


def _of_split(captions: Iterable[CocoCaption], file: Path, split_file: Path, split: str) -> list[CocoCaption]:
    """Return the captions of a split's images. Raises BadPrompts if the file has no caption for an image."""
    data = _json(split_file)
    listed = data.get("images") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise BadPrompts(f"{split_file}: has no list 'images'; name Karpathy's dataset_coco.json")
    images = set()
    for number, image in enumerate(listed):
        try:
            if image["split"] == split:
                images.add(int(image["cocoid"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadPrompts(
                f"{split_file}: images[{number}]: wants a text 'split' and a whole number 'cocoid', as Karpathy's "
                "dataset_coco.json has them"
            ) from error
    if not images:
        raise BadPrompts(f"{split_file}: has no image of the split {split!r}")
    own = [caption for caption in captions if caption.image in images]
    if missing := images - {caption.image for caption in own}:
        raise BadPrompts(
            f"{file}: has no caption of {len(missing)} of the {len(images)} images of {split!r} "
            f"(first: {min(missing)}); test, val and restval are in captions_val2014.json, train in "
            "captions_train2014.json"
        )
    return own


def _json(file: Path) -> Any:
    text = read_text(file, BadPrompts)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{file}: not JSON ({error})") from error
