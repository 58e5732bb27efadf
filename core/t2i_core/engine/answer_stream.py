"""Calls to plugins that work on streams. Each item gets one answer, which names the item itself.

A plugin may batch as it likes and answer in any order. If it raises, or leaves items out, t2i tries the items that
it had taken again, one by one. So one bad item fails alone, the work goes on, and no answer goes to the wrong
item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from ..api.errors import BrokenPlugin, T2IError
from ..api.failure import Failure
from ..api.redaction import redact_error
from ..api.text import describe_error

ItemT = TypeVar("ItemT")

PATIENCE = 20
"""Number of consecutive failures after which a plugin without a single success is aborted."""

LONG_PATIENCE = 500
"""The same for a plugin that has worked before; a bad prompt may have as many seeds."""


class StreamAnswer(NamedTuple):
    """One item with its answer.

    Attributes:
        item: The item.
        value: The answer, or a Failure.
        raised: True if the plugin raised, for this item alone.
    """

    item: Any
    value: Any
    raised: bool = False


def stream_answers(
    work: Callable[[Iterable[ItemT]], Iterator[tuple[ItemT, Any]]],
    items: Iterable[ItemT],
    who: str,
    has_worked: bool = False,
) -> Iterator[tuple[ItemT, Any]]:
    """Yield each item with the plugin's answer, or with a Failure that gives the reason.

    Args:
        work: The plugin's function.
        items: The items to answer.
        who: Plugin and distribution, for messages.
        has_worked: See `Patience`.

    Raises:
        BrokenPlugin: If the plugin answers something else, stops taking items, or raises too often in a row.
    """
    patience = Patience(who, has_worked)
    for answer in iterate_answers(work, items, who):
        patience.count(answer.value if answer.raised else None)
        yield answer.item, answer.value


class Patience:
    """Counts failures in a row, and gives a plugin up that raises too often.

    Args:
        who: Plugin and distribution, for messages.
        has_worked: True if cached results show that the plugin works. A run that is repeated meets only the items
            that failed before.
    """

    def __init__(self, who: str, has_worked: bool = False) -> None:
        self._who = who
        self._raised_in_a_row = 0
        self._patience = LONG_PATIENCE if has_worked else PATIENCE

    def count(self, failure: Failure | None) -> None:
        """Count one answer.

        Args:
            failure: What the plugin raised for the item; None if it answered.

        Raises:
            BrokenPlugin: If the plugin raised too often in a row.
        """
        if failure is None:
            self._raised_in_a_row, self._patience = 0, LONG_PATIENCE
            return
        self._raised_in_a_row += 1
        if self._raised_in_a_row >= self._patience:
            raise BrokenPlugin(f"{self._who} failed {self._patience} times in a row, last with {failure.reason}")


def iterate_answers(
    work: Callable[[Iterable[ItemT]], Iterator[tuple[ItemT, Any]]], items: Iterable[ItemT], who: str
) -> Iterator[StreamAnswer]:
    """Yield each item with the plugin's answer, without patience. See `stream_answers`."""
    source = _Source(items)
    open_items: dict[int, ItemT] = {}

    def feed() -> Iterator[ItemT]:
        for item in source:
            open_items[id(item)] = item
            yield item

    while not source.exhausted:
        attempt = _Attempt(work, feed())
        answers = 0
        for answer in attempt:
            item, value = _match_answer(answer, open_items, who)
            answers += 1
            yield StreamAnswer(item, value)
        if source.error is not None:
            raise source.error  # not the plugin's fault, whatever it did with it
        if not (source.exhausted or answers or open_items):
            raise BrokenPlugin(f"{who} stopped before it was done: {attempt.reason}") from attempt.error
        for item in list(open_items.values()):
            value, raised = _try_alone(work, item, who)
            del open_items[id(item)]
            yield StreamAnswer(item, value, raised)


class _Source(Iterator[ItemT]):
    """The items, until they end or one cannot be had, which the plugin is not blamed for."""

    def __init__(self, items: Iterable[ItemT]) -> None:
        self._items = iter(items)
        self.exhausted = False
        self.error: BaseException | None = None

    def __next__(self) -> ItemT:
        try:
            return next(self._items)
        except StopIteration:
            self.exhausted = True
            raise
        except BaseException as error:
            self.error = error
            raise


class _Attempt:
    """One call of a plugin with a stream: its answers, until they end or it raises.

    Attributes:
        error: The exception that it raised; None if it did not. Anything that it raises, even SystemExit, counts
            as its failure; only T2IError and the user's own interrupt pass through.
    """

    def __init__(self, work: Callable[[Iterable[ItemT]], Iterator[Any]], items: Iterable[ItemT]) -> None:
        self._work = work
        self._items = items
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        answers: Iterator[Any] | None = None
        while True:
            try:
                answers = iter(self._work(self._items)) if answers is None else answers
                answer = next(answers)
            except StopIteration:
                return
            except (KeyboardInterrupt, T2IError) as error:
                redact_error(error)
                raise
            except BaseException as error:
                redact_error(error)
                self.error = error
                return
            yield answer

    @property
    def reason(self) -> str:
        """The reason why the answers ended."""
        return "no answer" if self.error is None else describe_error(self.error)


def _match_answer(answer: Any, open_items: dict[int, ItemT], who: str) -> tuple[ItemT, Any]:
    """Match an answer with the item that it names."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise BrokenPlugin(f"{who} gave {type(answer).__name__}; it must give pairs of an item and its answer")
    item = open_items.pop(id(answer[0]), None)
    if item is None:
        raise BrokenPlugin(f"{who} answered what it was not asked, or answered it twice")
    return item, answer[1]


def _try_alone(work: Callable[[Iterable[ItemT]], Iterator[Any]], item: ItemT, who: str) -> tuple[Any, bool]:
    """Try one item alone. Return its answer, or a Failure, and whether the plugin raised."""
    attempt = _Attempt(work, iter([item]))
    answers = list(islice(attempt, 2))
    if attempt.error is not None:
        return Failure(attempt.reason), True
    if len(answers) != 1:
        return Failure(f"{len(answers)} answers where one was asked for"), False
    return _match_answer(answers[0], {id(item): item}, who)[1], False
