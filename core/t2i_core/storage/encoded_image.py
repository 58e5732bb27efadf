"""Images as the store keeps them, made without the store: in a thread beside the model, or on another machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..api.image import Truth, encode_png, get_size, load_image
from ..api.redaction import redact_data
from ..files.atomic_write import write_whole
from ..files.decoding_rules import DEFAULT_RULES, DecodingRules
from ..files.image_file import ImageHeader

DECODED = "decoded"
"""The field of an image's record with the format of its file and what decoding does beside reading the pixels."""


@dataclass(frozen=True)
class EncodedImage:
    """An image that only needs its row in the database, and its file if `data` is set.

    Attributes:
        digest: SHA-256 (hex) of the file's bytes.
        size: Width and height in pixels.
        record: How the image was made, as plain data.
        truth: The stored form of the image's truth; None if it is not known.
        data: The bytes of the file; None if it is written already.
        path: Where the file is, if it is not the store's own.
        header: The header of such a file.
    """

    digest: str
    size: tuple[int, int]
    record: Mapping[str, Any]
    truth: bytes | None = None
    data: bytes | None = None
    path: str | None = None
    header: ImageHeader | None = None

    def write(self, file: Path) -> EncodedImage:
        """Write the bytes to a file, and return the same image without them. Raises OSError."""
        if self.data is None:
            return self
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, self.data)
        return replace(self, data=None)


def encode_image(
    image: Any,
    record: Mapping[str, Any] | None = None,
    truth: Truth | None = None,
    rules: DecodingRules = DEFAULT_RULES,
) -> EncodedImage:
    """Return an image as the store keeps it.

    Args:
        image: uint8 of shape (height, width, 3), a PIL image, or the path of a file, which stays where it is.
        record: How the image was made, as plain data.
        truth: The ground truth of the image.
        rules: Which files outside of the store are decoded.

    Raises:
        DamagedImage: If the file cannot be read.
        TypeError: If the record is not plain data.
        ValueError: If the record is not plain data or has the field `decoded`, or the image is of another kind.
    """
    said = redact_data(dict(record or {}))
    if DECODED in said:
        raise ValueError(f"the record's field {DECODED!r} is written by t2i itself; use another name")
    drawn = None if truth is None else truth.to_bytes()
    if isinstance(image, Path):
        found = load_image(image.absolute(), rules)
        size = found.header.size if found.header else (0, 0)
        said |= _describe_decoding(found.header)
        return EncodedImage(found.digest, size, said, drawn, path=str(found.path), header=found.header)
    data = encode_png(image)
    return EncodedImage(hashlib.sha256(data).hexdigest(), get_size(image), said, drawn, data)


def _describe_decoding(header: ImageHeader | None) -> dict[str, Any]:
    """Return the field of a record for a file whose decoding takes more than the usual, else nothing."""
    if header is None:
        return {}
    width, height = header.size
    usual = header.format in DEFAULT_RULES.formats and width * height <= DEFAULT_RULES.megapixels * 1e6
    if usual and not header.conversions:
        return {}
    return {DECODED: {"format": header.format, "conversions": list(header.conversions)}}
