from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_ray.block_size import MOST, BlockSize


def grow(seconds_per_item: float, batch_size: int | None = None, overhead: float = 0) -> int:
    size = BlockSize(batch_size)
    for _ in range(20):
        size.note(size.size, overhead + seconds_per_item * size.size)
    return size.size


@pytest.mark.parametrize(
    ("seconds", "expected"), [(2, 1), (0.4, 1), (0.2, 2), (0.05, 8), (0.01, 64), (0.0001, MOST), (0, MOST)]
)
def test_a_block_takes_about_half_a_second(seconds: float, expected: int) -> None:
    assert grow(seconds) == expected


def test_a_block_holds_whole_batches() -> None:
    assert grow(2, batch_size=8) == 8
    assert grow(0.01, batch_size=8) == 48
    assert grow(0.0, batch_size=1000) == 1000


def test_a_model_that_gains_from_batches_gets_them() -> None:
    assert grow(0.01, overhead=0.2) == 16


@given(st.integers(0, 5000), st.integers(1, 16), st.sampled_from([None, 4, 7]), st.floats(1e-5, 3))
def test_the_last_blocks_are_small_and_whole(
    left: int, workers: int, batch_size: int | None, seconds: float
) -> None:
    size = BlockSize(batch_size)
    for _ in range(10):
        size.note(size.size, seconds * size.size)
    step = batch_size or 1
    block = size.limit(left, workers)
    assert step <= block <= size.size
    assert block % step == 0
    assert block == step or (block - step) * 2 * workers < left
    assert size.limit(None, workers) == size.size
