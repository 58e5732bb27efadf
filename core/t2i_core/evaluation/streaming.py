"""Work that plugins do on streams, held to its contract: one answer per item, in order.

A plugin may batch as it likes. Where it raises, or answers too little, the items it had taken are tried again one
by one, so that one bad item fails alone and the work goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from ..errors import BrokenPlugin, T2IError
from ..generation import Failure

ItemT = TypeVar("ItemT")

PATIENCE = 20
"""So many items in a row that raise, and the plugin is given up: more would only hide the cause."""


def one_for_one(
    work: Callable[[Iterable[ItemT]], Iterator[Any]], items: Iterable[ItemT], who: str
) -> Iterator[tuple[ItemT, Any]]:
    """Yield each item with the plugin's answer, or with a Failure that says why there is none.

    who: names plugin and distribution in messages. Raises BrokenPlugin where the plugin answers what it was not
    asked, stops taking items, or raises PATIENCE times in a row.
    """
    source = iter(items)
    taken: deque[ItemT] = deque()
    state = {"exhausted": False, "fed": 0}

    def feed() -> Iterator[ItemT]:
        for item in source:
            taken.append(item)
            state["fed"] += 1
            yield item
        state["exhausted"] = True

    raised_in_a_row = 0
    while not state["exhausted"]:
        before = state["fed"]
        cause: Exception | None = None
        try:
            for answer in work(feed()):
                if not taken:
                    raise BrokenPlugin(f"{who} gave more answers than it was asked for")
                raised_in_a_row = 0
                yield taken.popleft(), answer
        except T2IError:
            raise
        except Exception as error:
            cause = error
        if state["fed"] == before and not state["exhausted"]:
            raise BrokenPlugin(f"{who} stopped before it was done: {_said(cause)}") from cause
        while taken:
            answer = _alone(work, taken[0])
            raised_in_a_row = raised_in_a_row + 1 if isinstance(answer, _Raised) else 0
            if raised_in_a_row >= PATIENCE:
                raise BrokenPlugin(f"{who} failed {PATIENCE} times in a row, last with {answer.failure.reason}")
            yield taken.popleft(), answer.failure if isinstance(answer, _Raised) else answer


class _Raised:
    def __init__(self, error: Exception | None) -> None:
        self.failure = Failure(_said(error))


def _alone(work: Callable[[Iterable[ItemT]], Iterator[Any]], item: ItemT) -> Any:
    try:
        answers = list(islice(work(iter([item])), 2))
    except T2IError:
        raise
    except Exception as error:
        return _Raised(error)
    if len(answers) == 1:
        return answers[0]
    return Failure(f"{len(answers)} answers where one was asked for")


def _said(error: Exception | None) -> str:
    if error is None:
        return "no answer"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
