"""The nearest reference colour of all 16.7 million sRGB values, so that a pixel costs one look-up.

The table for the paper's references ships with the package (60 kB; it is piecewise constant), made by
`python -m t2i_tiam.make_table`. One for other references is computed when it is first used, in seconds.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from .colours import nearest
from .references import REFERENCES, Lab

SHIPPED = "nearest.xz"
Table = NDArray[np.uint8]
"""uint8 of shape (256 * 256 * 256,): the index of the nearest reference, at r * 65536 + g * 256 + b."""


def compute_table(references: Sequence[Lab]) -> Table:
    """Return the table for any references (255 at most), in the order in which ties are settled."""
    rgb = np.empty((256, 256, 3), np.uint8)
    rgb[..., 1], rgb[..., 2] = np.indices((256, 256))
    table = np.empty((256, 256, 256), np.uint8)
    for red in range(256):  # plane by plane, for memory's sake
        rgb[..., 0] = red
        table[red] = nearest(rgb, references)
    return table.reshape(-1)


@lru_cache(maxsize=2)
def load_table(references: tuple[Lab, ...]) -> Table:
    """Return the table for these references, the shipped one for the paper's own."""
    if references == tuple(REFERENCES.values()):
        packed = files(__package__).joinpath(SHIPPED).read_bytes()
        return np.frombuffer(lzma.decompress(packed), np.uint8)
    return compute_table(references)


def count_colours(pixels: NDArray[np.uint8], mask: NDArray[np.bool_], table: Table, n: int) -> NDArray[np.int64]:
    """Return how many pixels of a mask are nearest to each of n references.

    pixels: uint8 (height, width, 3); mask: bool (height, width); the result: int64 (n,), its sum the mask's area
    """
    # packed for the whole box first: picking single numbers by mask is faster than picking triples
    code = pixels[..., 0].astype(np.int32) << 16
    code |= pixels[..., 1].astype(np.int32) << 8
    code |= pixels[..., 2]
    return np.bincount(table[code[mask]], minlength=n)
