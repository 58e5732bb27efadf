"""Work that plugins do on streams, held to its contract: each item gets one answer, named with the item itself.

A plugin may batch as it likes and answer in any order. Where it raises, or leaves items out, those that it had
taken are tried again one by one, so that one bad item fails alone, the work goes on, and no answer is ever taken
for another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from ..errors import BrokenPlugin, T2IError
from ..generation import Failure

ItemT = TypeVar("ItemT")

PATIENCE = 20
"""So many items in a row that raise, and a plugin that never worked is given up: more would hide the cause."""

LONG_PATIENCE = 500
"""The same for one that has worked before: a bad prompt may come with as many seeds."""


def answered(
    work: Callable[[Iterable[ItemT]], Iterator[tuple[ItemT, Any]]], items: Iterable[ItemT], who: str
) -> Iterator[tuple[ItemT, Any]]:
    """Yield each item with the plugin's answer, or with a Failure that says why there is none.

    who: names plugin and distribution in messages. Raises BrokenPlugin where the plugin answers what it was not
    asked, stops taking items, or raises too often in a row.
    """
    source = iter(items)
    open_items: dict[int, ItemT] = {}
    exhausted = False

    def feed() -> Iterator[ItemT]:
        nonlocal exhausted
        for item in source:
            open_items[id(item)] = item
            yield item
        exhausted = True

    raised_in_a_row, patience = 0, PATIENCE
    while not exhausted:
        cause: Exception | None = None
        answers = 0
        try:
            for answer in work(feed()):
                item, value = _close(answer, open_items, who)
                answers += 1
                raised_in_a_row, patience = 0, LONG_PATIENCE
                yield item, value
        except T2IError:
            raise
        except Exception as error:
            cause = error
        if not (exhausted or answers or open_items):
            raise BrokenPlugin(f"{who} stopped before it was done: {_said(cause)}") from cause
        for item in list(open_items.values()):
            value, raised = _alone(work, item, who)
            raised_in_a_row = raised_in_a_row + 1 if raised else 0
            patience = patience if raised else LONG_PATIENCE
            if raised_in_a_row >= patience:
                raise BrokenPlugin(f"{who} failed {patience} times in a row, last with {value.reason}")
            del open_items[id(item)]
            yield item, value


def _close(answer: Any, open_items: dict[int, ItemT], who: str) -> tuple[ItemT, Any]:
    """Match an answer with the item that it names."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise BrokenPlugin(
            f"{who} gave {type(answer).__name__}, want pairs of what was asked and the answer to it"
        )
    item = open_items.pop(id(answer[0]), None)
    if item is None:
        raise BrokenPlugin(f"{who} answered what it was not asked, or answered it twice")
    return item, answer[1]


def _alone(work: Callable[[Iterable[ItemT]], Iterator[Any]], item: ItemT, who: str) -> tuple[Any, bool]:
    """Try one item alone. Returns its answer, or a Failure, and whether the plugin raised."""
    try:
        answers = list(islice(work(iter([item])), 2))
    except T2IError:
        raise
    except Exception as error:
        return Failure(_said(error)), True
    if len(answers) != 1:
        return Failure(f"{len(answers)} answers where one was asked for"), False
    return _close(answers[0], {id(item): item}, who)[1], False


def _said(error: Exception | None) -> str:
    if error is None:
        return "no answer"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
