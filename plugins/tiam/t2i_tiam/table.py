"""Lookup table of the nearest reference colour for all 16.7 million sRGB values.

The package ships the compressed table for the paper's references (60 kB), built by
`training/make_table.py`. A table for other references is computed on first use, which takes seconds.
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
"""Index of the nearest reference at r * 65536 + g * 256 + b: uint8 of shape (256 * 256 * 256,)."""


def compute_table(references: Sequence[Lab]) -> Table:
    """Compute the table for given references, at most 255; a tie goes to the first."""
    rgb = np.empty((256, 256, 3), np.uint8)
    rgb[..., 1], rgb[..., 2] = np.indices((256, 256))
    table = np.empty((256, 256, 256), np.uint8)
    for red in range(256):  # one plane at a time, to save memory
        rgb[..., 0] = red
        table[red] = nearest(rgb, references)
    return table.reshape(-1)


@lru_cache(maxsize=2)
def load_table(references: tuple[Lab, ...]) -> Table:
    """Return the table for given references: the shipped one for the paper's, else a computed one."""
    if references == tuple(REFERENCES.values()):
        packed = files(__package__).joinpath(SHIPPED).read_bytes()
        return np.frombuffer(lzma.decompress(packed), np.uint8)
    return compute_table(references)


def count_colours(pixels: NDArray[np.uint8], mask: NDArray[np.bool_], table: Table, n: int) -> NDArray[np.int64]:
    """Count the pixels of a mask that are nearest to each of n references.

    Args:
        pixels: uint8 of shape (height, width, 3).
        mask: bool of shape (height, width).
        table: The lookup table of the references.
        n: Number of references.

    Returns:
        int64 of shape (n,); its sum is the area of the mask.
    """
    # Pack all pixels first: selecting packed numbers with a mask is faster than selecting triples.
    code = pixels[..., 0].astype(np.int32) << 16
    code |= pixels[..., 1].astype(np.int32) << 8
    code |= pixels[..., 2]
    return np.bincount(table[code[mask]], minlength=n)
