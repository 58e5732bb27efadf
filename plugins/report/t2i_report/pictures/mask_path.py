"""Outlines of masks as SVG paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from t2i_core.results.evidence import Segmentation

_Edges = dict[tuple[int, int], list[int]]
"""Ends of the edges that start at a corner (x, y): x of horizontal ones, y of vertical ones."""


def decode_mask(mask: Segmentation, size: tuple[int, int] | None = None) -> NDArray[np.bool_]:
    """Return a mask of run-length codes as an array of shape (height, width).

    Args:
        mask: The mask.
        size: Width and height of the result, if it should be smaller than the mask: the pixel in the middle of
            each cell decides.
    """
    height, width = mask.size
    inside = np.arange(len(mask.counts)) % 2 == 1
    full = np.repeat(inside, mask.counts).reshape(width, height).T
    if size is None or size == (width, height):
        return full
    rows, columns = _choose_middles(size[1], height), _choose_middles(size[0], width)
    return full[np.ix_(rows, columns)]


def _choose_middles(cells: int, pixels: int) -> NDArray[np.intp]:
    """Return the pixel in the middle of each cell of a side that is divided into cells."""
    return (2 * np.arange(cells) + 1) * pixels // (2 * cells)


def trace_mask(mask: NDArray[np.bool_]) -> str:
    """Return an SVG path that covers exactly the pixels of a mask; empty for an empty mask.

    The path follows the edges between pixels, with the mask on its right. So both rules of filling, `nonzero`
    and `evenodd`, give the same area.

    Args:
        mask: The mask, of shape (height, width).
    """
    across: _Edges = defaultdict(list)
    down: _Edges = defaultdict(list)
    for y, left, right, begins in _find_edges(mask):
        start, end = (left, right) if begins else (right, left)
        across[start, y].append(end)
    for x, top, bottom, begins in _find_edges(mask.T):
        start, end = (bottom, top) if begins else (top, bottom)
        down[x, start].append(end)
    parts = []
    for (x, y), ends in across.items():
        while ends:
            parts.append(_trace_outline(x, y, across, down))
    return "".join(parts)


def _trace_outline(x: int, y: int, across: _Edges, down: _Edges) -> str:
    """Return one closed outline through a corner, and remove its edges."""
    start = x, y
    parts = [f"M{x} {y}"]
    while True:
        end = across[x, y].pop()
        parts.append(f"h{end - x}")
        x = end
        end = down[x, y].pop()
        if (x, end) == start:
            return "".join(parts) + "z"
        parts.append(f"v{end - y}")
        y = end


def _find_edges(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, bool]]:
    """Yield the horizontal edges of a mask: y, left, right, and whether the mask begins below the edge."""
    padded = np.pad(mask.astype(np.int8), 1)
    steps = np.diff(padded, axis=0)  # shape (height + 1, width + 2); 1: the mask begins below, -1: it ends
    ys, lefts = np.nonzero(np.diff(steps, axis=1))
    for y, left, right in zip(ys.tolist(), lefts.tolist(), np.roll(lefts, -1).tolist(), strict=True):
        step = steps[y, left + 1]
        if step:
            yield y, left, right, bool(step == 1)
