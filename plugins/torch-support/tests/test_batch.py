"""Work in batches that give way when memory runs out."""

from __future__ import annotations

import pytest
import torch
from t2i_torch_support.batch import Batches


def room_for(largest: int, asked: list[int]):
    """Work that holds a limited number of items at once."""

    def work(batch: list[int]) -> list[int]:
        asked.append(len(batch))
        if len(batch) > largest:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return [10 * item for item in batch]

    return work


@pytest.mark.parametrize(("given", "start"), [(8, 1), (None, 8)])
def test_a_size_that_does_not_fit_is_halved_for_good_whether_given_or_not(given, start):
    batches, asked = Batches(given, start), []
    assert list(batches.map(room_for(3, asked), range(11))) == [(i, 10 * i) for i in range(11)]
    assert asked == [8, 4, 2, 2, 2, 2, 2, 1], "the first eight are finished in the size that fits"
    assert (batches.size, batches.halvings) == (2, 2)


def test_where_not_one_fits_that_is_raised():
    batches = Batches(4, 1)
    with pytest.raises(torch.OutOfMemoryError):
        list(batches.map(room_for(0, []), range(4)))
    assert (batches.size, batches.halvings) == (1, 2)


def test_another_error_is_not_a_lack_of_memory():
    def broken(batch):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    batches = Batches(4, 1)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        list(batches.map(broken, range(4)))
    assert (batches.size, batches.halvings) == (4, 0)


def test_items_are_taken_batch_by_batch():
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    assert next(Batches(3, 1).map(room_for(3, []), items())) == (0, 0)
    assert taken == [0, 1, 2]
