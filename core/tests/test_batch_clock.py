"""The speed of a model: full batches after the first, without what the run does in between."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Generated, GeneratorInfo, ImageRequest, Price
from t2i_core.engine import batch_clock
from t2i_core.engine.batch_clock import BatchClock, TimedBatch
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.testing import TEST_PROMPTS, StaticResolver


class Ticks:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    found = Ticks()
    monkeypatch.setattr(batch_clock, "time", found)
    return found


def work_in_halves(ticks: Ticks) -> Any:
    """Return a generator of batches of four whose halves take 1 and 2 seconds."""

    def work(items: Iterable[int]) -> Iterator[tuple[int, str]]:
        stream = iter(items)
        while batch := list(islice(stream, 4)):
            for half, seconds in ((batch[:2], 1), (batch[2:], 2)):
                ticks.now += seconds
                yield from ((item, "image") for item in half)

    return work


def work_ahead(ticks: Ticks) -> Any:
    """Return a generator with three items in work, of which one is done each second."""

    def work(items: Iterable[int]) -> Iterator[tuple[int, str]]:
        stream = iter(items)
        open_ = list(islice(stream, 3))
        while open_:
            ticks.now += 1
            yield open_.pop(0), "image"
            open_ += list(islice(stream, 1))

    return work


def work_in_batches(ticks: Ticks, size: int, seconds: Iterable[float]) -> Any:
    """Return a generator of batches that take so long, one after the other."""
    durations = iter(seconds)

    def work(items: Iterable[int]) -> Iterator[tuple[int, str]]:
        stream = iter(items)
        while batch := list(islice(stream, size)):
            ticks.now += next(durations)
            yield from ((item, "image") for item in batch)

    return work


def test_only_the_work_on_a_batch_counts(ticks: Ticks) -> None:
    def find_items() -> Iterator[int]:
        for number in range(13):
            ticks.now += 1000  # the run looks for the next image
            yield number

    clock = BatchClock()
    for _ in clock.watch(work_in_batches(ticks, 4, [9, 2, 3, 1]), find_items()):
        ticks.now += 100  # the run encodes and writes
    assert clock.batches == [TimedBatch(4, 9, 4), TimedBatch(4, 2, 4), TimedBatch(4, 3, 4), TimedBatch(1, 1, 1)]
    found = clock.describe({"device": "cuda:0", "peak_memory_gb": 3.5}, "cuda", "now")
    assert found is not None
    assert found.seconds == pytest.approx(2.5 / 4)
    assert (found.images, found.batches, found.batch_size, found.left_out) == (8, 2, 4, 5)
    assert (found.device, found.peak_memory_gb) == ("cuda:0", 3.5)
    half = 12.706 * np.std([0.5, 0.75], ddof=1) / np.sqrt(2)
    assert found.ci == [0, pytest.approx(0.625 + half, rel=1e-3)]


def test_a_batch_that_is_answered_in_parts_counts_whole(ticks: Ticks) -> None:
    clock = BatchClock()
    list(clock.watch(work_in_halves(ticks), iter(range(12))))
    found = clock.describe({}, None, "now")
    assert found is not None
    assert (found.seconds, found.batch_size, found.images) == (0.75, 4, 8)


def test_items_in_work_at_once_count_by_their_rate(ticks: Ticks) -> None:
    """The first ones, which wait for the start, are left out."""
    clock = BatchClock()
    list(clock.watch(work_ahead(ticks), iter(range(10))))
    found = clock.describe({}, None, "now")
    assert found is not None
    assert (found.seconds, found.images, found.left_out) == (1, 7, 3)
    assert (found.batch_size, found.batches, found.ci) == (None, None, None)
    assert found.describe() == "1.000 s an image, over 7 images after the first ones, several at once, on best"


def work_by_two(ticks: Ticks) -> Any:
    """Return a generator with eight items in work, of which two are done together every 0.2 s."""

    def work(items: Iterable[int]) -> Iterator[tuple[int, str]]:
        stream = iter(items)
        open_ = list(islice(stream, 8))
        done = 0
        while open_:
            ticks.now += 0.2 if done % 2 == 0 else 0
            done += 1
            yield open_.pop(0), "image"
            open_ += list(islice(stream, 1))

    return work


def work_by_two_and_take_late(ticks: Ticks) -> Any:
    """Return the same generator, which takes two further items after two answers."""

    def work(items: Iterable[int]) -> Iterator[tuple[int, str]]:
        stream = iter(items)
        open_ = list(islice(stream, 8))
        while open_:
            ticks.now += 0.2
            for item in open_[:2]:
                yield item, "image"
            open_ = open_[2:] + list(islice(stream, 2))

    return work


@pytest.mark.parametrize("work", [work_by_two, work_by_two_and_take_late])
def test_workers_that_finish_together_count_by_their_rate(ticks: Ticks, work: Any) -> None:
    clock = BatchClock()
    list(clock.watch(work(ticks), iter(range(40))))
    found = clock.describe({}, None, "now")
    assert found is not None
    assert found.seconds == pytest.approx(0.1)
    assert (found.images, found.left_out, found.ci, found.batch_size) == (32, 8, None, None)


def test_batches_after_memory_ran_out_count_by_the_smaller_size(ticks: Ticks) -> None:
    """The first batch fits, the second one only in parts, which takes far longer; then the size is halved."""
    sizes, seconds = iter([8, 8, 4, 4, 4, 4]), iter([9, 50, 3, 2, 2, 2])

    def work(items: Iterable[int]) -> Iterator[tuple[int, str]]:
        stream = iter(items)
        for size in sizes:
            batch = list(islice(stream, size))
            ticks.now += next(seconds)
            yield from ((item, "image") for item in batch)

    clock = BatchClock()
    list(clock.watch(work, iter(range(28))))
    assert clock.describe({}, None, "now") is None  # 16 images by eight, 12 by four: one batch is left
    list(clock.watch(work_in_batches(ticks, 4, [2, 2]), iter(range(8))))
    found = clock.describe({}, None, "now")
    assert found is not None
    assert (found.batch_size, found.seconds, found.images) == (4, 0.5, 16)
    assert found.left_out == 20


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_speed_takes_two_batches_after_the_first(ticks: Ticks, batches: int) -> None:
    clock = BatchClock()
    list(clock.watch(work_in_batches(ticks, 4, [9, 2, 2]), iter(range(4 * batches))))
    found = clock.describe({}, None, "now")
    assert (found is not None) == (batches == 3)
    if found is not None:
        assert (found.seconds, found.ci, found.device, found.peak_memory_gb) == (0.5, [0.5, 0.5], "best", None)


class Slow:
    """Sleeps for each batch of two."""

    settings = {"device": "cpu"}  # noqa: RUF012

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated]]:
        stream = iter(requests)
        while batch := list(islice(stream, 2)):
            time.sleep(0.02)
            for request in batch:
                yield request, Generated(np.full((4, 4, 3), 9 + request.seed, np.uint8))


def run(tmp_path: Path, out: str, price: Any = None) -> Run:
    info = GeneratorInfo(name="slow", summary="Slow.", create=lambda setup: Slow(), price=price)
    return evaluate(
        [], info, prompts=TEST_PROMPTS.name, seeds=4, out=tmp_path / out, resolver=StaticResolver(TEST_PROMPTS)
    )


def test_run_json_has_the_speed_also_if_all_images_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    speed = run(tmp_path, "first").manifest.models["slow"].speed
    assert speed is not None
    assert 0.01 <= speed.seconds < 0.5
    assert (speed.batch_size, speed.device, speed.left_out) == (2, "cpu", 2)
    assert run(tmp_path, "second").manifest.models["slow"].speed == speed


def test_services_are_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    found = run(tmp_path, "paid", lambda options: Price(lambda item, capability: 0.0))
    assert found.manifest.models["slow"].speed is None
