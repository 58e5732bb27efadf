"""Outlines of masks: they cover the mask and nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from t2i_core.api.mask import PackedMask
from t2i_core.results.evidence import Segmentation
from t2i_report.pictures.mask_path import decode_mask, trace_mask


def fill_path(path: str, shape: tuple[int, int]) -> np.ndarray:
    """Fill a path by the rule `evenodd`: each vertical line flips the pixels on its right."""
    inside = np.zeros(shape, int)
    for left, top, lines in re.findall(r"M(\d+) (\d+)([^Mz]*)z", path):
        x, y = int(left), int(top)
        for direction, length in [*re.findall(r"([hv])(-?\d+)", lines), ("v", None)]:
            if direction == "h":
                x += int(length)
                continue
            after = int(top) if length is None else y + int(length)
            inside[min(y, after) : max(y, after), x:] ^= 1
            y = after
        assert x == int(left)
    return inside.astype(bool)


def encode(mask: np.ndarray) -> Segmentation:
    """Encode a mask as a run does."""
    return Segmentation(size=list(mask.shape), counts=PackedMask.pack(mask).count_runs())


@pytest.mark.parametrize("seed", range(200))
def test_a_path_covers_exactly_the_pixels_of_its_mask(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(1, 14, 2)) < rng.random()
    found = decode_mask(encode(mask))
    assert (found == mask).all()
    assert (fill_path(trace_mask(found), mask.shape) == mask).all()


@pytest.mark.parametrize(
    ("rows", "path"),
    [
        (["000", "000"], ""),
        (["111", "111"], "M0 0h3v2h-3z"),
        (["111", "101", "111"], "M0 0h3v3h-3zM2 1h-1v1h1z"),
    ],
)
def test_outlines_are_short(rows: list[str], path: str) -> None:
    assert trace_mask(np.array([[cell == "1" for cell in row] for row in rows])) == path


def test_a_mask_shrinks_to_the_middles_of_its_cells() -> None:
    mask = np.zeros((6, 9), bool)
    mask[1, 4] = mask[4, 7] = True  # middles of cells of 3 x 3 pixels
    mask[0, 0] = True  # a corner
    assert decode_mask(encode(mask), (3, 2)).tolist() == [[False, True, False], [False, False, True]]
