"""Plugins that break their contract, and prompts that no table or terminal likes.

A run with a plugin that misbehaves is held to one with the same plugin when it behaves: what it did not touch must
be the same, what it did touch must be failed, with its reason, or end the run in one line that names it. Then the
plugin is mended, and the same command must give the undisturbed run, making only what had failed.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import inf, isclose, nan
from pathlib import Path
from typing import Any

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
from t2i_core.api.errors import BrokenPlugin
from t2i_core.api.mask import PackedMask
from t2i_core.api.progress import Progress
from t2i_core.api.text import describe_error
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.testing import TEST_JUDGE, StaticResolver

from fire import odd_prompts
from fire.odd_prompts import Notes, cache, table
from fire.tally import Case, Difference, difference, rows

GROUP = "misbehaviour"
SIDE = 8
#: Fixed and broken plugins are the same to t2i (see `Parts.__getstate__`): it reuses what either has made.
CODE = (f"**/{Path(__file__).name}",)
Cell = tuple[str, int]


class Stubborn(BaseException):
    """What no plugin should raise."""


# the parts, when they behave ------------------------------------------------------------------------------------


def painted(request: ImageRequest) -> np.ndarray:
    """An image that says which prompt and seed it is of."""
    rng = np.random.default_rng([int(request.prompt.id), request.seed])
    pixels = rng.integers(1, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    pixels[0, 0] = int(request.prompt.id), request.seed, 7
    return pixels


def cell_of(item: Any) -> Cell:
    """The prompt and seed that a request or a query is about."""
    if isinstance(item, ImageRequest):
        return item.prompt.id, item.seed
    prompt, seed, _ = item.images[0].pixels[0, 0].tolist()
    return str(prompt), seed


def right(capability: str, item: Any) -> Any:
    """The answer of a part that behaves."""
    if capability == "generate":
        return Generated(painted(item))
    ((_, answer),) = TEST_JUDGE.create(None).observe(capability, [item])
    return replace(answer, margin=0.25) if capability == "prefer" else answer


def number(observation: Any) -> float:
    """A number that depends on all that an observation says."""
    found = 0.0
    for name in observation.__dataclass_fields__:
        value = getattr(observation, name)
        if name == "masks":
            found += sum(mask.area() for mask in value)
        elif name == "terms":
            found += sum(float(term.sum()) for term in value.values())
        elif isinstance(value, np.ndarray):
            found += float(value.astype(np.float64).sum())
        elif isinstance(value, str):
            found += len(value)
        elif isinstance(value, float | int):
            found += value
    return found


def brightness(pixels: Any, observation: Any) -> dict[str, np.ndarray]:
    """What a metric takes from the image that a judge has looked at."""
    return {"mean": np.array([pixels.mean()])}


def ask(capability: str, samples: Any) -> list[Query]:
    """One query about the sample's image, with the texts that the capability wants."""
    image = samples[0].image
    texts = {"likelihood": ("one", "two"), "reward": ("one",), "prefer": ("one",)}.get(capability, ())
    return [Query((image,) * (2 if capability == "prefer" else 1), texts)]


class Looks(Metric):
    """Two rows a sample: what the judge said, and how bright the image is."""

    def __init__(self, capability: str, wrong: Callable[[Any, list[Row]], Any], setup: Any) -> None:
        super().__init__(setup)
        derive = Derive("brightness", brightness)
        self.needs = (Need("said", capability, queries=partial(ask, capability), derive=derive),)
        self.wrong = wrong

    def measure(self, unit: Any) -> Any:
        observed = unit.one()
        found = [
            Row("said", number(observed.one("said"))),
            Row("bright", float(observed.derived("said")["mean"][0])),
        ]
        return self.wrong(unit, found)


# the deeds ------------------------------------------------------------------------------------------------------

Answer = Callable[[Any], Any]
Work = Callable[[Iterable[Any], Answer, "Bad"], Iterator[tuple[Any, Any]]]


@dataclass
class Bad:
    """Which cells are touched. last: how many items were taken, for plugins that tire."""

    cells: frozenset[Cell]
    taken: int = 0

    def __call__(self, item: Any) -> bool:
        return cell_of(item) in self.cells


@dataclass(frozen=True)
class Deed:
    """One way to misbehave.

    part:     generate, measure, or the capability in which a judge is asked
    work:     what the part does instead of answering each item in turn; for a metric, what it makes of its rows
    reason:   what failures.csv says of what it touched, or the line with which the run ends (broken)
    touches:  the cells that must fail, by what is bad; None: none, all is as it would have been
    broken:   the run must end with BrokenPlugin
    """

    name: str
    part: str
    work: Any
    reason: str = ""
    touches: Callable[[frozenset[Cell], Sequence[Cell]], set[Cell]] | None = lambda bad, cells: set(bad)
    broken: bool = False


def instead(change: Callable[[Any], Any]) -> Work:
    """Change the answers to what is bad."""

    def work(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
        for item in items:
            found = answer(item)
            yield item, change(found) if bad(item) else found

    return work


def raising(error: Callable[[], BaseException], batch: int = 1) -> Work:
    """Raise where an item of a batch is bad."""

    def work(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
        items = iter(items)
        while taken := list(islice(items, batch)):
            if any(map(bad, taken)):
                raise error()
            yield from ((item, answer(item)) for item in taken)

    return work


def left_out(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    return ((item, answer(item)) for item in list(items) if not bad(item))


def backwards(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    return ((item, answer(item)) for item in list(items)[::-1])


def twice(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    for item in items:
        yield item, answer(item)
        if bad(item):
            yield item, answer(item)


def not_asked(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    for item in items:
        yield (replace(item) if bad(item) else item), answer(item)


def without_items(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[Any]:
    return (answer(item) for item in items)


def nothing(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[Any]:
    return iter(())


def nothing_for_all(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[Any]:
    list(items)
    return iter(())


def tired(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    for item in items:
        bad.taken += 1
        if bad.taken > 100:
            raise RuntimeError("tired")
        yield item, answer(item)


class HangsUp:
    """An iterator that ends at the first bad item that it has taken."""

    def __init__(self, items: Iterable[Any], answer: Answer, bad: Bad) -> None:
        self.items, self.answer, self.bad = iter(items), answer, bad

    def __iter__(self) -> HangsUp:
        return self

    def __next__(self) -> tuple[Any, Any]:
        item = next(self.items)
        if self.bad(item):
            raise StopIteration
        return item, self.answer(item)


def paints_over(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    for item in items:
        if bad(item):
            item.images[0].pixels[...] = 0
        yield item, answer(item)


def paints_over_its_copy(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    for item in items:
        said = answer(item)
        item.images[0].pil().paste((0, 0, 0), (0, 0, SIDE, SIDE))
        yield item, said


def one_canvas(items: Iterable[Any], answer: Answer, bad: Bad) -> Iterator[tuple[Any, Any]]:
    canvas = np.empty((SIDE, SIDE, 3), np.uint8)
    for item in items:
        canvas[...] = painted(item)
        yield item, Generated(canvas)


def image(change: Callable[[np.ndarray], Any]) -> Work:
    return instead(lambda found: Generated(change(found.image)))


def some(name: str, value: Any, at: int = 0) -> Callable[[Any], Any]:
    """Put a value into one place of an observation's array."""

    def change(found: Any) -> Any:
        array = np.array(getattr(found, name))
        array.flat[at] = value
        return replace(found, **{name: array})

    return change


def other(**fields: Any) -> Callable[[Any], Any]:
    return lambda found: replace(found, **fields)


SMALL = PackedMask.pack(np.ones((3, 3), bool))
TORN = PackedMask((SIDE, SIDE), (0, 0, SIDE, SIDE), b"torn")

BENT: tuple[tuple[str, str, Callable[[Any], Any], str], ...] = (
    *((f"{name} {value} in {part}", part, some(name, value), "not numbers") for part, name in [
        ("segment", "boxes"), ("segment", "scores"), ("segment", "class_probs"), ("detect", "boxes"),
        ("detect", "scores"),
        ("classify", "logits"), ("embed", "values"), ("features", "values"),
    ] for value in (nan, inf)),
    *((f"a {part} of {value}", part, other(**{name: value}), "not numbers") for part, name in
        [("reward", "value"), ("prefer", "margin")] for value in (nan, -inf)),
    ("terms inf in likelihood", "likelihood", other(terms={"t": np.array([0, inf])}), "not numbers"),
    ("terms nan in likelihood", "likelihood", other(terms={"t": np.array([nan, nan])}), "not numbers"),
    ("terms for too few captions", "likelihood", other(terms={"t": np.zeros(1)}), r"shape \(1,\) for 2 captions"),
    ("no terms", "likelihood", other(terms={}), "no terms"),
    ("colours nan", "segment", other(colours=np.full((1, 2), nan), colour_names=("a", "b")), "not numbers"),
    ("a caption that is no text", "caption", other(text=None), "no text but NoneType"),
    ("a caption of half a surrogate pair", "caption", other(text="\ud83d"), "surrogates"),
    ("an unknown verdict", "prefer", other(verdict="maybe"), "the verdict 'maybe'"),
    ("two rewards in one", "reward", other(value=np.ones(2)), "no number but ndarray"),
    ("a reward that is no number", "reward", other(value=None), "no number but NoneType"),
    ("an embedding of two rows", "embed", other(values=np.ones((2, 3))), "want a vector"),
    ("features of no length", "features", other(values=np.ones(0)), "want a vector"),
    ("too many logits", "classify", other(logits=np.ones(3)), "3 logits for 2 labels"),
    ("other labels than declared", "classify", other(labels=()), "other labels"),
    ("a box outside the image", "detect", some("boxes", 20, 2), "a box"),
    ("a box turned inside out", "detect", some("boxes", 7, 0), "a box"),
    ("boxes turned on their side", "detect", other(boxes=np.zeros((4, 1))), r"boxes of shape \(4, 1\)"),
    ("a score above one", "detect", some("scores", 1.5), "want 0 to 1"),
    ("probabilities of two together", "segment", other(class_probs=np.ones((1, 2))), "whose sum is 2"),
    ("a class of none of the labels", "segment", some("classes", 2), "a class 2 of 2 labels"),
    ("a class that wraps around", "segment", other(classes=np.array([2**16])), "16 bits"),
    ("a mask of another size", "segment", other(masks=(SMALL,)), "a mask of 3 x 3 pixels"),
    ("a torn mask", "segment", other(masks=(TORN,)), "cannot be unpacked"),
    ("too few masks", "segment", other(masks=()), "0 masks for 1"),
    ("the size of another image", "segment", other(size=(3, 3), masks=(SMALL,)), "a size of 3 x 3"),
    *((f"another type for {part}", part, lambda found: Pixelless(), "gave Pixelless where") for part in (
        "detect", "segment", "classify", "embed", "features", "caption", "prefer", "reward", "likelihood")),
    ("nothing for an answer", "reward", lambda found: None, "gave NoneType where"),
)  # fmt: skip


class Pixelless:
    """No observation at all."""


HUGE = "x" * 10**7


def metric_deed(name: str, work: Any, reason: str) -> Deed:
    return Deed(name, "measure", work, reason, broken=True)


def at_bad(change: Callable[[list[Row]], Any]) -> Any:
    """Change the rows of the units that are bad."""
    return lambda unit, found, bad: change(found) if (unit.prompt.id, unit.seed) in bad.cells else found


def leave(code: int = 0) -> Any:
    sys.exit(code)


DEEDS: tuple[Deed, ...] = (
    *(Deed(name, part, instead(change), reason) for name, part, change, reason in BENT),
    Deed("a judge that raises", "segment", raising(lambda: RuntimeError("no")), "RuntimeError: no"),
    Deed("a judge that raises in batches", "reward", raising(lambda: RuntimeError("no"), 4), "RuntimeError: no"),
    Deed("a judge that wants to exit", "reward", raising(lambda: SystemExit(0)), "SystemExit: 0"),
    Deed("a judge that raises GeneratorExit", "reward", raising(GeneratorExit), "GeneratorExit"),
    Deed("a judge that raises StopIteration", "reward", raising(StopIteration), "RuntimeError: generator raised"),
    Deed("a judge that raises no Exception", "reward", raising(lambda: Stubborn("no")), "Stubborn: no"),
    Deed("a judge that hangs up", "reward", HangsUp, "0 answers where one"),
    Deed("a judge that leaves out", "detect", left_out, "0 answers where one"),
    Deed("a judge that answers backwards", "detect", backwards, touches=None),
    Deed("a judge that answers twice", "reward", twice, "answered it twice", broken=True),
    Deed("a judge that answers something else", "reward", not_asked, "what it was not asked", broken=True),
    Deed("a judge that answers without the query", "reward", without_items, "must give pairs", broken=True),
    Deed("a judge that never answers", "reward", nothing, "stopped before it was done", broken=True),
    Deed("a judge that paints over images", "segment", paints_over, "read-only"),
    Deed("a judge that paints over its copy", "segment", paints_over_its_copy, touches=None),
    Deed("a model that gives black images", "generate", image(np.zeros_like), "every pixel is black"),
    Deed("a model that gives NaN", "generate", image(lambda p: np.full(p.shape, nan)), "not numbers"),
    Deed("a model that gives floats", "generate", image(lambda p: p / 255), "float64 of shape"),
    Deed("a model that gives 16 bits", "generate", image(lambda p: p.astype(np.uint16)), "uint16 of shape"),
    Deed("a model that gives grey", "generate", image(lambda p: p[..., 0]), r"shape \(8, 8\)"),
    Deed("a model that gives four channels", "generate", image(lambda p: p[..., [0, 1, 2, 0]]), r"\(8, 8, 4\)"),
    Deed("a model that gives no pixels", "generate", image(lambda p: p[:0]), r"\(0, 8, 3\)"),
    Deed("a model that gives no image", "generate", instead(lambda found: None), "gave NoneType"),
    Deed("a model that gives a text", "generate", image(lambda p: "image"), "gave str"),
    Deed("a model that names no file", "generate", image(lambda p: Path("gone.png")), "cannot be read"),
    Deed("a model with another's truth", "generate", instead(other(truth=Truth((3, 3), ()))), "another size"),
    Deed("a model whose truth is none", "generate", instead(other(truth="all")), "cannot be kept"),
    Deed("a model whose record is no data", "generate", instead(other(record={"a": {1}})), "cannot be kept"),
    Deed("a model that gives fewer", "generate", left_out, "0 answers where one"),
    Deed("a model that gives more", "generate", twice, "answered it twice", broken=True),
    Deed("a model that gives others", "generate", not_asked, "what it was not asked", broken=True),
    Deed("a model that gives none", "generate", nothing, "stopped before it was done", broken=True),
    Deed("a model that takes all and gives none", "generate", nothing_for_all, "0 answers where one",
         touches=lambda bad, cells: set(cells)),
    Deed("a model that paints on one canvas", "generate", one_canvas, touches=None),
    Deed("a model that gives them backwards", "generate", backwards, touches=None),
    Deed("a model that wants to exit", "generate", raising(lambda: SystemExit("bye")), "SystemExit: bye"),
    Deed("an error of ten million characters", "generate", raising(lambda: RuntimeError(HUGE)), "^.*xxx[.]{3}$"),
    Deed("an error of many lines", "generate", raising(lambda: OSError("a\n\tb\r\nc")), "^OSError: a b c$"),
    Deed("an error of half a surrogate pair", "generate", raising(lambda: RuntimeError("\ud83d")), r"\\ud83d"),
    Deed("an error that steers terminals", "generate", raising(lambda: OSError("\x1b[2J\0")), r"\\x1b\[2J\\x00"),
    metric_deed("a metric that raises", at_bad(lambda found: 1 / 0), "ZeroDivisionError"),
    metric_deed("a metric that wants to exit", at_bad(lambda found: leave()), "SystemExit: 0"),
    metric_deed("a metric that gives NaN", at_bad(lambda found: [Row("said", nan)]), "gave nan for 'said'"),
    metric_deed("a metric that gives inf", at_bad(lambda found: [Row("said", inf)]), "gave inf for 'said'"),
    metric_deed("a metric that gives no row", at_bad(lambda found: []), "neither rows nor a reason"),
    metric_deed("a metric that gives a row twice", at_bad(lambda found: found * 2), "no facet tells apart"),
    metric_deed("a metric that gives unknown rows", at_bad(lambda found: [Row("odd", 1)]), "one of its measures"),
    metric_deed("a metric that gives no rows but numbers", at_bad(lambda found: [1.0]), "float instead of Row"),
)  # fmt: skip

TIRED = Deed("a judge that tires after 100 images", "reward", tired, "RuntimeError: tired")

DOUBTED: tuple[Deed, ...] = (
    Deed(
        "a model that gives another size",
        "generate",
        image(lambda p: p[:4, :6]),
        "2 sizes: 8 x 8 (20), 6 x 4 (10)",
    ),
    Deed(
        "a model that heeds no seeds",
        "generate",
        lambda items, answer, bad: ((item, Generated(painted(replace(item, seed=0)))) for item in items),
        "25 of its 30 images are the same as under another seed",
    ),
)
"""What may be as it should: it is no failure, but said."""


# trying them ----------------------------------------------------------------------------------------------------


@dataclass
class Parts:
    """A model, a judge and a metric of which one misbehaves, or none.

    calls: how many items each was asked for
    """

    deed: Deed | None
    bad: Bad
    calls: dict[str, int] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Return nothing of the deed, so that it does not count as a change of the code."""
        return {}

    def work(self, capability: str, items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Answer as the part does."""

        def answer(item: Any) -> Any:
            self.calls[capability] = self.calls.get(capability, 0) + 1
            return right(capability, item)

        if self.deed is not None and self.deed.part == capability:
            return iter(self.deed.work(items, answer, self.bad))
        return ((item, answer(item)) for item in items)

    def rows(self, unit: Any, found: list[Row]) -> Any:
        """A metric's rows, as it makes them."""
        return self.deed.work(unit, found, self.bad) if self.deed and self.deed.part == "measure" else found

    def generate(self, requests: Any) -> Any:
        return self.work("generate", requests)

    def observe(self, capability: str, queries: Any) -> Any:
        return self.work(capability, queries)


def evaluated(
    parts: Parts,
    folder: Path,
    capability: str,
    cells: tuple[int, int],
    progress: Progress | None = None,
    fresh: bool = False,
) -> Run:
    """Run the parts on so many prompts and seeds, with folder/cache, into folder/run."""
    prompts = [Prompt(str(n), f"prompt {n}") for n in range(cells[0])]
    measures = (Measure("said", "What the judge said."), Measure("bright", "How bright the image is."))
    metric = MetricInfo(
        name="looks", summary="Looks.", create=partial(Looks, capability, parts.rows), measures=measures, code=CODE
    )
    judge = replace(TEST_JUDGE, name="the-judge", create=lambda setup: parts, code=CODE)
    model = GeneratorInfo(name="the-model", summary="Noise.", create=lambda setup: parts, code=CODE)
    source = PromptSourceInfo(name="prompts", summary="Prompts.", prompts=lambda setup: prompts)
    request = Request(
        metrics=(metric,), models=(ModelRequest(model),), prompts=("prompts",), seeds=tuple(range(cells[1])),
        out=folder / "run", fresh=fresh,
    )  # fmt: skip
    with cache(folder / "cache"):
        return run_plan(make_plan(request, StaticResolver(judge, source)), progress)


@dataclass(frozen=True)
class Outcome:
    """What came of one try: rows compared and their difference, and what was made again without need."""

    compared: int
    difference: Difference
    made_again: int = 0


class Trial:
    """Tries deeds in a folder; the undisturbed runs are made once."""

    def __init__(self, folder: Path, cells: tuple[int, int] = (5, 6)) -> None:
        self.folder = folder
        self.cells = cells
        self.all = [(str(p), s) for p in range(cells[0]) for s in range(cells[1])]
        gc.freeze()  # each run lets go of its parts; what is imported need not be looked through every time
        self._undisturbed: dict[str, Path] = {}

    def undisturbed(self, capability: str) -> Path:
        """The run's folder where all parts behave."""
        if capability not in self._undisturbed:
            folder = self.folder / f"undisturbed-{capability}-{self.cells[1]}"
            self._undisturbed[capability] = evaluated(
                Parts(None, Bad(frozenset())), folder, capability, self.cells
            ).folder
        return self._undisturbed[capability]

    def of(self, deed: Deed, bad: frozenset[Cell], name: str) -> Outcome:
        """Misbehave, then mend."""
        capability = deed.part if deed.part not in ("generate", "measure") else "reward"
        undisturbed, folder = self.undisturbed(capability), self.folder / name
        parts = Parts(deed, Bad(bad))
        touched: set[Cell] = set() if deed.touches is None else deed.touches(bad, self.all)
        compared, found, remaining = 0, Difference(), len(touched)
        try:
            run = evaluated(parts, folder, capability, self.cells)
        except BrokenPlugin as error:
            line, who = str(error), {"generate": "the-model", "measure": "looks"}.get(deed.part, "the-judge")
            clear = "\n" not in line and who in line and re.search(deed.reason, line) is not None
            found += Difference(
                differing=not (deed.broken and clear), invented=(folder / "run/samples.csv").exists()
            )
            remaining = -1
        else:
            compared, held = self.held(run, undisturbed, touched, deed.reason)
            found += held + Difference(invented=deed.broken)
        mended = Parts(None, Bad(bad))
        healed = evaluated(mended, folder, capability, self.cells)
        found += difference(healed.folder, undisturbed)
        return Outcome(compared + len(rows(undisturbed)), found, self.made_again(deed, parts, mended, remaining))

    def made_again(self, deed: Deed, parts: Parts, mended: Parts, failed: int) -> int:
        """How many items the mended parts were asked for beyond those that had no result."""
        calls = {name: mended.calls.get(name, 0) for name in {*parts.calls, *mended.calls}}
        if failed < 0:  # it ended early: what it had not come to is no more than all
            return sum(max(0, n - len(self.all)) for n in calls.values()) + (
                sum(calls.values()) if deed.part == "measure" else 0
            )
        wanted = {name: failed if deed.part in (name, "generate") else 0 for name in calls}
        return sum(abs(n - wanted[name]) for name, n in calls.items())

    def held(self, run: Run, undisturbed: Path, touched: set[Cell], reason: str) -> tuple[int, Difference]:
        """Hold a run with failures to an undisturbed one: all else is the same, and what failed is said."""
        ours, theirs = values(run.folder), values(undisturbed)
        wanted = {key: value for key, value in theirs.items() if key[:2] not in touched}
        found = Difference(
            lost=len(wanted.keys() - ours.keys()),
            invented=len(ours.keys() - wanted.keys()),
            differing=sum(ours[key] != wanted[key] for key in ours.keys() & wanted.keys()),
        )
        (result,) = run.results
        means = {m: [float(v) for key, v in wanted.items() if key[2] == m] for m in ("said", "bright")}
        for measure, numbers in means.items():
            score = result.scores[measure].value if measure in result.scores else None
            same = score is None if not numbers else isclose(score, sum(numbers) / len(numbers), rel_tol=1e-9)
            found += Difference(differing=not same)
        counted = (result.n_ok, result.n_failed) == (len(self.all) - len(touched), len(touched))
        found += Difference(differing=not counted)
        too_many = len(touched) > 0.01 * len(self.all)
        found += Difference(differing=(run.failed is not None) != too_many)
        listed = list(table(run.folder / "failures.csv"))
        cells = {(row["prompt"], int(row["seed"])) for row in listed}
        good = [
            row["kind"] == "failed" and re.search(reason, row["reason"]) and len(row["reason"]) < 600
            for row in listed
        ]
        found += Difference(len(touched - cells), len(cells - touched), sum(not each for each in good))
        return len(ours) + len(listed), found


def values(run: Path) -> dict[tuple[str, int, str], str]:
    """Measured values by prompt, seed and measure."""
    path = run / "measurements.csv"
    return {(row["prompt"], int(row["seed"]), row["measure"]): row["value"] for row in table(path)}


def cases(folder: Path, tries: int, seed: int) -> Iterator[Case]:
    """All deeds, each on other images in every round."""
    rng = np.random.default_rng(seed)
    trial, rounds = Trial(folder), max(1, tries // 25)
    for number, deed in enumerate(DEEDS):
        yield tried(trial, deed, f"{number:03d}", rounds, rng)
    yield tried(Trial(folder, (5, 24)), TIRED, "tired", 1, rng)
    for deed in DOUBTED:
        yield doubted(trial, deed)
    prompts = folder / "prompts"
    prompts.mkdir()
    yield from odd_prompts.cases(prompts, tries, seed)


def tried(trial: Trial, deed: Deed, name: str, rounds: int, rng: np.random.Generator) -> Case:
    """Try one deed, on every third image but for where they begin, in several rounds."""
    found, raised = [], ""
    for n in range(rounds):
        if deed is TIRED:
            bad = frozenset(trial.all[100:])
        else:
            bad = frozenset(islice(trial.all, int(rng.integers(1, 3)), None, 3))
        try:
            found.append(trial.of(deed, bad, f"{name}-{n}"))
        except Exception as error:
            found.append(Outcome(0, Difference(differing=1)))
            raised = describe_error(error)
    again = sum(each.made_again for each in found)
    told = "ends the run, exit code 4" if deed.broken else "failed with its reason" if deed.touches else "as ever"
    return Case(
        GROUP,
        deed.name,
        rounds,
        sum(each.compared for each in found),
        sum((each.difference for each in found), Difference()),
        raised or f"{told}; mended" + (f", but {again} made again" if again else ""),
    )


def doubted(trial: Trial, deed: Deed) -> Case:
    """Try what is no failure: all is counted, the user is told, and --fresh with a mended plugin puts it right."""
    bad, notes, folder = Bad(frozenset(trial.all[::3])), Notes(), trial.folder / deed.name.replace(" ", "-")
    undisturbed = trial.undisturbed("reward")
    run = evaluated(Parts(deed, bad), folder, "reward", trial.cells, notes)
    (result,) = run.results
    said = [note for note in notes.said if deed.reason in note]
    found = Difference(differing=(result.n_ok, len(said)) != (len(trial.all), 1))
    untouched = {key: value for key, value in values(undisturbed).items() if not deed_touches(deed, bad, key[:2])}
    ours = values(run.folder)
    found += Difference(differing=sum(ours.get(key) != value for key, value in untouched.items()))
    healed = evaluated(Parts(None, bad), folder, "reward", trial.cells, fresh=True)
    found += difference(healed.folder, undisturbed)
    compared = len(untouched) + len(rows(undisturbed))
    return Case(GROUP, deed.name, 1, compared, found, f'no failure, but said: "... {deed.reason} ..."')


def deed_touches(deed: Deed, bad: Bad, cell: Cell) -> bool:
    """Whether a cell's image is another than it should be."""
    return cell in bad.cells if "size" in deed.name else cell[1] != 0
