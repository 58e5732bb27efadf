"""Compressed masks: the bits inside the bounding box, deflated."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PackedMask:
    """A binary mask of an image.

    Attributes:
        size: Width and height of the image in pixels.
        box: x0, y0, x1, y1 of the mask, x1 and y1 exclusive; (0, 0, 0, 0) for an empty mask.
        data: The mask inside the box, row by row, eight pixels per byte, deflated.
    """

    size: tuple[int, int]
    box: tuple[int, int, int, int]
    data: bytes

    @classmethod
    def pack(cls, mask: NDArray[np.bool_]) -> PackedMask:
        """Pack a boolean array of shape (height, width)."""
        height, width = mask.shape
        rows = np.flatnonzero(mask.any(axis=1))
        if rows.size == 0:
            return cls((width, height), (0, 0, 0, 0), b"")
        columns = np.flatnonzero(mask.any(axis=0))
        x0, y0, x1, y1 = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
        bits = np.packbits(mask[y0:y1, x0:x1])
        return cls((width, height), (x0, y0, x1, y1), zlib.compress(bits.tobytes(), 1))

    def crop(self) -> NDArray[np.bool_]:
        """Return the mask inside its box, boolean of shape (y1 - y0, x1 - x0)."""
        x0, y0, x1, y1 = self.box
        if not self.data:
            return np.zeros((0, 0), bool)
        bits = np.unpackbits(np.frombuffer(zlib.decompress(self.data), np.uint8), count=(y1 - y0) * (x1 - x0))
        return bits.reshape(y1 - y0, x1 - x0).astype(bool)

    def unpack(self) -> NDArray[np.bool_]:
        """Return the whole mask, boolean of shape (height, width)."""
        full = np.zeros((self.size[1], self.size[0]), bool)
        x0, y0, x1, y1 = self.box
        full[y0:y1, x0:x1] = self.crop()
        return full

    def count_runs(self) -> list[int]:
        """Return the mask in COCO's run-length encoding: column by column, starting with pixels outside."""
        flat = self.unpack().ravel(order="F")
        edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        runs = np.diff([0, *edges, flat.size]).tolist() if flat.size else []
        return [0, *runs] if flat.size and flat[0] else runs

    def area(self) -> int:
        """Return the number of pixels in the mask."""
        return int(self.crop().sum())


def count_shared_pixels(a: PackedMask, b: PackedMask) -> int:
    """Return the number of pixels that two masks of one image share."""
    x0, y0 = max(a.box[0], b.box[0]), max(a.box[1], b.box[1])
    x1, y1 = min(a.box[2], b.box[2]), min(a.box[3], b.box[3])
    if x0 >= x1 or y0 >= y1:
        return 0
    left = a.crop()[y0 - a.box[1] : y1 - a.box[1], x0 - a.box[0] : x1 - a.box[0]]
    right = b.crop()[y0 - b.box[1] : y1 - b.box[1], x0 - b.box[0] : x1 - b.box[0]]
    return int((left & right).sum())
