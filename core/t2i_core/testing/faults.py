"""Models and judges that fail once, of any that work: what a metric is held to where something goes wrong."""

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
    """Which work is to fail, and what of it did.

    image:   whether the first image that is asked for fails
    answer:  which query fails: the first one that this says yes to
    failed:  what was asked and failed
    """

    def __init__(self, image: bool = False, answer: Callable[[Query], bool] | None = None) -> None:
        self._image = image
        self._answer = answer
        self.failed: list[ImageRequest | Query] = []

    def of(self, info: InfoT) -> InfoT:
        """Return the descriptor of a model or judge whose work fails so."""
        return replace(info, create=lambda setup: _Failing(info.create(setup), self))

    def befalls(self, asked: ImageRequest | Query) -> bool:
        """Whether something fails: the first that may, and the same whenever it is asked for again."""
        if not self.failed:
            wanted = self._image if isinstance(asked, ImageRequest) else self._answer and self._answer(asked)
            if wanted:
                self.failed.append(asked)
        return asked in self.failed


class _Failing:
    """A model or judge as it is, but for what is to fail."""

    def __init__(self, inner: Any, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Any]]:
        """Draw, but for the image that is to fail."""
        for request, answer in self._inner.generate(requests):
            yield request, Failure(REASON) if self._faults.befalls(request) else answer

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        """Answer, but for the query that is to fail."""
        for query, answer in self._inner.observe(capability, queries):
            yield query, Failure(REASON) if self._faults.befalls(query) else answer
