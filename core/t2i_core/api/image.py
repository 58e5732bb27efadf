"""Stored images, and the truth about rendered ones."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PILImage

from ..files.decoding_rules import DEFAULT_RULES, DecodingRules, Format
from ..files.digest import digest_file
from ..files.image_file import DamagedImage, ImageHeader, decode, read_header
from ..files.regular_file import IMAGE_BYTES, read_regular
from .image_region import ImageRegion
from .mask import PackedMask
from .prompt import ObjectClass, Scene


class ImagePlace(NamedTuple):
    """Place of an image in a run, by which people's answers name images whose digest they do not know.

    Attributes:
        model: The model's label.
        prompt: The prompt's id.
        seed: The seed.
    """

    model: str
    prompt: str
    seed: int


@dataclass(frozen=True)
class Image:
    """A stored image, or a part of one: the SHA-256 of its file, its path, and its pixels on request.

    Attributes:
        digest: SHA-256 (hex) of the file's bytes.
        path: Path of the file.
        truth: The objects that are really drawn; only judges that declare `reads_truth` get it.
        place: Where the image belongs in the run; only judges that declare `by_people` get it.
        header: The header of a file that existed already. It passed the rules of whoever allowed the file, so the
            pixels are decoded under the same rules.
        within: The folder that the file must lie in after links are followed; None if it may lie anywhere.
        refused: Why the file may not be read; None if it may.
        region: The part of the file's image that this image is; None if it is the whole. See `crop`.
    """

    digest: str
    path: Path
    truth: Truth | None = field(default=None, compare=False)
    place: ImagePlace | None = field(default=None, compare=False)
    header: ImageHeader | None = field(default=None, compare=False)
    within: Path | None = field(default=None, compare=False)
    refused: str | None = field(default=None, compare=False)
    region: ImageRegion | None = None

    @property
    def identity(self) -> str:
        """Key of the image's observations: its digest, changes of its decoding, its place and its region."""
        changed = self.header.identity if self.header else ""
        placed = json.dumps(self.place) if self.place else ""
        part = self.region.identity if self.region else ""
        return ":".join(each for each in (self.digest, changed, placed, part) if each)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The sRGB pixels, uint8 of shape (height, width, 3), upright, with transparency laid on white.

        Raises:
            RefusedImage: If the file may not be read.
            DamagedImage: If it has disappeared or changed, or is not an image.
        """
        # no `cached_property`: in Python 3.11 one lock of all images would keep threads from decoding at a time
        pixels: NDArray[np.uint8] | None = self.__dict__.get("_pixels")
        if pixels is None:
            pixels = decode(self.read_file(), str(self.path), _rules_for(self.header))
            if self.region is not None:
                pixels = self.region.cut(pixels)
            pixels.setflags(write=False)  # judges and metrics share them, so none may change them
            self.__dict__["_pixels"] = pixels
        return pixels

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the decoded pixels, because the receiver can read the file."""
        return {name: value for name, value in self.__dict__.items() if name != "_pixels"}

    def check(self) -> None:
        """Check that the file is unchanged, without decoding it. Raises the errors of `pixels`."""
        self.read_file()

    def read_file(self) -> bytes:
        """Return the bytes of the unchanged file. Raises the errors of `pixels`."""
        if self.refused is not None:
            raise RefusedImage(self.refused)
        try:
            data = read_regular(self.path, IMAGE_BYTES, self.within)
        except OSError as error:
            raise DamagedImage(f"{self.path}: cannot be read ({error.strerror})") from error
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise DamagedImage(f"{self.path}: the file has changed since it was stored")
        return data

    def crop(
        self, box: Sequence[float], mask: PackedMask | None = None, fill: tuple[int, int, int] = (0, 0, 0)
    ) -> Image:
        """Return a part of the image, of which judges see nothing else.

        It is cut out when its pixels are read. Judges that read the truth get none for it.

        Args:
            box: x0, y0, x1, y1 in pixels of this image, rounded to whole pixels (halves to even numbers).
            mask: The pixels that stay as they are, of the size of this image. If None, all.
            fill: The colour of all other pixels in the box: red, green and blue, 0 to 255.

        Raises:
            ValueError: If this image is itself a part of another.
        """
        if self.region is not None:
            raise ValueError("a part of an image cannot be cropped again; crop the whole image")
        x0, y0, x1, y1 = (round(float(side)) for side in box)
        return replace(self, truth=None, region=ImageRegion((x0, y0, x1, y1), mask, fill))

    def pil(self) -> PILImage.Image:
        """Return the image as PIL image, mode RGB."""
        return PILImage.fromarray(self.pixels)


class RefusedImage(DamagedImage):
    """An image file that a run names and that may not be read, because it lies outside the run's folder."""


def _rules_for(header: ImageHeader | None) -> DecodingRules:
    """Return rules under which the file that a header was read from can be decoded."""
    if header is None:
        return DEFAULT_RULES
    width, height = header.size
    formats = tuple(dict.fromkeys((*DEFAULT_RULES.formats, cast("Format", header.format))))
    return DecodingRules(formats, max(DEFAULT_RULES.megapixels, width * height / 1e6))


def load_image(path: Path, rules: DecodingRules = DEFAULT_RULES) -> Image:
    """Return an image file outside the cache.

    If it is not an image, reading its pixels raises DamagedImage.

    Raises:
        DamagedImage: If it cannot be read.
    """
    try:
        digest = digest_file(path)
    except OSError as error:
        raise DamagedImage(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return Image(digest, path, header=read_header(path, rules))
    except DamagedImage:
        return Image(digest, path)


def get_size(image: Any) -> tuple[int, int]:
    """Return width and height of uint8 (height, width, 3) or of a PIL image."""
    return (image.shape[1], image.shape[0]) if isinstance(image, np.ndarray) else image.size


def encode_png(image: Any) -> bytes:
    """Encode uint8 (height, width, 3) or a PIL image as PNG, the same bytes for the same pixels.

    Raises:
        ValueError: If it is anything else.
    """
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise ValueError(f"pixels must be uint8 of shape (height, width, 3) (got {image.dtype} {image.shape})")
        image = PILImage.fromarray(image)
    elif not isinstance(image, PILImage.Image):
        raise ValueError(f"an image must be an array or a PIL image (got {type(image).__name__})")
    file = io.BytesIO()
    (image if image.mode == "RGB" else image.convert("RGB")).save(file, "PNG", compress_level=1)
    return file.getvalue()


@dataclass(frozen=True)
class Instance:
    """One object that is really drawn.

    Attributes:
        cls: Its class.
        colour: Its colour; None if it has none.
        box: x0, y0, x1, y1 of the visible part, in pixels; x1 and y1 are exclusive.
        mask: The visible pixels.
        attributes: Its other attributes (sub-kind, hat, ...).
    """

    cls: ObjectClass
    colour: str | None
    box: tuple[int, int, int, int]
    mask: PackedMask
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Truth:
    """The objects that a rendered image really shows.

    Attributes:
        size: Width and height in pixels.
        instances: Each visible object.
        asked: The scene of the prompt.
        text: The prompt's text.
    """

    size: tuple[int, int]
    instances: tuple[Instance, ...]
    asked: Scene | None = None
    text: str = ""

    def to_bytes(self) -> bytes:
        """Return the stored form: one line of JSON, then the masks' bytes."""
        head: list[dict[str, Any]] = [
            {
                "name": i.cls.name,
                "synset": i.cls.synset,
                "colour": i.colour,
                "box": i.box,
                "attributes": dict(i.attributes),
                "mask_box": i.mask.box,
                "bytes": len(i.mask.data),
            }
            for i in self.instances
        ]
        line = json.dumps(
            {
                "size": self.size,
                "asked": self.asked.to_json() if self.asked else None,
                "text": self.text,
                "instances": head,
            }
        ).encode()
        return line + b"\n" + b"".join(i.mask.data for i in self.instances)

    @classmethod
    def from_bytes(cls, data: bytes) -> Truth:
        """Return the truth that `to_bytes` wrote."""
        line, _, masks = data.partition(b"\n")
        head = json.loads(line)
        size = (head["size"][0], head["size"][1])
        instances, start = [], 0
        for i in head["instances"]:
            mask = PackedMask(size, tuple(i["mask_box"]), masks[start : start + i["bytes"]])
            start += i["bytes"]
            instances.append(
                Instance(ObjectClass(i["name"], i["synset"]), i["colour"], tuple(i["box"]), mask, i["attributes"])
            )
        return cls(size, tuple(instances), Scene.from_json(head["asked"]) if head["asked"] else None, head["text"])
