"""Calls beside the model: bounded, in order, and none is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from t2i_core.engine.background import Background, read_ahead


def wait_briefly() -> None:
    """Take so long that calls go to threads, once this has been called a few times."""
    time.sleep(0.012)


def open_threads(threads: int, limit: int) -> Background[int]:
    """Return a background whose calls have been slow."""
    background = Background[int](threads, limit)
    for _ in range(3):
        background.submit(lambda: wait_briefly() or 0)
    assert list(background.finish()) == []
    return background


def test_quick_calls_run_in_the_thread_that_submits_them() -> None:
    with Background[int]() as background:
        assert [background.submit(threading.get_ident) for _ in range(5)] == [[threading.get_ident()]] * 5


def test_slow_calls_run_in_threads() -> None:
    with open_threads(2, 4) as background:
        background.submit(threading.get_ident)
        assert threading.get_ident() not in list(background.finish())


def test_quick_calls_in_between_do_not_keep_slow_ones_from_threads() -> None:
    found = set()

    def call(seconds: float) -> int:
        time.sleep(seconds)
        found.add(threading.get_ident())
        return 0

    with Background[int]() as background:
        for number in range(60):
            background.submit(partial(call, 0.012 if number % 3 else 0))
    assert len(found) > 1


def test_results_come_in_the_order_of_submission() -> None:
    with open_threads(4, 3) as background:
        found: list[int] = []
        for number in range(40):
            found += background.submit(lambda n=number: time.sleep(0.001 * (n % 3)) or n)  # type: ignore[misc]
        found += background.finish()
    assert found == list(range(40))


def test_no_more_calls_are_open_than_the_limit() -> None:
    started, may_end = [], threading.Event()

    def call(number: int) -> int:
        started.append(number)
        may_end.wait(10)
        return number

    with open_threads(1, 2) as background:
        assert background.submit(lambda: call(0)) == []
        assert background.submit(lambda: call(1)) == []
        found: list[int] = []
        waiting = threading.Thread(target=lambda: found.extend(background.submit(lambda: call(2))))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        assert started == [0]
        may_end.set()
        waiting.join()
        found += background.finish()
    assert found == [0, 1, 2]


def test_an_error_of_a_call_is_raised_at_the_next_one() -> None:
    def fail() -> int:
        raise OSError("the disk is full")

    def keep_submitting(background: Background[int]) -> None:
        with background:
            for _ in range(3):
                background.submit(fail)

    for background in (Background[int](), open_threads(1, 1)):  # in this thread, and in another one
        with pytest.raises(OSError, match="the disk is full"):
            keep_submitting(background)


def test_submitted_calls_end_if_the_user_interrupts() -> None:
    done: list[int] = []

    def interrupt() -> None:
        with open_threads(1, 9) as background:
            for number in range(5):
                background.submit(lambda n=number: time.sleep(0.01) or done.append(n) or n)  # type: ignore[misc]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert done == list(range(5))


def test_parts_are_read_before_their_turn_and_shared_ones_once() -> None:
    read: list[str] = []
    items = ["ab", "bc", "cd", "de"]
    parts = {letter: object() for letter in "abcde"}
    names = {id(part): letter for letter, part in parts.items()}
    taken = read_ahead(items, lambda item: [parts[c] for c in item], lambda part: read.append(names[id(part)]), 3)
    first, futures = next(taken)
    assert first == "ab"
    assert [future.result() for future in futures] == [None, None]
    assert [item for item, _ in taken] == ["bc", "cd", "de"]
    assert sorted(read) == list("abcde")


def test_an_item_that_cannot_be_taken_fails_after_those_before_it() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise ValueError("no more")

    each = read_ahead(items(), lambda _: (), print, 9)
    assert [next(each)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="no more"):
        next(each)


def test_no_more_items_are_taken_than_are_read_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    each = read_ahead(items(), lambda _: (), print, 4)
    next(each)
    assert taken == [0, 1, 2, 3, 4]
    each.close()  # type: ignore[attr-defined]
