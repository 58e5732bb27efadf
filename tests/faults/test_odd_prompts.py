"""Prompts that files, tables and terminals find hard reach model, judge, tables and data set exactly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core import Run, load_run
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Reward,
    Row,
    SetMetric,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.files.spreadsheet import unescape
from t2i_core.io.prompt_file import read_prompts
from t2i_core.testing import StaticResolver

from faults.run_rows import read_rows

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
"""As texts, and, except those with half a surrogate pair, as ids, clusters and facet levels too."""

CODE = (f"**/{Path(__file__).name}",)


class Listener:
    """A model and a judge that remember the texts they were given."""

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
    """Measure the length of each text."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("length", unit.one().one("reward").value)


class MeanLength(SetMetric):
    """Measure the mean length of all texts."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("mean", float(np.mean([observed.one("reward").value for observed in unit.observed])))


LENGTH = MetricInfo(
    name="length", summary="l", create=Length, measures=(Measure("length", "l", facets=("level",)),)
)
MEAN = MetricInfo(name="mean", summary="m", create=MeanLength, measures=(Measure("mean", "m"),))


def make_request(
    listener: Listener, prompts: Path, out: Path, *metrics: MetricInfo
) -> tuple[Request, StaticResolver]:
    model = GeneratorInfo(name="model", summary="m", create=lambda setup: listener, code=CODE)
    offers = {"reward": frozenset[str]()}
    judge = JudgeInfo(name="judge", summary="j", capabilities=offers, create=lambda setup: listener, code=CODE)
    request = Request(metrics=metrics, models=(ModelRequest(model),), prompts=(str(prompts),), seeds=(0,), out=out)
    return request, StaticResolver(judge)


def run(listener: Listener, prompts: Path, out: Path, *metrics: MetricInfo) -> Run:
    return run_plan(make_plan(*make_request(listener, prompts, out, *metrics)))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def escape(text: str) -> str:
    """Return a text as files hold it: UTF-8 has no halves of surrogate pairs."""
    return text.encode("utf-8", "backslashreplace").decode()


def can_be_id(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair."""
    return escape(text) == text


def select_texts(suffix: str) -> tuple[str, ...]:
    """Return the texts that a format can hold: some strip blanks, one text a line has no line ends."""
    if suffix == ".jsonl":
        return TEXTS
    barred = ("\n", "\r", "\ufeff") if suffix == ".txt" else ()
    return tuple(t for t in TEXTS if can_be_id(t) and t == t.strip() and not any(each in t for each in barred))


def write_prompts(path: Path, texts: tuple[str, ...]) -> None:
    """Write a prompt file; each text is also an id, a cluster and a level where the format has them."""
    if path.suffix == ".txt":
        path.write_text("\n".join(texts), encoding="utf-8", newline="")
    elif path.suffix == ".csv":
        file = io.StringIO(newline="")
        csv.writer(file).writerows([("prompt", "id", "level", "cluster"), *((t, t, t, t) for t in texts)])
        path.write_text(file.getvalue(), encoding="utf-8", newline="")
    else:
        names = {t: dict.fromkeys(("id", "level", "cluster"), t) if can_be_id(t) else {} for t in texts}
        path.write_text("\n".join(json.dumps({"prompt": t, **names[t]}) for t in texts), encoding="utf-8")


def read_table(path: Path) -> list[dict[str, str]]:
    """Return a table's rows, without the escapes that protect spreadsheets."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{unescape(k): unescape(v) for k, v in row.items()} for row in csv.DictReader(file)]


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
def test_texts_are_exact_everywhere(suffix: str, tmp_path: Path) -> None:
    path, texts = tmp_path / f"prompts{suffix}", select_texts(suffix)
    write_prompts(path, texts)
    prompts, escaped = read_prompts(path), [escape(text) for text in texts]
    ids = [escape(prompt.id) for prompt in prompts]
    listener = Listener()
    measured = run(listener, path, tmp_path / "run", LENGTH, MEAN)
    assert [prompt.text for prompt in prompts] == listener.drawn == listener.read == list(texts)
    samples = read_table(measured.folder / "samples.csv")
    rows = [row for row in read_table(measured.folder / "measurements.csv") if row["metric"] == "length"]
    frame = measured.measurements().query("metric == 'length'")
    assert [row["text"] for row in samples] == measured.samples()["text"].tolist() == escaped
    assert [row["prompt"] for row in samples] == [row["prompt"] for row in rows] == frame["prompt"].tolist() == ids
    assert [float(row["value"]) for row in rows] == frame["value"].tolist() == [float(len(t)) for t in texts]
    if suffix != ".txt":
        names = [text for text in texts if can_be_id(text)]
        assert [prompt.id for prompt in prompts if can_be_id(prompt.text)] == names
        assert [row["level"] for row in rows if row["level"]] == frame["level"].dropna().tolist() == names
        assert [row["cluster"] for row in rows if row["level"]] == names
        for each in (measured, load_run(measured.folder)):
            assert list(each.results[0].facets["length"]["level"]) == names


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
def test_a_data_set_has_exact_captions_and_stays_in_its_folder(suffix: str, tmp_path: Path) -> None:
    path, texts = tmp_path / f"prompts{suffix}", select_texts(suffix)
    write_prompts(path, texts)
    folder = run(Listener(), path, tmp_path / "run").folder / "images" / "model"
    lines = [json.loads(line) for line in (folder / "metadata.jsonl").read_bytes().splitlines()]
    assert [line["text"] for line in lines] == [escape(text) for text in texts]
    files = {file.name for file in folder.iterdir()} - {"metadata.jsonl"}
    assert files == {line["file_name"] for line in lines}
    assert {file.name for file in tmp_path.iterdir()} == {path.name, "run", "cache"}


def test_repeated_entries_are_counted_once_and_noted(tmp_path: Path) -> None:
    car, dog, cat = {"prompt": "a car"}, {"prompt": "a dog"}, {"prompt": "a cat"}
    repeated = [
        *(car, dog, car, {**dog, "level": "x"}, car, {**dog, "level": "y"}),
        *({**cat, "id": "one"}, {**cat, "id": "two"}, {**cat, "id": "one"}),
    ]
    once = [
        *({**car, "id": "a-car"}, {**dog, "id": "a-dog"}, {**dog, "id": "a-dog-2", "level": "x"}),
        *({**dog, "id": "a-dog-3", "level": "y"}, {**cat, "id": "one"}, {**cat, "id": "two"}),
    ]
    path, notes, rows = tmp_path / "prompts.jsonl", [], []
    for name, lines in (("repeated", repeated), ("once", once)):
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        listener = Listener()
        request, resolver = make_request(listener, path, tmp_path / name, LENGTH)
        plan = make_plan(replace(request, seeds=(0, 1, 2), fresh=True), resolver)
        notes.append(plan.notes)
        rows.append(read_rows(run_plan(plan).folder))
        assert sorted(listener.drawn) == sorted(["a car", "a dog", "a cat"] * 3)
    assert rows[0] == rows[1]
    shared = "3 share their text with another but differ"
    assert any(f"3 of 9 entries repeat another in all, and are counted once; {shared}" in n for n in notes[0])
    assert any(f"{path}: {shared}" in note for note in notes[1])


@pytest.mark.parametrize(
    "line",
    [
        {"prompt": "a\0b"}, {"prompt": "a", "id": "a\0b"}, {"prompt": "a", "id": "\ud83d"},
        {"prompt": "a", "cluster": "\udc00"}, {"prompt": "a", "level": "\ud83d"}, {"prompt": "a", "level": "\0"},
    ],
)  # fmt: skip
def test_names_that_tables_cannot_hold_are_refused_in_one_line(line: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps(line))
    with pytest.raises(BadPrompts) as error:
        make_plan(*make_request(Listener(), tmp_path / "p.jsonl", tmp_path / "run", LENGTH))
    assert str(error.value).isprintable()
