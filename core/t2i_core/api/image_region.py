"""Parts of images, which judges see like whole ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .digest import digest_data, digest_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .mask import PackedMask

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class ImageRegion:
    """A part of an image: a box, in which the pixels outside of a mask may be painted over.

    Attributes:
        box: x0, y0, x1, y1 in pixels, x1 and y1 exclusive.
        mask: The pixels that stay as they are, of the size of the whole image; None for all.
        fill: The colour of all other pixels in the box: red, green and blue, 0 to 255.
    """

    box: tuple[int, int, int, int]
    mask: PackedMask | None = None
    fill: Colour = (0, 0, 0)

    @property
    def identity(self) -> str:
        """Digest of the region, for the keys of observations."""
        mask = self.mask and [self.mask.size, self.mask.box, digest_text(self.mask.data.hex())]
        return digest_data([self.box, mask, self.fill if mask else None])

    def cut(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the region of an image.

        The box is limited to the image; at least one pixel is left of it.

        Args:
            pixels: The image, uint8 of shape (height, width, 3).

        Raises:
            ValueError: If the mask has another size than the image.
        """
        height, width = pixels.shape[:2]
        x0, x1 = _limit(self.box[0], self.box[2], width)
        y0, y1 = _limit(self.box[1], self.box[3], height)
        part = pixels[y0:y1, x0:x1].copy()
        if self.mask is not None:
            if self.mask.size != (width, height):
                raise ValueError(f"a mask of {self.mask.size} pixels does not fit an image of {(width, height)}")
            part[~self.mask.unpack()[y0:y1, x0:x1]] = self.fill
        return part


def _limit(start: int, end: int, length: int) -> tuple[int, int]:
    """Return the part of an interval that lies in [0, length), at least one long."""
    start = min(max(start, 0), length - 1)
    return start, max(min(end, length), start + 1)
