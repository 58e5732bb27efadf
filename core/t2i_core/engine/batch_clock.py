"""Measurement of a generator's speed, batch by batch, beside its work."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import scipy  # its `special` is imported when it is first used

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
        answers: The seconds before each answer, in their order.
    """

    batches: list[TimedBatch] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)

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
            self.answers.append(seconds)
            if taken or not self.batches:
                self.batches.append(TimedBatch(taken, seconds))
            else:
                self.batches[-1].seconds += seconds
                self.batches[-1].answers += 1
            yield answer

    def describe(self, settings: Mapping[str, Any], device: str | None, measured: str) -> SpeedRecord | None:
        """Return the speed after the first batch; None if too few images were generated.

        The first batch is left out, because it contains work that is done once (compilation, first allocations).
        Batches of other sizes than most images have, such as the last one, are left out because they use the
        device differently.

        If the generator takes items before it has answered those of the batch, several are in work at once, and
        the time of a batch is not that of its items. The speed is then the time of all answers after the first
        ones, as many as items were taken before the first answer, divided by their number.

        Args:
            settings: Settings that the generator reports after its work.
            device: The device that the user asked for.
            measured: The time.
        """
        if any(batch.answers != batch.items for batch in self.batches[:-1]):
            return self._describe_overlap(settings, device, measured)
        counted = self._choose_batches()
        if len(counted) < 2:
            return None
        size = counted[0].items
        seconds = np.array([batch.seconds / size for batch in counted])
        mean = float(seconds.mean())
        half = float(scipy.special.stdtrit(len(seconds) - 1, 0.975) * seconds.std(ddof=1) / np.sqrt(len(seconds)))
        return self._record(
            settings,
            device,
            measured,
            mean,
            size * len(counted),
            len(counted),
            size,
            [max(0.0, mean - half), mean + half],
        )

    def _choose_batches(self) -> list[TimedBatch]:
        """Return the complete batches of the size that most images have, without the first of them."""
        images: Counter[int] = Counter()
        for batch in self.batches:
            images[batch.items] += batch.answers
        size = max(images, key=lambda each: (images[each], each), default=0)
        return [batch for batch in self.batches if batch.items == batch.answers == size][1:]

    def _describe_overlap(
        self, settings: Mapping[str, Any], device: str | None, measured: str
    ) -> SpeedRecord | None:
        later = self.answers[self.batches[0].items :]
        if len(later) < 2:
            return None
        return self._record(settings, device, measured, sum(later) / len(later), len(later))

    def _record(
        self,
        settings: Mapping[str, Any],
        device: str | None,
        measured: str,
        seconds: float,
        images: int,
        batches: int | None = None,
        batch_size: int | None = None,
        ci: Interval | None = None,
    ) -> SpeedRecord:
        memory = settings.get("peak_memory_gb")
        return SpeedRecord(
            seconds=seconds,
            ci=ci,
            images=images,
            batches=batches,
            batch_size=batch_size,
            left_out=len(self.answers) - images,
            device=str(settings.get("device") or device or "best"),
            peak_memory_gb=float(memory) if isinstance(memory, int | float) else None,
            measured=measured,
        )
