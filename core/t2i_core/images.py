"""Kept images, and the truth about rendered ones."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PILImage
from PIL import UnidentifiedImageError

from .masks import PackedMask
from .prompts import ObjectClass, Scene
from .sources import file_digest


class DamagedImage(Exception):
    """A kept image whose file is gone, altered, or no image."""


@dataclass(frozen=True)
class Image:
    """A kept image: the SHA-256 of its file, where the file is, and its pixels when asked for.

    truth: what is really drawn; only judges that declare `reads_truth` are given it.
    """

    digest: str
    path: Path
    truth: Truth | None = field(default=None, compare=False)

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The sRGB pixels, uint8 of shape (height, width, 3); transparency is laid on white.

        Raises DamagedImage where the file is gone, is not what was kept, or is no image.
        """
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise DamagedImage(f"{self.path}: cannot be read ({error.strerror})") from error
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise DamagedImage(f"{self.path}: the file is not the one that was kept")
        pixels = decode(data, str(self.path))
        pixels.setflags(write=False)  # judges and metrics share them: none may change what the next one sees
        return pixels

    def pil(self) -> PILImage.Image:
        """The image as PIL image, mode RGB."""
        return PILImage.fromarray(self.pixels)


def image_file(path: Path) -> Image:
    """An image file outside the store. Raises DamagedImage where it cannot be read."""
    try:
        return Image(file_digest(path), path)
    except OSError as error:
        raise DamagedImage(f"{path}: cannot be read ({error.strerror})") from error


def decode(data: bytes, where: str) -> NDArray[np.uint8]:
    """Decode an image file's bytes to uint8 (height, width, 3). Raises DamagedImage where it is no image."""
    try:
        with PILImage.open(io.BytesIO(data)) as image:
            image.load()
            if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
                rgba = image.convert("RGBA")
                white = PILImage.new("RGBA", rgba.size, "white")
                return np.asarray(PILImage.alpha_composite(white, rgba).convert("RGB"))
            return np.asarray(image.convert("RGB"))
    except UnidentifiedImageError as error:  # its message names a place in memory
        raise DamagedImage(f"{where}: no image (of no known format)") from error
    # Pillow raises SyntaxError, ValueError, struct.error and more for files that are cut or hostile
    except Exception as error:
        raise DamagedImage(f"{where}: not an image that can be read ({error})") from error


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of an image file, from its head; (0, 0) where it is no image, which opening it will say."""
    try:
        with PILImage.open(path) as picture:
            return picture.size
    except (OSError, ValueError, SyntaxError):
        return 0, 0


def size_of(image: Any) -> tuple[int, int]:
    """Width and height of uint8 (height, width, 3) or of a PIL image."""
    return (image.shape[1], image.shape[0]) if isinstance(image, np.ndarray) else image.size


def png(image: Any) -> bytes:
    """Encode uint8 (height, width, 3) or a PIL image as PNG, the same bytes for the same pixels.

    Raises ValueError for anything else.
    """
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise ValueError(f"want uint8 pixels of shape (height, width, 3), not {image.dtype} {image.shape}")
        image = PILImage.fromarray(image)
    elif not isinstance(image, PILImage.Image):
        raise ValueError(f"want an array or a PIL image, not {type(image).__name__}")
    file = io.BytesIO()
    image.convert("RGB").save(file, "PNG", compress_level=1)
    return file.getvalue()


@dataclass(frozen=True)
class Instance:
    """One object that is really drawn.

    box:         x0, y0, x1, y1 in pixels, x1 and y1 exclusive, of the visible part
    mask:        the visible pixels
    attributes:  what else is true of it (sub-kind, hat, ...)
    """

    cls: ObjectClass
    colour: str | None
    box: tuple[int, int, int, int]
    mask: PackedMask
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Truth:
    """What a rendered image really shows: its size (width, height) and each visible object.

    asked: the scene that the prompt asked for
    text:  the prompt's text
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
        """Read what `to_bytes` wrote."""
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
