"""Headers and pixels of image files. The only place that lets Pillow open a file.

Pillow chooses the decoder by a file's content, whatever its name says, and some decoders are dangerous: for EPS it
starts Ghostscript. So each file is opened with a list of formats, and its size is checked before it is decoded.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PILImage
from PIL import UnidentifiedImageError

from .decoding_rules import DEFAULT_RULES, DecodingRules
from .regular_file import IMAGE_BYTES, check_regular, open_regular


class DamagedImage(Exception):
    """An image file that is gone, altered, not an image, or not one that may be decoded."""


_TURNS = {
    2: PILImage.Transpose.FLIP_LEFT_RIGHT,
    3: PILImage.Transpose.ROTATE_180,
    4: PILImage.Transpose.FLIP_TOP_BOTTOM,
    5: PILImage.Transpose.TRANSPOSE,
    6: PILImage.Transpose.ROTATE_270,
    7: PILImage.Transpose.TRANSVERSE,
    8: PILImage.Transpose.ROTATE_90,
}
"""The transformation that brings an image upright, by its EXIF orientation; 1 is upright."""

_SIDES_CHANGE = (5, 6, 7, 8)

ROTATED = "rotated by EXIF orientation"
GREY_16 = "converted from 16-bit grey"
COLOUR_16 = "converted from 16-bit colour"
CMYK = "converted from CMYK"
ANIMATED = "animated, first frame used"

_NEW = {ROTATED: "upright", GREY_16: "8-bit"}
"""Conversions that earlier versions lacked or got wrong, so that their cached results are about other pixels.

They are part of an image's identity. The other conversions gave the same pixels before."""


@dataclass(frozen=True)
class ImageHeader:
    """The header of an image file.

    Attributes:
        format: The format of its content.
        size: Width and height in pixels, after rotation.
        conversions: Conversions that decoding applies (`rotated by EXIF orientation`, ...).
    """

    format: str
    size: tuple[int, int]
    conversions: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """Text that tells the pixels from those that earlier versions decoded; empty if they are the same."""
        return "+".join(_NEW[name] for name in self.conversions if name in _NEW)


def read_header(path: Path, rules: DecodingRules = DEFAULT_RULES) -> ImageHeader:
    """Read an image file's header, without decoding the image.

    The result is remembered while the file's size and time stay the same.

    Raises:
        DamagedImage: If it cannot be read, is not an image, or the rules refuse it.
    """
    try:
        found = path.stat()
        check_regular(found, path)
        return _read_header(path, rules, found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise DamagedImage(f"{path}: cannot be read ({error.strerror or error})") from error


@lru_cache(maxsize=4096)
def _read_header(path: Path, rules: DecodingRules, size: int, changed: int) -> ImageHeader:
    with open_regular(path, IMAGE_BYTES) as file, _open_checked(file, rules, str(path)) as (image, orientation):
        return _make_header(image, file, orientation)


def verify(path: Path, rules: DecodingRules = DEFAULT_RULES) -> None:
    """Check an image file without decoding it: every part's checksum of a PNG, the header of other formats.

    Raises:
        DamagedImage: If it cannot be read, is not an image, is damaged, or the rules refuse it.
    """
    try:
        with open_regular(path, IMAGE_BYTES) as file, _open_checked(file, rules, str(path)) as (image, _):
            image.verify()
    except OSError as error:
        raise DamagedImage(f"{path}: cannot be read ({error.strerror or error})") from error


def parse_header(data: bytes, where: str, rules: DecodingRules = DEFAULT_RULES) -> ImageHeader:
    """Return the header of an image file's bytes. See `decode` for arguments and errors."""
    file = io.BytesIO(data)
    with _open_checked(file, rules, where) as (image, orientation):
        return _make_header(image, file, orientation)


def decode(data: bytes, where: str, rules: DecodingRules = DEFAULT_RULES) -> NDArray[np.uint8]:
    """Decode an image file to sRGB pixels.

    Transparency is laid on white, the EXIF orientation is applied, 16 bits become 8, and of an animation the first
    frame is taken.

    Args:
        data: The file's bytes.
        where: The name of the file, for messages.
        rules: Which files are decoded.

    Returns:
        uint8 of shape (height, width, 3).

    Raises:
        DamagedImage: If it is not an image, is damaged, or the rules refuse it.
    """
    with _open_checked(io.BytesIO(data), rules, where) as (image, orientation):
        image.load()
        upright = image.transpose(_TURNS[orientation]) if orientation in _TURNS else image
        if image.mode.startswith("I") or image.mode == "F":
            return _convert_wide(upright, image.info.get("transparency"))
        if upright.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            rgba = upright.convert("RGBA")
            white = PILImage.new("RGBA", rgba.size, "white")
            return np.asarray(PILImage.alpha_composite(white, rgba).convert("RGB"))
        return np.asarray(upright if upright.mode == "RGB" else upright.convert("RGB"))


_pillow_limit = threading.Lock()


@contextmanager
def _open_checked(file: BinaryIO, rules: DecodingRules, where: str) -> Iterator[tuple[PILImage.Image, int]]:
    """Open an image without decoding it, and give it with its EXIF orientation.

    Raises:
        DamagedImage: Also for what goes wrong while it is open.
    """
    try:
        with _open(file, rules) as image:
            width, height = image.size
            if width * height > rules.megapixels * 1e6:
                raise DamagedImage(
                    f"{where}: has {width} x {height} pixels, more than the limit of {rules.megapixels:g} "
                    "megapixels; scale it down, or raise the limit (option megapixels of the model folder)"
                )
            yield image, _read_orientation(image)
    except DamagedImage:
        raise
    except UnidentifiedImageError as error:  # its message holds a memory address
        file.seek(0)
        raise DamagedImage(f"{where}: {_describe_unreadable(file.read(_HEAD), rules)}") from error
    # Pillow raises SyntaxError, ValueError, struct.error and more for truncated or hostile files
    except Exception as error:
        raise DamagedImage(f"{where}: not an image that can be decoded ({error})") from error


def _open(file: BinaryIO, rules: DecodingRules) -> PILImage.Image:
    # Pillow's own limit holds for the whole process, prints warnings, and cannot be raised for one image
    with _pillow_limit:
        before, PILImage.MAX_IMAGE_PIXELS = PILImage.MAX_IMAGE_PIXELS, None
        try:
            return PILImage.open(file, formats=rules.formats)
        finally:
            PILImage.MAX_IMAGE_PIXELS = before


def _read_orientation(image: PILImage.Image) -> int:
    """Return the EXIF orientation, 1 to 8. In a PNG only EXIF data before the pixels counts, as in a header."""
    if image.format == "PNG" and not {"exif", "Raw profile type exif"} & image.info.keys():
        return 1  # Pillow would decode the whole image to look behind the pixels
    if image.format == "TIFF":
        return 1  # Pillow itself applies it when it opens a TIFF
    try:
        found = image.getexif().get(0x0112)
    except Exception:  # unreadable EXIF data is ignored: the pixels are good without it
        return 1
    return found if isinstance(found, int) and found in _TURNS else 1


def _make_header(image: PILImage.Image, file: BinaryIO, orientation: int) -> ImageHeader:
    width, height = image.size
    wide = _is_wide(image, file)
    grey = image.mode.startswith("I") or image.mode == "F"
    conversions = {
        ROTATED: orientation != 1,
        GREY_16: grey,
        COLOUR_16: wide and not grey,
        CMYK: image.mode == "CMYK",
        ANIMATED: bool(getattr(image, "is_animated", False)) and image.format != "MPO",
    }
    return ImageHeader(
        "JPEG" if image.format == "MPO" else image.format or "",
        (height, width) if orientation in _SIDES_CHANGE else (width, height),
        tuple(name for name, applied in conversions.items() if applied),
    )


def _is_wide(image: PILImage.Image, file: BinaryIO) -> bool:
    """Return whether a PNG has 16 bits a channel, which Pillow's mode does not tell."""
    if image.format != "PNG":
        return False
    place = file.tell()
    file.seek(24)  # signature, length and name of IHDR, width, height
    depth = file.read(1)
    file.seek(place)
    return depth == b"\x10"


def describe_format(name: str) -> str:
    """Return a format's name as people write it."""
    return {"WEBP": "WebP", "JPEG2000": "JPEG 2000"}.get(name, name)


def _describe_unreadable(head: bytes, rules: DecodingRules) -> str:
    """Return what kind of file begins with these bytes, for a file that Pillow could not read under the rules."""
    wanted = [describe_format(name) for name in rules.formats]
    name = "AVIF or HEIF" if head[4:8] == b"ftyp" else next((n for s, n in _STARTS if head.startswith(s)), None)
    if name in wanted:
        return f"not an image that can be decoded (a damaged {name})"
    what = f"is {name}, which is not read" if name else "not an image of a known format" if head else "is empty"
    return f"{what}; must be one of {', '.join(wanted)}"


_HEAD = 16

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"RIFF", "WebP"), (b"GIF8", "GIF"), (b"BM", "BMP"),
    (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"%!PS", "PostScript"), (b"\xc5\xd0\xd3\xc6", "PostScript"),
    (b"%PDF", "PDF"), (b"\xd7\xcd\xc6\x9a", "WMF"),
)  # fmt: skip


def _convert_wide(image: PILImage.Image, transparent: object) -> NDArray[np.uint8]:
    """Return grey values of 16 bits, or floats from 0 to 1, as 8 bits in three channels.

    The upper byte is taken, as Pillow does for 16-bit colours: a grey image has the same pixels in either form.
    """
    values = np.asarray(image)
    if image.mode == "F":
        if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
            raise ValueError("its floats are not all between 0 and 1; convert it to 8 bits")
        grey = np.round(values * 255).astype(np.uint8)
    else:
        if values.min() < 0 or values.max() > 0xFFFF:
            raise ValueError("its values do not fit 16 bits; convert it to 8 bits")
        grey = (values >> 8).astype(np.uint8)
        if isinstance(transparent, int):
            grey[values == transparent] = 255
    return np.repeat(grey[:, :, np.newaxis], 3, axis=2)
