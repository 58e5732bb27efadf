"""Models and judges that fail once, made from any that work, to check how metrics handle failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from ..api.failure import Failure
from ..api.generator import ImageRequest
from ..api.judge import Capability, Query
from ..api.plugin_info import GeneratorInfo, JudgeInfo

REASON = "made to fail by the test"
InfoT = TypeVar("InfoT", GeneratorInfo, JudgeInfo)


class Faults:
    """Work that must fail, and the work that did.

    Args:
        image: True if the first requested image fails.
        answer: Chooses the query that fails: the first for which it returns True.

    Attributes:
        failed: The requests and queries that failed.
    """

    def __init__(self, image: bool = False, answer: Callable[[Query], bool] | None = None) -> None:
        self._image = image
        self._answer = answer
        self.failed: list[ImageRequest | Query] = []

    def of(self, info: InfoT) -> InfoT:
        """Return the descriptor of a model or judge whose work fails as chosen."""
        return replace(info, create=lambda setup: _Failing(info.create(setup), self))

    def affects(self, asked: ImageRequest | Query) -> bool:
        """Return whether this item fails: the first that may, every time it is asked for."""
        if not self.failed:
            wanted = self._image if isinstance(asked, ImageRequest) else self._answer and self._answer(asked)
            if wanted:
                self.failed.append(asked)
        return asked in self.failed


class _Failing:
    """A model or judge that fails as chosen, and otherwise works."""

    def __init__(self, inner: Any, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Any]]:
        """Generate images, except the one that must fail."""
        for request, answer in self._inner.generate(requests):
            yield request, Failure(REASON) if self._faults.affects(request) else answer

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        """Answer queries, except the one that must fail."""
        for query, answer in self._inner.observe(capability, queries):
            yield query, Failure(REASON) if self._faults.affects(query) else answer
