"""Whatever a plugin does with a stream, each item gets its own answer or its own failure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.errors import BadModel, BrokenPlugin
from t2i_core.api.failure import Failure
from t2i_core.api.text import LONGEST
from t2i_core.engine.answer_stream import PATIENCE, stream_answers


@dataclass(frozen=True)
class Item:
    number: int


Work = Callable[[Iterable[Item]], Iterator[tuple[Item, Any]]]


def items(n: int) -> list[Item]:
    return [Item(i) for i in range(n)]


def batched(size: int, bad: Callable[[int], bool] = lambda i: False, backwards: bool = False) -> Work:
    """Work that takes `size` items at a time and raises where any of them is bad."""

    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        stream = iter(stream)
        while batch := list(islice(stream, size)):
            for item in batch:
                if bad(item.number):
                    raise RuntimeError(f"cannot do {item.number}")
            yield from ((item, item.number * 10) for item in (batch[::-1] if backwards else batch))

    return work


@given(st.integers(0, 60), st.integers(1, 9), st.sets(st.integers(0, 59), max_size=15), st.booleans())
def test_bad_items_fail_alone_whatever_the_batch_and_order(
    n: int, size: int, bad: set[int], backwards: bool
) -> None:
    answers = list(stream_answers(batched(size, lambda i: i in bad, backwards), items(n), "work"))
    assert sorted(item.number for item, _ in answers) == list(range(n))
    for item, answer in answers:
        i = item.number
        assert answer == (Failure(f"RuntimeError: cannot do {i}") if i in bad else i * 10)


@given(st.sets(st.integers(0, 19)))
def test_items_left_out_fail_and_never_get_another_items_answer(left_out: set[int]) -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        return ((item, item.number) for item in list(stream) if item.number not in left_out)

    for item, answer in stream_answers(work, items(20), "work"):
        expected = Failure("0 answers where one was asked for") if item.number in left_out else item.number
        assert answer == expected


def test_a_batch_that_gives_nothing_is_tried_one_by_one() -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        batch = list(stream)
        return iter([(item, item.number) for item in batch] if len(batch) == 1 else [])

    assert [(item.number, answer) for item, answer in stream_answers(work, items(4), "work")] == [
        (0, 0), (1, 1), (2, 2), (3, 3),
    ]  # fmt: skip


def test_an_answer_to_nothing_or_given_twice_is_a_broken_plugin() -> None:
    with pytest.raises(BrokenPlugin, match="not asked, or answered it twice"):
        list(stream_answers(lambda stream: ((i, 1) for i in [*stream, Item(99)]), items(3), "work"))
    with pytest.raises(BrokenPlugin, match="not asked, or answered it twice"):
        list(stream_answers(lambda stream: ((i, 1) for i in [*stream] * 2), items(3), "work"))
    with pytest.raises(BrokenPlugin, match="gave int"):
        list(stream_answers(lambda stream: (i.number for i in stream), items(3), "work"))  # type: ignore[misc]


def test_a_plugin_that_never_works_is_given_up_with_its_cause() -> None:
    with pytest.raises(BrokenPlugin, match=f"failed {PATIENCE} times in a row, last with RuntimeError: cannot do"):
        list(stream_answers(batched(7, lambda i: True), items(1000), "the judge"))


def test_a_plugin_that_is_known_to_work_is_not_given_up_for_the_few_that_fail_again() -> None:
    n = PATIENCE + 5
    answers = list(stream_answers(batched(4, lambda i: True), items(n), "work", has_worked=True))
    assert [type(answer) for _, answer in answers] == [Failure] * n


def test_a_plugin_that_breaks_before_it_takes_anything_is_broken() -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        raise OSError("no device")

    with pytest.raises(BrokenPlugin, match="OSError: no device"):
        list(stream_answers(work, items(3), "the judge"))
    with pytest.raises(BrokenPlugin, match="no answer"):
        list(stream_answers(lambda stream: iter(()), items(3), "the judge"))


class Stubborn(BaseException):
    """What no plugin should raise."""


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), StopIteration(), Stubborn("no"), MemoryError()])
def test_a_plugin_that_wants_to_end_the_process_fails_like_any_other(error: BaseException) -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        for item in stream:
            if item.number % 3 == 2:
                raise error
            yield item, item.number

    for item, answer in stream_answers(work, items(10), "work"):
        if item.number % 3 == 2:
            assert isinstance(answer, Failure)
        else:
            assert answer == item.number


def test_an_interrupt_by_the_user_is_not_a_failure() -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        for _ in stream:
            raise KeyboardInterrupt
        yield Item(0), 0

    with pytest.raises(KeyboardInterrupt):
        list(stream_answers(work, items(3), "work"))


def test_errors_of_the_items_are_never_blamed_on_the_plugin() -> None:
    def broken() -> Iterator[Item]:
        yield from items(2)
        raise OSError("disk full")

    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        try:
            for item in stream:
                yield item, item.number
        except Exception as error:
            raise RuntimeError("my loader failed") from error

    found = stream_answers(work, broken(), "work")
    assert [next(found)[1], next(found)[1]] == [0, 1]
    with pytest.raises(OSError, match="disk full"):
        next(found)


@pytest.mark.parametrize("message", ["one\ntwo\r\n three", "x" * 10**6, "half a \ud83d pair", "\x1b[2Jgone\0\x07"])
def test_a_reason_is_one_line_that_any_table_and_terminal_takes(message: str) -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        for item in stream:
            if item.number == 1:
                raise RuntimeError(message)
            yield item, item.number

    (reason,) = [a.reason for _, a in stream_answers(work, items(3), "work") if isinstance(a, Failure)]
    assert reason.startswith(f"RuntimeError: {message[:3]}" if message.isprintable() else "RuntimeError: ")
    assert len(reason) <= LONGEST
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in reason)
    assert Failure(message).reason == reason.removeprefix("RuntimeError: ") or len(message) > LONGEST


def test_an_error_whose_message_raises_is_still_a_failure() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ValueError

    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        for item in stream:
            if item.number:
                raise Silent
            yield item, 0

    answers = {item.number: answer for item, answer in stream_answers(work, items(2), "work")}
    assert answers == {0: 0, 1: Failure("Silent: (its message cannot be read: ValueError)")}


def test_errors_for_the_user_pass_through() -> None:
    def work(stream: Iterable[Item]) -> Iterator[tuple[Item, int]]:
        yield next(iter(stream)), 1
        raise BadModel("no such model")

    with pytest.raises(BadModel):
        list(stream_answers(work, items(3), "work"))


def test_items_are_taken_lazily() -> None:
    taken = []

    def stream() -> Iterator[Item]:
        for item in items(100):
            taken.append(item)
            yield item

    next(stream_answers(batched(5), stream(), "work"))
    assert len(taken) == 5
