"""Measurement of a generator's speed, batch by batch, beside its work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from scipy.special import stdtrit

from ..results.manifest import SpeedRecord
from ..results.typed import Interval

ItemT = TypeVar("ItemT")


@dataclass
class TimedBatch:
    """Items that a generator took at a time.

    Attributes:
        items: Number of items.
        seconds: Time that it worked until it took the next ones.
        answers: Number of answers that it gave meanwhile. If it differs from that of items, the time is not
            theirs.
    """

    items: int
    seconds: float
    answers: int = 1


@dataclass
class BatchClock:
    """Measures the batches of one generator in this process.

    A batch begins when the generator takes its first item and ends when it takes that of the next batch. Only the
    time within the generator counts: what the run does with answers in the meantime, such as encoding and writing,
    and how it finds the next items, is not measured.

    Attributes:
        batches: The batches in their order.
    """

    batches: list[TimedBatch] = field(default_factory=list)

    def watch(
        self, work: Callable[[Iterable[ItemT]], Iterable[tuple[ItemT, Any]]], items: Iterable[ItemT]
    ) -> Iterator[tuple[ItemT, Any]]:
        """Yield what the generator yields for a stream of items."""
        taken, waited = 0, 0.0

        def feed() -> Iterator[ItemT]:
            nonlocal taken, waited
            source = iter(items)
            while True:
                begun = time.perf_counter()
                try:
                    item = next(source)
                except StopIteration:
                    return
                finally:
                    waited += time.perf_counter() - begun
                taken += 1
                yield item

        answers = iter(work(feed()))
        while True:
            taken, waited, begun = 0, 0.0, time.perf_counter()
            try:
                answer = next(answers)
            except StopIteration:
                return
            seconds = time.perf_counter() - begun - waited
            if taken or not self.batches:
                self.batches.append(TimedBatch(taken, seconds))
            else:
                self.batches[-1].seconds += seconds
                self.batches[-1].answers += 1
            yield answer

    def describe(self, settings: Mapping[str, Any], device: str | None, measured: str) -> SpeedRecord | None:
        """Return the speed in full batches after the first one; None without such batches.

        The first batch is left out, because it contains work that is done once (compilation, first allocations).
        Smaller batches, such as the last one, are left out because they use the device less well.

        Args:
            settings: Settings that the generator reports after its work.
            device: The device that the user asked for.
            measured: The time.
        """
        later = [batch for batch in self.batches[1:] if batch.answers == batch.items]
        if not later:
            return None
        size = max(batch.items for batch in later)
        seconds = np.array([batch.seconds / size for batch in later if batch.items == size])
        mean = float(seconds.mean())
        ci: Interval | None = None
        if len(seconds) > 1:
            half = stdtrit(len(seconds) - 1, 0.975) * seconds.std(ddof=1) / np.sqrt(len(seconds))
            ci = [max(0.0, mean - float(half)), mean + float(half)]
        memory = settings.get("peak_memory_gb")
        return SpeedRecord(
            seconds=mean,
            ci=ci,
            images=size * len(seconds),
            batches=len(seconds),
            batch_size=size,
            left_out=sum(batch.answers for batch in self.batches) - size * len(seconds),
            device=str(settings.get("device") or device or "best"),
            peak_memory_gb=float(memory) if isinstance(memory, int | float) else None,
            measured=measured,
        )
