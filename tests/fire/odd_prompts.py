"""Prompts that no file or table likes, from a prompt file to all that a run writes; repeated ones, and many.

python odd_prompts.py FOLDER      evaluates FOLDER/prompts.jsonl and prints as JSON how long that took
"""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from fire.tally import Case, Difference, difference, rows  # noqa: I001 - found by the line above
from t2i_core.api import Generated, GeneratorInfo, JudgeInfo, Measure, Metric, MetricInfo, Need, Reward, Row
from t2i_core.api import SetMetric
from t2i_core import Run, load_run
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.plan import make_plan
from t2i_core.engine.run import run_plan
from t2i_core.api.progress import Progress, Silent
from t2i_core.io.prompt_file import read_prompts
from t2i_core.files.spreadsheet import unescape
from t2i_core.testing import StaticResolver

TEXTS = (
    *("x" * 10_000, "wörter " * 1500, "two\nlines", "carriage\rreturn", "both\r\nends", "a\ttab", "form\x0cfeed"),
    *("line\u2028and\u2029paragraph\x85next", "שלום עולם", "مرحبا, world", "\u202eoverridden\u202c"),
    *("e\u0301 and é", "o\u0308" * 200, "👩‍👩‍👧‍👦 and 🏳️‍🌈", "🇩🇪", "half \ud83d a pair", "\udc8d"),
    *("\x1b[2J\x1b]0;title\x07", "\x9b31m", "\x08\x08", "\ufeffmark", "\u200b", "a\u00a0b"),
    *("../../etc/passwd", "..", ".", "/", "\\", "C:\\con", "a/b\\c", "~", "-rf", "--out", "-"),
    *("=1+1", "+1", "@SUM(A1)", "a,b;c", 'say "cheese"', "'", '"', '""', ",", ";"),
    *("NULL", "nan", "NaN", "None", "true", "1e5", "007", "0x1F", "<b>&amp;</b>", "\\x1b", "\\n"),
    *("[red]bold[/red]", "[/]", "[link=https://a.b]c[/link]", ":car: :warning:", "%s %d {0} {name}", "$HOME `id`"),
    *("STRASSE", "straße", "Strasse", "a", "A", "ﬁ", "fi", "I", "ı", "i"),
)
"""As texts; but for those with halves of surrogate pairs, as ids, as clusters and as levels of a facet too."""


def fits(text: str, *barred: str) -> bool:
    """Whether a format that strips blanks, and bars some characters, can hold a text."""
    return whole(text) and text == text.strip() and not any(each in text for each in barred)


GROUP = "misbehaviour"
CODE = (f"**/{Path(__file__).name}",)


class Parts:
    """A model and a judge of which each remembers the texts that it was given."""

    def __init__(self) -> None:
        self.drawn: list[str] = []
        self.read: list[str] = []

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            self.drawn.append(request.prompt.text)
            shade = np.frombuffer(np.uint32(len(self.drawn)).tobytes(), np.uint8)[:3]
            yield request, Generated(np.full((2, 2, 3), 1 + shade, np.uint8))

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            self.read += query.texts
            yield query, Reward(len(query.texts[0]))


class Length(Metric):
    """How long the judge finds the text."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("length", unit.one().one("reward").value)


class Set(SetMetric):
    """The mean length of a whole set's texts."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("mean", float(np.mean([observed.one("reward").value for observed in unit.observed])))


def asked(
    parts: Parts, prompts: Path, out: Path, *metrics: MetricInfo, seeds: tuple[int, ...] = (0,)
) -> tuple[Request, StaticResolver]:
    """What to plan: the parts on a prompt file."""
    model = GeneratorInfo(name="model", summary="m", create=lambda setup: parts, code=CODE)
    judge = JudgeInfo(
        name="judge", summary="j", capabilities={"reward": frozenset()}, create=lambda setup: parts, code=CODE
    )
    request = Request(
        metrics=metrics, models=(ModelRequest(model),), prompts=(str(prompts),), seeds=seeds, out=out
    )
    return request, StaticResolver(judge)


def ran(
    parts: Parts,
    prompts: Path,
    out: Path,
    *metrics: MetricInfo,
    seeds: tuple[int, ...] = (0,),
    progress: Progress | None = None,
) -> Run:
    """Run the parts on a prompt file; what the plan says is noted too, as `t2i` prints it."""
    plan = make_plan(*asked(parts, prompts, out, *metrics, seeds=seeds))
    for note in plan.notes if progress else ():
        progress.note(note)
    return run_plan(plan, progress)


LENGTH = MetricInfo(
    name="length", summary="l", create=Length, measures=(Measure("length", "l", facets=("level",)),)
)
SET = MetricInfo(name="set", summary="s", create=Set, measures=(Measure("mean", "m"),))


def written(path: Path, texts: tuple[str, ...]) -> None:
    """Write a prompt file in which each text is a prompt, and where the format allows an id and a level too."""
    if path.suffix == ".txt":
        path.write_text("\n".join(texts), encoding="utf-8", newline="")
    elif path.suffix == ".csv":
        file = io.StringIO(newline="")
        csv.writer(file).writerows([("prompt", "id", "level", "cluster"), *((t, t, t, t) for t in texts)])
        path.write_text(file.getvalue(), encoding="utf-8", newline="")
    else:
        lines = [
            {"prompt": t, **(dict.fromkeys(("id", "level", "cluster"), t) if whole(t) else {})} for t in texts
        ]
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def whole(text: str) -> bool:
    """Whether it is free of halves of surrogate pairs."""
    return escaped(text) == text


def escaped(text: str) -> str:
    """A text as files have it: halves of surrogate pairs are written out, for UTF-8 has none."""
    return text.encode("utf-8", "backslashreplace").decode()


def cases(folder: Path, tries: int, seed: int) -> Iterator[Case]:
    """All odd prompts through each kind of file."""
    in_lines = tuple(t for t in TEXTS if fits(t, "\n", "\r", "\ufeff"))
    in_csv = tuple(t for t in TEXTS if fits(t))
    for suffix, texts in ((".txt", in_lines), (".csv", in_csv), (".jsonl", TEXTS)):
        place = folder / suffix[1:]
        place.mkdir(parents=True)
        path = place / f"prompts{suffix}"
        written(path, texts)
        with cache(folder / f"cache-{suffix[1:]}"):
            compared, found = measured(path, place, texts)
            more, other = drawn(path, place, texts)
        note = "exact in tables and data set, for model and judge"
        yield Case(GROUP, f"odd prompts in {suffix}", len(texts), compared + more, found + other, note)
    yield repeated(folder / "repeated")
    yield many(folder / "many", 500 * tries)


def compare(ours: list[Any], theirs: list[Any]) -> Difference:
    """Hold two lists to each other, place by place."""
    differing = sum(a != b for a, b in zip(ours, theirs, strict=False))
    return Difference(max(0, len(theirs) - len(ours)), max(0, len(ours) - len(theirs)), differing)


def measured(path: Path, place: Path, texts: tuple[str, ...]) -> tuple[int, Difference]:
    """An evaluation: what is read, drawn and judged, and its tables as csv and pandas read them."""
    prompts = read_prompts(path)
    ids = [escaped(p.id) for p in prompts]
    said = list(map(escaped, texts))
    parts = Parts()
    run = ran(parts, path, place / "measured", LENGTH, SET)
    samples, rows = list(table(run.folder / "samples.csv")), list(table(run.folder / "measurements.csv"))
    per_prompt = [row for row in rows if row["metric"] == "length"]
    frame = run.measurements()
    frame = frame[frame["metric"] == "length"]
    held = [
        ([p.text for p in prompts], list(texts)),
        (parts.drawn, list(texts)),
        (parts.read, list(texts)),
        ([row["text"] for row in samples], said),
        ([row["prompt"] for row in samples], ids),
        (run.samples()["text"].tolist(), said),
        ([row["prompt"] for row in per_prompt], ids),
        (frame["prompt"].tolist(), ids),
        ([float(row["value"]) for row in per_prompt], [float(len(t)) for t in texts]),
        (frame["value"].tolist(), [float(len(t)) for t in texts]),
    ]
    if path.suffix != ".txt":
        named = [t for t in texts if whole(t)]
        held += [
            ([p.id for p in prompts if whole(p.text)], named),
            ([row["level"] for row in per_prompt if row["level"]], named),
            ([row["cluster"] for row in per_prompt if row["level"]], named),
            (frame["level"].dropna().tolist(), named),
            (list(run.results[0].facets["length"]["level"]), named),
            (list(load_run(run.folder).results[0].facets["length"]["level"]), named),
        ]
    return sum(len(b) for _, b in held), sum((compare(a, b) for a, b in held), Difference())


def drawn(path: Path, place: Path, texts: tuple[str, ...]) -> tuple[int, Difference]:
    """A data set: its lines, and that nothing was written anywhere else."""
    run = ran(Parts(), path, place / "drawn")
    folder = run.folder / "images/model"
    lines = [json.loads(line) for line in (folder / "metadata.jsonl").read_bytes().splitlines()]
    found = compare([line["text"] for line in lines], list(map(escaped, texts)))
    files = {file.name for file in folder.iterdir()} - {"metadata.jsonl"}
    found += compare(sorted(files), sorted(line["file_name"] for line in lines))
    strange = {p.name for p in place.iterdir()} - {path.name, "measured", "drawn"}
    return 2 * len(lines), found + Difference(invented=len(strange))


def repeated(folder: Path) -> Case:
    """A file with repetitions is the file without them, and nothing is drawn twice."""
    folder.mkdir()
    same = {"prompt": "a car"}
    lines = [
        *(
            same,
            {"prompt": "a dog"},
            same,
            {"prompt": "a dog", "level": "x"},
            same,
            {"prompt": "a dog", "level": "y"},
        ),
        *({"prompt": "a cat", "id": "one"}, {"prompt": "a cat", "id": "two"}, {"prompt": "a cat", "id": "one"}),
    ]
    once = [
        *({"prompt": "a car", "id": "a-car"}, {"prompt": "a dog", "id": "a-dog"}),
        *({"prompt": "a dog", "id": "a-dog-2", "level": "x"}, {"prompt": "a dog", "id": "a-dog-3", "level": "y"}),
        *({"prompt": "a cat", "id": "one"}, {"prompt": "a cat", "id": "two"}),
    ]
    parts = {"lines": Parts(), "once": Parts()}
    runs, notes = {}, Notes()
    path = folder / "prompts.jsonl"
    for name, said in (("lines", lines), ("once", once)):
        path.write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
        with cache(folder / f"cache-{name}"):
            runs[name] = ran(parts[name], path, folder / name, LENGTH, seeds=(0, 1, 2), progress=notes)
    found = difference(runs["lines"].folder, runs["once"].folder)
    for each in parts.values():
        found += compare(sorted(each.drawn), sorted(["a car", "a dog", "a cat"] * 3))
    shared = "3 share their text with another but differ"
    said = f"3 of 9 entries repeat another in all, and are counted once; {shared}"
    told = [said in notes.said[0], f"{path}: {shared}" in notes.said[1], len(notes.said) == 2]
    found += Difference(differing=told.count(False))
    return Case(
        GROUP, "a prompt file with repetitions", 1, len(rows(runs["once"].folder)), found, f'"...: {said} ..."'
    )


class Notes(Silent):
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


def many(folder: Path, count: int) -> Case:
    """So many prompts, planned and evaluated in a process of its own, whose time and memory are taken."""
    folder.mkdir()
    path = folder / "prompts.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            file.write(json.dumps({"prompt": f"prompt number {n}", "level": n % 7}) + "\n")
    command = [sys.executable, __file__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    took = json.loads(done.stdout)
    ours = [(row["prompt"], row["value"]) for row in table(folder / "run/measurements.csv")]
    wanted = [(f"prompt-number-{n}", str(float(len(f"prompt number {n}")))) for n in range(count)]
    listed = [row["status"] for row in table(folder / "run/samples.csv")]
    found = compare(ours, wanted) + compare(listed, ["ok"] * count)
    note = (
        f"plan {took['plan']:.1f} s, run {took['run']:.0f} s of one core, the same again {took['again']:.0f} s; "
        f"{took['peak'] - took['before']:.0f} MB more than the {took['before']:.0f} MB of its libraries"
    )
    return Case(GROUP, f"{count:,} prompts", 1, 2 * count, found, note)


def take_time(folder: Path) -> dict[str, float]:
    """Seconds of the processor for plan and runs of a folder's prompts, and MB of memory before and at most."""

    def memory() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

    parts = Parts()
    took = {"before": memory()}
    with cache(folder / "cache"):
        request = asked(parts, folder / "prompts.jsonl", folder / "run", LENGTH)
        begin = time.process_time()
        plan = make_plan(*request)
        took["plan"] = time.process_time() - begin
        for name in ("run", "again"):
            begin = time.process_time()
            run_plan(plan)
            took[name] = time.process_time() - begin
    return took | {"peak": memory()}


@contextmanager
def cache(folder: Path) -> Iterator[None]:
    """Keep things in this folder."""
    before = os.environ.get("T2I_CACHE_DIR")
    os.environ["T2I_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["T2I_CACHE_DIR"]
        else:
            os.environ["T2I_CACHE_DIR"] = before


def table(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a table, as they were before texts that a spreadsheet would run were escaped."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield {unescape(name): unescape(cell) for name, cell in row.items()}


if __name__ == "__main__":
    print(json.dumps(take_time(Path(sys.argv[1]))))
