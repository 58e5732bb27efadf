"""Images that a program gives itself, in the order of their prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

import numpy as np
from PIL.Image import Image as PILImage

from ..api.errors import BadModel
from ..api.failure import Failure
from ..api.generator import Generated, ImageRequest
from ..api.plugin_info import ExistingImagesInfo, Setup
from ..api.prompt import Prompt
from ..files.digest import digest_file
from ..files.home_folder import expand_path
from .code.digest import digest_code
from .request import ModelRequest

_DIGITS = 12


def list_image_models(images: Any, prompts: Sequence[Prompt]) -> list[ModelRequest]:
    """Return given images as models.

    Args:
        images: One image for each prompt, in the same order; or several such lists by label.
        prompts: The prompts. A prompt that stands there several times has several images, which get the seeds 0,
            1, ... in their order.

    Raises:
        BadModel: If these are not lists, their lengths differ from that of the prompts, or one is not an image.
    """
    sets = images if isinstance(images, Mapping) else {"images": images}
    if not sets:
        raise BadModel("images must not be empty; give one for each prompt")
    listed = {label: _list_images(each, str(label)) for label, each in sets.items()}
    return [ModelRequest(_describe(label, each, prompts), str(label)) for label, each in listed.items()]


def _list_images(images: Any, label: str) -> list[Any]:
    single = isinstance(images, str | bytes | Path | PILImage | Mapping) or hasattr(images, "columns")
    pixels = isinstance(images, np.ndarray) and images.ndim in (2, 3)
    if single or pixels or not hasattr(images, "__iter__") or getattr(images, "ndim", 1) == 0:
        raise BadModel(
            f"{label}: must be a list with one image for each prompt, such as [image] "
            f"(got {_describe_type(images)}); the images of a folder are the model 'folder:DIR'"
        )
    return list(images)


def _describe_type(value: Any) -> str:
    return shorten(value) if isinstance(value, str | bytes | int | float) else f"one {type(value).__name__}"


def _describe(label: Any, images: Sequence[Any], prompts: Sequence[Prompt]) -> ExistingImagesInfo:
    if len(images) != len(prompts):
        raise BadModel(f"{label}: {len(images)} images for {len(prompts)} prompts; give one image for each prompt")
    numbers: Counter[str] = Counter()
    table: dict[tuple[str, int], Any] = {}
    for place, (image, prompt) in enumerate(zip(images, prompts, strict=True)):
        table[prompt.id, numbers[prompt.id]] = _read_image(image, f"{label}[{place}]")
        numbers[prompt.id] += 1
    contents = [digest_file(image) if isinstance(image, Path) else image for image in table.values()]
    given = GivenImages(table, digest_code([list(table), contents]))
    return ExistingImagesInfo(
        name=f"images-{given.digest[:_DIGITS]}",
        summary="Images given in Python.",
        create=given,
        code=("engine/given_images.py",),
        seeds=lambda setup: range(max(numbers.values())),
        unshared_seeds=lambda setup: "images given in Python name no seed",
    )


def _read_image(image: Any, where: str) -> Any:
    """Return an image, a path as a Path. Raises BadModel if it is none."""
    if isinstance(image, str | Path):
        path = expand_path(Path(image)).absolute()
        if not path.is_file():
            raise BadModel(f"{where}: no such file: {image}")
        return path
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            got = f"{image.dtype} of shape {image.shape}"
            raise BadModel(f"{where}: pixels must be uint8 of shape (height, width, 3) (got {got})")
    elif not isinstance(image, PILImage):
        raise BadModel(f"{where}: must be a PIL image, an array of pixels or a path (got {shorten(image)})")
    return image


@dataclass(frozen=True, eq=False)
class GivenImages:
    """Images by prompt and seed: the factory of a generator, and the generator itself.

    Attributes:
        table: The images by the prompt's id and the seed.
        digest: SHA-256 (hex) of prompts' ids, seeds and images.
    """

    table: Mapping[tuple[str, int], Any]
    digest: str

    def __getstate__(self) -> dict[str, str]:
        """Return what identifies the images, for the digest of their code."""
        return {"digest": self.digest}

    def __call__(self, setup: Setup[Any]) -> GivenImages:
        """Return the generator."""
        return self

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with its image; an absent image is missing, not failed."""
        for request in requests:
            image = self.table.get((request.prompt.id, request.seed))
            if image is None:
                yield request, Failure("no image was given for this prompt and seed", missing=True)
            else:
                yield request, Generated(image)
