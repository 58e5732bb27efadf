"""Amounts of work that a forecast counts, and what paid components charge for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..api.generator import ImageRequest
from ..api.judge import Capability, Query
from ..api.plugin_guard import guard_plugin
from ..api.prices import find_price
from .component import Component

PROMPT_SOURCE = "prompt source"


@dataclass
class Work:
    """The amount of work of one kind.

    Attributes:
        to_make: Number of items to make.
        kept: Number of items in the cache.
        unknown: Number of items that may be in the cache: their keys depend on weights that are not here.
        seconds: Time to make those in `to_make`, in seconds; None if it is not known.
    """

    to_make: int = 0
    kept: int = 0
    unknown: int = 0
    seconds: float | None = 0.0

    def add(self, count: int, rate: float | None, workers: int) -> None:
        """Add items to make.

        Args:
            count: Number of items.
            rate: Seconds of one worker for each item; None if it is not known.
            workers: Number of workers.
        """
        self.to_make += count
        if count:
            known = self.seconds is not None and rate is not None
            own = (rate or 0.0) * count / min(workers, count)
            self.seconds = (self.seconds or 0.0) + own if known else None


@dataclass(frozen=True)
class ComponentLoad:
    """The items that one component has to make.

    Attributes:
        component: The component.
        work: What they are added to, when the number of workers is known.
        count: Their number. Others may have to be made: their keys depend on weights that are not here.
        rate: Seconds of one worker for each item; None if it is not known.
    """

    component: Component[Any]
    work: Work
    count: int
    rate: float | None


@dataclass
class PaidWork:
    """The requests to a paid component.

    Attributes:
        kind: `generator`, `judge` or `prompt source`.
        component: The component, as the user wrote it.
        to_make: Number of images or answers to pay for.
        kept: Number of those in the cache, which cost nothing.
        unknown: Number of those that may be in the cache.
        most: The most that those to make and those not known can cost, in USD, if no request is repeated; None if
            the price is not known.
        set_first: What must be set before the price is known; empty if it is known.
        is_bound: False if it can cost more than `most`, because prompts will be rewritten first, or because
            queries depend on answers that do not exist yet.
    """

    kind: str
    component: str
    to_make: int = 0
    kept: int = 0
    unknown: int = 0
    most: float | None = 0.0
    set_first: str = ""
    is_bound: bool = True

    def add(self, requests: Iterable[float | None]) -> None:
        """Add the most that each of some requests can cost; None if that is not known."""
        for most in requests:
            self.most = None if most is None or self.most is None else self.most + most
        self.most = self.most and round(self.most, 9)


@dataclass
class ImageWork(Work):
    """Images to make.

    Attributes:
        missing: Number of existing images that are not there.
    """

    missing: int = 0


@dataclass
class ObservationWork(Work):
    """Observations to make.

    Attributes:
        waiting: Number of samples about which more may be asked, as soon as first answers about them are there.
    """

    waiting: int = 0


def find_paid_work(component: Component[Any], costs: dict[str, PaidWork]) -> PaidWork | None:
    """Return the work of a paid component among the costs; None if its requests cost nothing."""
    price = find_price(component)
    if price is None:
        return None
    new = PaidWork(component.kind, component.spec, set_first=price.unknown)
    return costs.setdefault(f"{component.kind} {component.spec}", new)


def make_price_reader(
    component: Component[Any], capability: Capability | None
) -> Callable[[ImageRequest | Query], float | None]:
    """Return a function that returns the most that a request can cost; None if that is not known."""
    price = find_price(component)
    if price is None or price.unknown:
        return lambda item: None

    def read(item: ImageRequest | Query) -> float:
        with guard_plugin(component, "to say its price"):
            return price.most(item, capability)

    return read
