"""Grids of pictures in one image, as DPG-Bench has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2i_core.files.image_file import DamagedImage

if TYPE_CHECKING:
    from t2i_core.api import Image

CropBox = tuple[int, int, int, int]


def list_crop_boxes(side: int, pictures: int) -> list[CropBox]:
    """Return the boxes of the pictures of a grid, from left to right and from top to bottom.

    Args:
        side: Side of one picture in pixels.
        pictures: Number of pictures: 1, or 4 in a grid of 2 x 2.

    Raises:
        ValueError: Another number.
    """
    if pictures not in (1, 4):
        raise ValueError(f"a grid has 1 or 4 pictures (got {pictures})")
    across = 1 if pictures == 1 else 2
    return [
        (side * column, side * row, side * (column + 1), side * (row + 1))
        for row in range(across)
        for column in range(across)
    ]


def cut_grid(image: Image) -> list[Image]:
    """Return the four pictures of a 2 x 2 grid, as parts of the image.

    Raises:
        DamagedImage: The image is not such a grid, or cannot be read.
    """
    height, width = image.pixels.shape[:2]
    if height != width or width % 2:
        raise DamagedImage(
            f"{image.path}: an image of {width} x {height} pixels is not a grid of 2 x 2 square pictures; set "
            "pictures=1 for single pictures"
        )
    return [image.crop(box) for box in list_crop_boxes(width // 2, 4)]
