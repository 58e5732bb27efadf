"""Speed, memory and precision of models on a GPU, through t2i and without it. The weights are random.

python tests/benchmarks/gpu.py [--small] [--only TEXT] [--one-process] [--page FILE]

Measures each model of `gpu_subjects.py` at its real size, prints a table and writes it into the page. Without a
GPU every cell says "not measured". `--small` runs the same code on tiny models, on any machine, and writes to no
page but a given one. The columns:

- bare: images (or pairs) a second of the library's own call, batch after batch, without t2i;
- t2i: the same through t2i's component and the executor `local`, answers encoded as they are stored;
- memory: peak GPU memory of t2i's component, in GB;
- precision: agreement of answers in half precision with those in float32: Pearson's r of pixels, logits or
  embeddings; the share of images with as many detections; the share of equal answers in words;
- halving: the batch size that fits after one eight times as large ran out of memory; the process may have the
  memory of twice the usual batch;
- two workers: images a second of two workers that share the GPU, by the executor `ray`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpu_subjects import Subject, find_options, list_subjects, make_queries
from PIL import Image
from t2i_core.api import Failure, ImageRequest, Prompt, Query
from t2i_core.api.executor import ComponentSettings, ComponentTask, Executor
from t2i_core.api.image import load_image
from t2i_core.api.progress_display import choose_progress
from t2i_core.api.resolver import installed_resolver
from t2i_core.engine.background import Background
from t2i_core.engine.executors import find_executor, open_executor
from t2i_core.engine.generation import GenerationTask
from t2i_core.engine.job import declared_labels
from t2i_core.engine.judge_answers import JudgingTask
from t2i_core.engine.lifecycle import settle_on_machine
from t2i_core.engine.local_executor import LocalExecutor
from t2i_core.engine.request import Request
from t2i_core.storage.store import Store

PAGE = Path("docs/cluster.md")
BEGIN, END = "<!-- gpu.py writes from here -->", "<!-- to here -->"
NOT_MEASURED = "not measured"
COLUMNS = ("bare, 1/s", "t2i, 1/s", "ratio", "memory, GB", "precision", "halving", "two workers, 1/s")


@dataclass(frozen=True)
class Bench:
    """One model on this machine.

    Attributes:
        subject: The model.
        path: Its file or folder.
        device: `cuda` or `cpu`.
        items: What a generator draws, or a judge is asked.
    """

    subject: Subject
    path: Path
    device: str
    items: Sequence[Any]

    def make_task(self, precision: str, batch: int) -> ComponentTask:
        """Return what t2i's component is asked."""
        subject, settings = self.subject, ComponentSettings(self.device, batch, offline=True)
        spec = subject.argument(self.path)
        options = {spec.partition(":")[0]: find_options(subject, self.path, precision)}
        found = installed_resolver().component(subject.kind, spec, options)
        component = settle_on_machine(found, self.device, offline=True)
        if subject.capability is None:
            return GenerationTask(component, settings)
        return JudgingTask(component, settings, subject.capability, declared_labels(component))

    def renew_items(self) -> list[Any]:
        """Return the items with images that nobody has decoded yet, because an image keeps its pixels."""
        return [
            replace(each, images=tuple(map(replace, each.images))) if isinstance(each, Query) else each
            for each in self.items
        ]

    def run(self, executor: Executor, task: ComponentTask, count: int | None = None) -> Answers:
        """Ask for all items, after a batch that warms up, and encode the answers beside the model."""
        with executor.open(task) as workers, Background[Any]() as background:
            for answer in workers.answer(self.renew_items()[: self.subject.batch]):
                answer.encode()
            self._synchronise()
            given: dict[int, Any] = {}
            items = self.renew_items()[:count]
            started = time.perf_counter()
            for answer in workers.answer(items):
                background.submit(partial(_keep, given, answer))
            for _ in background.finish():
                pass
            seconds = time.perf_counter() - started
            answers = [given[id(item)] for item in items]
            failed = [each.reason for each in answers if isinstance(each, Failure)]
            if failed:
                raise RuntimeError(f"{len(failed)} of {len(answers)} failed: {failed[0]}")
            at_rest = torch.cuda.memory_allocated() if self.device == "cuda" else 0
            labels = getattr(task, "labels", None)
            return Answers(len(answers) / seconds, answers, labels, workers.settings, at_rest)

    def run_bare(self, precision: str) -> float:
        """Return the rate of the library's own call."""
        subject = self.subject
        call = subject.load_bare(self.path, precision, self.device, subject)
        inputs = [item.prompt.text if isinstance(item, ImageRequest) else item for item in self.renew_items()]
        call(inputs[: subject.batch])
        self._synchronise()
        started = time.perf_counter()
        for batch in _split(inputs, subject.batch):
            call(batch)
        self._synchronise()
        return len(inputs) / (time.perf_counter() - started)

    def _synchronise(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()


@dataclass(frozen=True)
class Answers:
    """What a component gave.

    Attributes:
        rate: Answers a second.
        stored: The answers as they are stored, in the order of the items.
        labels: The classes that the judge declares.
        settings: Settings that the component reports.
        at_rest: GPU memory in bytes that the component had when it did nothing.
    """

    rate: float
    stored: Sequence[Any]
    labels: Any
    settings: Mapping[str, Any]
    at_rest: int


def measure(bench: Bench, with_workers: bool) -> dict[str, str]:
    """Return the cells of a model's row that can be measured on this machine; `with_workers`: two workers, too."""
    subject, fast = bench.subject, bench.subject.precisions[0]
    cells: dict[str, str] = {}
    _release()
    bare = bench.run_bare(fast)
    _release()
    through = bench.run(LocalExecutor(), bench.make_task(fast, subject.batch))
    cells |= {"bare, 1/s": f"{bare:.2f}", "t2i, 1/s": f"{through.rate:.2f}", "ratio": f"{through.rate / bare:.2f}"}
    peak = 0
    if bench.device == "cuda":
        peak = torch.cuda.max_memory_allocated()
        cells["memory, GB"] = f"{peak / 1e9:.1f}"
    slow = subject.precisions[1]
    _release()
    if slow is None:
        cells["precision"] = "float32 does not fit"
    else:
        few = min(len(bench.items), 16)
        exact = bench.run(LocalExecutor(), bench.make_task(slow, subject.batch), few)
        agreement = compare(subject.capability, through, exact)
        cells["precision"] = f"{fast}: {agreement}"
    if peak:
        cells["halving"] = try_large_batch(bench, 2 * peak - through.at_rest)
    _release()
    if with_workers:
        cells |= run_two_workers(bench, fast, peak)
    return cells


def try_large_batch(bench: Bench, limit: int) -> str:
    """Return the batch sizes before and after memory ran out at this limit in bytes."""
    large = 8 * bench.subject.batch
    items = [*bench.items] * -(-large // len(bench.items))
    if isinstance(items[0], ImageRequest):
        items = [replace(item, seed=n, noise_seed=n) for n, item in enumerate(items)]
    else:
        items = [replace(item) for item in items]
    few = replace(bench, items=items[:large], subject=replace(bench.subject, batch=large))
    _release()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total))
    try:
        found = few.run(LocalExecutor(), few.make_task(bench.subject.precisions[0], large))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    used = found.settings["batch_size"]
    used = used["used"] if isinstance(used, Mapping) else used
    return f"{large} fits" if used == large else f"{large} to {used}"


def run_two_workers(bench: Bench, precision: str, peak: int) -> dict[str, str]:
    """Return the rate of two workers that share the GPU, by Ray if it is installed and the models fit."""
    gpu = bench.device == "cuda"
    request = Request(executor="ray", workers=2, gpus_per_worker=0.5 if gpu else None)
    info = _find_ray(request)
    if info is None or (gpu and 2 * peak > 0.9 * torch.cuda.mem_get_info()[1]):
        return {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder)) as store,
        choose_progress(False) as progress,
        open_executor(info, request, store, progress) as executor,
    ):
        task = bench.make_task(precision, bench.subject.batch)
        return {"two workers, 1/s": f"{bench.run(executor, task).rate:.2f}"}


def _find_ray(request: Request) -> Any:
    from t2i_core.api.errors import MissingDependency

    try:
        return find_executor(request, installed_resolver())
    except MissingDependency:
        return None


def compare(capability: str | None, some: Answers, others: Answers) -> str:
    """Return how far the answers agree that both gave; the others may be fewer."""
    from t2i_core.api.observation_codec import decode

    both = [answers.stored[: len(others.stored)] for answers in (some, others)]
    if capability is None:
        pixels = [[_decode_picture(each.data) for each in answers] for answers in both]
        return f"r = {_correlate(*pixels):.4f} of pixels"
    pairs = [[decode(each, capability, some.labels) for each in answers] for answers in both]
    if capability == "prefer":
        equal = [a.reasoning == b.reasoning for a, b in zip(*pairs, strict=True)]
        return f"{np.mean(equal):.0%} of answers are equal"
    if capability == "segment":
        equal = [len(a.scores) == len(b.scores) for a, b in zip(*pairs, strict=True)]
        return f"{np.mean(equal):.0%} of images with as many detections"
    name = {"classify": "logits", "embed": "values"}[capability]
    return f"r = {_correlate(*[[getattr(each, name) for each in answers] for answers in pairs]):.4f} of {name}"


def _decode_picture(data: bytes) -> np.ndarray:
    import io

    return np.asarray(Image.open(io.BytesIO(data)), dtype=np.float32)


def _correlate(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> float:
    return float(np.corrcoef(np.concatenate(some, axis=None), np.concatenate(others, axis=None))[0, 1])


def _keep(given: dict[int, Any], answer: Any) -> None:
    given[id(answer.item)] = answer.encode()


def _split(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch


def _release() -> None:
    import gc

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


@contextmanager
def prepare(subject: Subject, small: bool, device: str) -> Iterator[Bench]:
    """Save a model and the images that a judge sees; remove them afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / subject.file
        subject.save(path, small)
        _release()
        if subject.capability is None:
            texts = [f"a painting of a bowl of fruit, number {n}" for n in range(subject.count)]
            items: list[Any] = [ImageRequest(Prompt(str(n), text), n, n) for n, text in enumerate(texts)]
        else:
            items = make_queries(subject, map(load_image, _paint(Path(folder), subject.count, subject.size)))
        yield Bench(subject, path, device, items)


def _paint(folder: Path, count: int, size: int) -> Iterator[Path]:
    """Write smooth pictures of random colours."""
    rng = np.random.default_rng(0)
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        file = folder / f"{number}.png"
        coarse.resize((size, size), Image.Resampling.BICUBIC).save(file, compress_level=1)
        yield file


def render_table(device: str | None, rows: Mapping[str, Mapping[str, str]], before: str = "") -> str:
    """Return the table; a cell that is not in its row is not measured.

    Args:
        device: Name of the GPU; None without one.
        rows: Cells by model and column.
        before: A table of which the rows stay that are not measured now, if it is of the same GPU and torch.
    """
    named = f"On one {device}" if device else "No GPU was at hand yet"
    lines = [
        f"{named}, torch {torch.__version__.partition('+')[0]}:" if device else f"{named}:",
        "",
        f"| model | batch | {' | '.join(COLUMNS)} |",
        f"| --- | --- | {' | '.join('---' for _ in COLUMNS)} |",
    ]
    kept = {line.split("|")[1].strip(): line for line in before.splitlines() if line.startswith("|")}
    for subject in list_subjects(small=False):
        if subject.name not in rows and subject.name in kept and lines[0] in before:
            lines.append(kept[subject.name])
            continue
        cells = [rows.get(subject.name, {}).get(column, NOT_MEASURED) for column in COLUMNS]
        lines.append(f"| {subject.name} | {subject.batch} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_table(page: Path, table: str) -> None:
    """Replace the table of a page, between the two marks."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the marks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


def measure_all(
    small: bool, only: str, with_workers: bool, report: Callable[[str], None]
) -> dict[str, dict[str, str]]:
    """Return the rows by model. A model that fails is reported and has no row."""
    device = "cpu" if small or not torch.cuda.is_available() else "cuda"
    rows: dict[str, dict[str, str]] = {}
    for subject in list_subjects(small):
        if only not in subject.name:
            continue
        started = time.perf_counter()
        try:
            with prepare(subject, small, device) as bench:
                rows[subject.name] = measure(bench, with_workers)
        except Exception:
            report(f"{subject.name} failed:\n{traceback.format_exc()}")
        report(f"{subject.name}: {rows.get(subject.name)} in {time.perf_counter() - started:.0f} s")
    return rows


def main(arguments: Sequence[str]) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="Speed, memory and precision of models on a GPU.")
    parser.add_argument("--small", action="store_true", help="tiny models, on the CPU")
    parser.add_argument("--one-process", action="store_true", help="leave out what takes two workers of Ray")
    parser.add_argument("--only", default="", help="only the models whose name contains this text")
    parser.add_argument("--page", type=Path, help=f"page whose table is replaced; without --small: {PAGE}")
    asked = parser.parse_args(arguments)
    rows: dict[str, dict[str, str]] = {}
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    if asked.small or device:
        rows = measure_all(
            asked.small, asked.only, not asked.one_process, lambda line: print(line, file=sys.stderr, flush=True)
        )
    page = asked.page or (None if asked.small else PAGE)
    before = page.read_text(encoding="utf-8") if page is not None else ""
    table = render_table("CPU, tiny models" if asked.small else device, rows, before)
    print(table)
    if page is not None:
        write_table(page, table)
    wanted = {each.name for each in list_subjects(asked.small) if asked.only in each.name}
    return 1 if (asked.small or device) and rows.keys() != wanted else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
