"""A model, a judge and a metric, and every way in which one of them can break its contract."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import inf, nan
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from t2i_core import Run
from t2i_core.api import (
    Derive,
    Generated,
    GeneratorInfo,
    ImageRequest,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Query,
    Row,
    Truth,
)
from t2i_core.api.progress import Progress
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.testing import TEST_JUDGE, StaticResolver

SIDE = 8

CODE = (f"**/{Path(__file__).name}",)
"""Rude plugins count as the same code as others (see `Plugins.__getstate__`), so what they make is reused."""

Cell = tuple[str, int]
"""A prompt's id and a seed."""

CELLS: tuple[Cell, ...] = tuple((str(prompt), seed) for prompt in range(5) for seed in range(6))

Answer = Callable[[Any], Any]


# --- the plugins, if they behave


def paint(request: ImageRequest) -> np.ndarray:
    """Return an image whose first pixel tells its prompt and seed."""
    rng = np.random.default_rng([int(request.prompt.id), request.seed])
    pixels = rng.integers(1, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    pixels[0, 0] = int(request.prompt.id), request.seed, 7
    return pixels


def find_cell(item: Any) -> Cell:
    """Return the prompt and seed of a request or a query."""
    if isinstance(item, ImageRequest):
        return item.prompt.id, item.seed
    prompt, seed, _ = item.images[0].pixels[0, 0].tolist()
    return str(prompt), seed


def answer_rightly(capability: str, item: Any) -> Any:
    """Return what a well-behaved plugin answers."""
    if capability == "generate":
        return Generated(paint(item))
    ((_, answer),) = TEST_JUDGE.create(None).observe(capability, [item])
    return answer


def sum_fields(observation: Any) -> float:
    """Return a number that depends on all arrays and numbers of an observation."""
    values = (getattr(observation, name) for name in observation.__dataclass_fields__)
    return float(sum(np.sum(value) for value in values if isinstance(value, np.ndarray | float | int)))


def measure_brightness(pixels: Any, observation: Any) -> dict[str, np.ndarray]:
    """Derive the mean of the pixels from the image that the judge has seen."""
    return {"mean": np.array([pixels.mean()])}


def make_query(capability: str, samples: Any) -> list[Query]:
    """Return one query about the sample's image."""
    return [Query((samples[0].image,), ("one",) if capability == "reward" else ())]


class TwoRows(Metric):
    """Two rows a sample: what the judge observed, and how bright the image is."""

    def __init__(self, capability: str, change: Callable[[Any, list[Row]], Any], setup: Any) -> None:
        super().__init__(setup)
        derive = Derive("brightness", measure_brightness)
        self.needs = (Need("seen", capability, queries=partial(make_query, capability), derive=derive),)
        self.change = change

    def measure(self, unit: Any) -> Any:
        observed = unit.one()
        brightness = float(observed.derived("seen")["mean"][0])
        return self.change(unit, [Row("seen", sum_fields(observed.one("seen"))), Row("bright", brightness)])


# --- ways to break a contract


@dataclass(frozen=True)
class Deed:
    """One way to break a contract.

    Attributes:
        name: What happens.
        part: The part that breaks it: `generate`, `measure`, or the capability in which the judge is asked.
        work: What the part does instead; for a metric, what becomes of its rows.
        reason: Regular expression for the failure's reason, or for the error that ends the run.
        harmless: Whether the results are as if nothing had happened.
        broken: Whether the run must end with BrokenPlugin.
        fails_all: Whether all samples fail, instead of the touched ones.
    """

    name: str
    part: str
    work: Any
    reason: str = ""
    harmless: bool = False
    broken: bool = False
    fails_all: bool = False


def change(function: Callable[[Any], Any]) -> Any:
    """Change the answers to the touched items."""
    return lambda items, answer, touched: (
        (item, function(answer(item)) if find_cell(item) in touched else answer(item)) for item in items
    )


def change_image(function: Callable[[np.ndarray], Any]) -> Any:
    return change(lambda generated: Generated(function(generated.image)))


def raise_error(make: Callable[[], BaseException], batch: int = 1) -> Any:
    """Raise for a batch with a touched item."""

    def work(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
        items = iter(items)
        while taken := list(islice(items, batch)):
            if any(find_cell(item) in touched for item in taken):
                raise make()
            yield from ((item, answer(item)) for item in taken)

    return work


def leave_out(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    return ((item, answer(item)) for item in list(items) if find_cell(item) not in touched)


def reverse(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    return ((item, answer(item)) for item in list(items)[::-1])


def repeat(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    return ((item, answer(item)) for item in items for _ in range(1 + (find_cell(item) in touched)))


def answer_copies(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    return ((replace(item) if find_cell(item) in touched else item, answer(item)) for item in items)


def answer_alone(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    return (answer(item) for item in items)


def answer_nothing(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    return iter(())


def consume_all(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    list(items)
    return iter(())


class StopEarly:
    """An iterator that ends at the first touched item that it has taken."""

    def __init__(self, items: Iterable[Any], answer: Answer, touched: set[Cell]) -> None:
        self.items, self.answer, self.touched = iter(items), answer, touched

    def __iter__(self) -> StopEarly:
        return self

    def __next__(self) -> tuple[Any, Any]:
        item = next(self.items)
        if find_cell(item) in self.touched:
            raise StopIteration
        return item, self.answer(item)


def paint_over(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    for item in items:
        if find_cell(item) in touched:
            item.images[0].pixels[...] = 0
        yield item, answer(item)


def paint_over_a_copy(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    for item in items:
        found = answer(item)
        item.images[0].pil().paste((0, 0, 0), (0, 0, SIDE, SIDE))
        yield item, found


def reuse_an_array(items: Iterable[Any], answer: Answer, touched: set[Cell]) -> Iterator[Any]:
    canvas = np.empty((SIDE, SIDE, 3), np.uint8)
    for item in items:
        canvas[...] = answer(item).image
        yield item, Generated(canvas)


def change_rows(function: Callable[[list[Row]], Any]) -> Any:
    """Change the rows of the touched samples."""
    return lambda unit, rows, touched: function(rows) if (unit.prompt.id, unit.seed) in touched else rows


class NotAnException(BaseException):
    """What no plugin should raise."""


DEEDS: tuple[Deed, ...] = (
    Deed("a judge answers NaN", "reward", change(lambda r: replace(r, value=nan)), "not numbers"),
    Deed(
        "a judge answers infinity", "segment", change(lambda s: replace(s, scores=s.scores * inf)), "not numbers"
    ),
    Deed("a judge answers None", "reward", change(lambda r: None), "gave NoneType where"),
    Deed("a judge answers another type", "detect", change(lambda d: object()), "gave object where"),
    Deed("a judge answers too few masks", "segment", change(lambda s: replace(s, masks=())), "0 masks for 1"),
    Deed("a judge raises", "segment", raise_error(lambda: RuntimeError("no")), "RuntimeError: no"),
    Deed("a judge raises in batches", "reward", raise_error(lambda: RuntimeError("no"), 4), "RuntimeError: no"),
    Deed("a judge exits", "reward", raise_error(lambda: SystemExit(0)), "SystemExit: 0"),
    Deed("a judge raises GeneratorExit", "reward", raise_error(GeneratorExit), "GeneratorExit"),
    Deed("a judge raises StopIteration", "reward", raise_error(StopIteration), "RuntimeError: generator raised"),
    Deed("a judge raises no Exception", "reward", raise_error(lambda: NotAnException("no")), "NotAnException: no"),
    Deed("a judge stops early", "reward", StopEarly, "0 answers where one"),
    Deed("a judge leaves out items", "detect", leave_out, "0 answers where one"),
    Deed("a judge answers in reverse", "detect", reverse, harmless=True),
    Deed("a judge answers twice", "reward", repeat, "answered it twice", broken=True),
    Deed("a judge answers other queries", "reward", answer_copies, "what it was not asked", broken=True),
    Deed("a judge answers without the query", "reward", answer_alone, "must give pairs", broken=True),
    Deed("a judge never answers", "reward", answer_nothing, "stopped before it was done", broken=True),
    Deed("a judge writes to an image", "segment", paint_over, "read-only"),
    Deed("a judge writes to its copy", "segment", paint_over_a_copy, harmless=True),
    Deed("a model gives black images", "generate", change_image(np.zeros_like), "every pixel is black"),
    Deed("a model gives NaN", "generate", change_image(lambda p: np.full(p.shape, nan)), "not numbers"),
    Deed("a model gives floats", "generate", change_image(lambda p: p / 255), "float64 of shape"),
    Deed("a model gives 16 bits", "generate", change_image(lambda p: p.astype(np.uint16)), "uint16 of shape"),
    Deed("a model gives one channel", "generate", change_image(lambda p: p[..., 0]), r"shape \(8, 8\)"),
    Deed("a model gives four channels", "generate", change_image(lambda p: p[..., [0, 1, 2, 0]]), r"\(8, 8, 4\)"),
    Deed("a model gives no pixels", "generate", change_image(lambda p: p[:0]), r"\(0, 8, 3\)"),
    Deed("a model gives None", "generate", change(lambda g: None), "gave NoneType"),
    Deed("a model gives text", "generate", change_image(lambda p: "image"), "gave str"),
    Deed("a model names a missing file", "generate", change_image(lambda p: Path("gone.png")), "cannot be read"),
    Deed(
        "a model gives the truth of another size",
        "generate",
        change(lambda g: replace(g, truth=Truth((3, 3), ()))),
        "another size",
    ),
    Deed("a model gives a bad truth", "generate", change(lambda g: replace(g, truth="all")), "cannot be kept"),
    Deed(
        "a model gives a bad record", "generate", change(lambda g: replace(g, record={"a": {1}})), "cannot be kept"
    ),
    Deed("a model leaves out items", "generate", leave_out, "0 answers where one"),
    Deed("a model answers twice", "generate", repeat, "answered it twice", broken=True),
    Deed("a model answers other requests", "generate", answer_copies, "what it was not asked", broken=True),
    Deed("a model never answers", "generate", answer_nothing, "stopped before it was done", broken=True),
    Deed("a model takes all and never answers", "generate", consume_all, "0 answers where one", fails_all=True),
    Deed("a model reuses an array", "generate", reuse_an_array, harmless=True),
    Deed("a model answers in reverse", "generate", reverse, harmless=True),
    Deed("a model exits", "generate", raise_error(lambda: SystemExit("bye")), "SystemExit: bye"),
    Deed("an error of 10 MB", "generate", raise_error(lambda: RuntimeError("x" * 10**7)), "^.*xxx[.]{3}$"),
    Deed("an error of many lines", "generate", raise_error(lambda: OSError("a\n\tb\r\nc")), "^OSError: a b c$"),
    Deed("an error of half a surrogate pair", "generate", raise_error(lambda: OSError("\ud83d")), r"\\ud83d"),
    Deed(
        "an error with control characters",
        "generate",
        raise_error(lambda: OSError("\x1b[2J\0")),
        r"\\x1b\[2J\\x00",
    ),
    *(
        Deed(f"a metric {name}", "measure", change_rows(function), reason, broken=True)
        for name, function, reason in (
            ("raises", lambda rows: 1 / 0, "ZeroDivisionError"),
            ("exits", lambda rows: sys.exit(0), "SystemExit: 0"),
            ("gives NaN", lambda rows: [Row("seen", nan)], "gave nan for 'seen'"),
            ("gives infinity", lambda rows: [Row("seen", inf)], "gave inf for 'seen'"),
            ("gives no row", lambda rows: [], "neither rows nor a failure"),
            ("gives a row twice", lambda rows: rows * 2, "no facet tells apart"),
            ("gives an unknown measure", lambda rows: [Row("odd", 1)], "one of its measures"),
            ("gives numbers", lambda rows: [1.0], "float instead of Row"),
        )
    ),
)


# --- running them


@dataclass
class Plugins:
    """A model, a judge and a metric of which one breaks its contract for the touched cells, or none.

    Attributes:
        deed: What happens; None if all behave.
        touched: For which samples.
        calls: Number of items that each part answered.
    """

    deed: Deed | None = None
    touched: frozenset[Cell] = frozenset()
    calls: dict[str, int] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Return nothing, so that another deed does not count as a change of the code."""
        return {}

    def work(self, capability: str, items: Iterable[Any]) -> Any:
        """Answer as the part does."""

        def answer(item: Any) -> Any:
            self.calls[capability] = self.calls.get(capability, 0) + 1
            return answer_rightly(capability, item)

        if self.deed is not None and self.deed.part == capability:
            return iter(self.deed.work(items, answer, self.touched))
        return ((item, answer(item)) for item in items)

    def change_rows(self, unit: Any, rows: list[Row]) -> Any:
        """Return the rows that the metric gives."""
        return self.deed.work(unit, rows, self.touched) if self.deed and self.deed.part == "measure" else rows

    def generate(self, requests: Any) -> Any:
        return self.work("generate", requests)

    def observe(self, capability: str, queries: Any) -> Any:
        return self.work(capability, queries)

    def evaluate(
        self, folder: Path, capability: str, progress: Progress | None = None, fresh: bool = False
    ) -> Run:
        """Evaluate all cells, with a cache and a run in this folder."""
        prompts = [Prompt(id, f"prompt {id}") for id in dict.fromkeys(prompt for prompt, _ in CELLS)]
        metric = MetricInfo(
            name="two-rows",
            summary="Two rows.",
            create=partial(TwoRows, capability, self.change_rows),
            measures=(Measure("seen", "What the judge observed."), Measure("bright", "Brightness.")),
            code=CODE,
        )
        judge = replace(TEST_JUDGE, name="the-judge", create=lambda setup: self, code=CODE)
        model = GeneratorInfo(name="the-model", summary="Noise.", create=lambda setup: self, code=CODE)
        source = PromptSourceInfo(name="prompts", summary="Prompts.", prompts=lambda setup: prompts)
        seeds = tuple(dict.fromkeys(seed for _, seed in CELLS))
        request = Request(
            (metric,), (ModelRequest(model),), ("prompts",), seeds=seeds, out=folder / "run", fresh=fresh
        )
        with patch.dict(os.environ, {"T2I_CACHE_DIR": str(folder / "cache")}):
            return run_plan(make_plan(request, StaticResolver(judge, source)), progress)
