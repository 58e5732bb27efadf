"""The budget of a run: what its paid components may spend together (`--max-cost`).

A component that asks a paid service gets the budget in its `Setup`. It reserves the most that a request can cost
before it sends the request, retries included, and settles the reservation when it knows the cost:

    charge = setup.budget.reserve(most)
    if charge is None:
        ...  # wait if requests are open; once `is_spent`, answer with a Failure and send nothing more
    with charge:
        answer = send(request)
        charge.settle(cost_of(answer))

Requests that are open when the budget is spent end as usual, so their answers are kept. Then the engine ends the
run. A reservation that is never settled counts in full, because the service may have charged for the request.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

from .errors import CostLimitReached
from .money import format_dollars

_UNITS = 10**12
"""Amounts are integers in units of 1e-12 USD, so that sums are exact: 25 images at $0.04 cost $1."""


@dataclass
class Spending:
    """Spending of one component.

    Attributes:
        usd: All that it has spent, in USD.
        unconfirmed: The part of it for requests without an answer, which the service may not have charged.
    """

    usd: float = 0.0
    unconfirmed: float = 0.0


@dataclass
class Announcement:
    """Requests of a prompt source that a run would send and a dry run does not.

    Attributes:
        most: The most that the request for each text can cost, in USD.
        kept: The texts whose answers are kept, and cost nothing.
        unknown: What must be set before `most` is known; empty if it is known.
    """

    most: dict[str, float] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    unknown: str = ""


class Budget:
    """Money that the paid components of a run may spend. It may be used in any thread.

    Args:
        limit: The most that they may spend together, in USD. If None, spending is counted and not limited.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._spent = self._unconfirmed = self._reserved = 0
        self._spending: dict[str, Spending] = {}
        self._announced: dict[str, Announcement] = {}
        self._name = ""
        self._excess = 1.0
        self._is_spent = False

    @property
    def limit(self) -> float | None:
        """The limit in USD; None without one."""
        return self._limit

    @property
    def is_spent(self) -> bool:
        """True if a request was refused while no other one was open. No request is allowed after that."""
        return self._is_spent

    @property
    def spent(self) -> float:
        """Amount spent, in USD."""
        return self._spent / _UNITS

    @property
    def unconfirmed(self) -> float:
        """The part of `spent` for requests without an answer, which the service may not have charged."""
        return self._unconfirmed / _UNITS

    @property
    def spending(self) -> Mapping[str, Spending]:
        """Spending of each component, by the name given to `charge_to`."""
        return self._spending

    @property
    def announced(self) -> Mapping[str, Announcement]:
        """Requests that a dry run does not send, by the name given to `charge_to`."""
        return self._announced

    def announce(self, most: Mapping[str, float], kept: Iterable[str] = (), unknown: str = "") -> None:
        """Say in a dry run which texts a prompt source would ask a service for, so that the plan tells their cost.

        Args:
            most: The most that the request for each text can cost, in USD; 0 if it costs nothing.
            kept: The texts whose answers are kept.
            unknown: What must be set before `most` is known; empty if it is known.
        """
        own = self._announced.setdefault(self._name, Announcement())
        own.most |= most
        own.kept |= set(kept)
        own.unknown = own.unknown or unknown

    def reserve(self, most: float) -> Reservation | None:
        """Reserve money for one request.

        Args:
            most: The most that the request can cost, in USD. If a service has charged more than that before, more
                is reserved. A request that costs nothing is always allowed.

        Returns:
            The reservation. None if the request could exceed the limit; try again when an open request has ended,
            unless `is_spent`.

        Raises:
            ValueError: If `most` is not a number from 0.
        """
        if not (math.isfinite(most) and most >= 0):
            raise ValueError(f"the most that a request costs must be a number from 0 (got {most!r})")
        said = round(most * _UNITS)
        with self._lock:
            units = math.ceil(said * self._excess)
            if units and self._limit is not None:
                left = round(self._limit * _UNITS) - self._spent - self._reserved
                if self._is_spent or units > left:
                    self._is_spent = self._is_spent or not self._reserved
                    return None
            self._reserved += units
        return Reservation(self, units, said)

    @contextmanager
    def charge_to(self, name: str) -> Iterator[None]:
        """Count all that is spent or announced in the block as that of a component."""
        self._name = name
        spent, unconfirmed = self._spent, self._unconfirmed
        self._excess = 1.0
        try:
            yield
        finally:
            self._name = ""
            if self._spent != spent:
                own = self._spending.setdefault(name, Spending())
                own.usd += (self._spent - spent) / _UNITS
                own.unconfirmed += (self._unconfirmed - unconfirmed) / _UNITS

    def end_run(self, done: str) -> None:
        """End the run if the budget is spent.

        Args:
            done: What the component has done, for the message: `12 of 40 images of sd2 are made`.

        Raises:
            CostLimitReached: If it is spent.
        """
        if self._is_spent and self._limit is not None:
            raise CostLimitReached(self._limit, self.spent, self.unconfirmed, done)

    def describe(self) -> str:
        """Return what each component has spent in words; empty if nothing was spent."""
        parts = [f"{format_dollars(own.usd)} by {name}" for name, own in self._spending.items()]
        unsure = f"; {format_dollars(self.unconfirmed)} of it may not be charged" if self._unconfirmed else ""
        return f"spent {', '.join(parts)}{unsure}" if parts else ""

    def _settle(self, units: int, said: int, cost: float | None) -> None:
        with self._lock:
            self._reserved -= units
            paid = units if cost is None else round(cost * _UNITS)
            self._spent += paid
            self._unconfirmed += units if cost is None else 0
            if said:  # above 1 if the service charges more than the component's options say
                self._excess = max(self._excess, paid / said)


class Reservation:
    """Money that is reserved for one request. Leaving its block without `settle` charges all of it."""

    def __init__(self, budget: Budget, units: int, said: int) -> None:
        self._budget: Budget | None = budget
        self._units = units
        self._said = said  # by the component; `units` is more if the service has charged more before

    def settle(self, cost: float) -> None:
        """Say what the request has cost, in USD; 0 if the service says that it does not charge for it.

        Raises:
            ValueError: If the cost is not a number from 0.
        """
        if not (math.isfinite(cost) and cost >= 0):
            raise ValueError(f"the cost of a request must be a number from 0 (got {cost!r})")
        self._end(cost)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(None)

    def _end(self, cost: float | None) -> None:
        budget, self._budget = self._budget, None
        if budget is not None:
            budget._settle(self._units, self._said, cost)
