from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from t2i_ray.supply import Supply


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(10):
            taken.append(i)
            yield i

    supply = Supply(items())
    assert taken == []
    assert supply.look_ahead(4) is None
    assert taken == [0, 1, 2, 3]
    assert supply.take(3) == [0, 1, 2]
    assert supply.look_ahead(4) is None
    assert supply.look_ahead(20) == 7
    assert not supply.is_empty
    assert supply.take(20) == [3, 4, 5, 6, 7, 8, 9]
    assert supply.is_empty


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("torn")

    supply = Supply(items())
    assert supply.look_ahead(5) == 1
    assert str(supply.error) == "torn"
    assert supply.take(5) == [1]
    assert supply.is_empty


@given(st.integers(0, 60), st.randoms())
def test_nothing_is_lost_or_taken_twice(count: int, chance: object) -> None:
    supply, done = Supply(range(count)), list[int]()
    while not supply.is_empty:
        supply.look_ahead(chance.randint(1, 9))  # type: ignore[attr-defined]
        block = supply.take(chance.randint(1, 5))  # type: ignore[attr-defined]
        fate = chance.choice(["done", "back", "suspect"])  # type: ignore[attr-defined]
        if fate == "done":
            done += block
        elif fate == "back":
            supply.put_back(block)
        else:
            supply.suspect(block)
        if supply.suspects and chance.random() < 0.5:  # type: ignore[attr-defined]
            done.append(supply.suspects.popleft().item)
    assert sorted(done) == list(range(count))
