"""The wording of error messages for typical mistakes, against one golden file.

Other tests assert the class and fields of an error; only `golden/messages.txt` holds the sentences. After a
change of wording, write the file again and read its diff:

    T2I_WRITE_GOLDEN=1 .venv/bin/pytest -n0 tests/test_messages.py
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_core.api import observation
from typer.testing import CliRunner

GOLDEN = Path(__file__).parent / "golden" / "messages.txt"
EVAL = "eval --metric tiam --model simulator --prompts tiam-5-1 --judge oracle"

MISTAKES = f"""
{EVAL} --seeds many
{EVAL} --seeds 0-9999999
{EVAL} --seeds 3,3
{EVAL} --shard 3/2
{EVAL} --limit 0
{EVAL} --max-failed 3
{EVAL} --device gpu
{EVAL} --interval both
{EVAL} --model simulator
{EVAL} -o simulator
{EVAL} -o simulator.dorp=0.1
{EVAL} -o simulator.drop=often
{EVAL} -o simulator.drop=1.5
{EVAL} -o simulater.drop=0.1
eval --metric tiam --model a=simulator --model b=simulator --prompts tiam-5-1 -o b.drop=0.1
eval --modle simulator
eval --x
{EVAL} --judge clip=oracle
{EVAL} --judge people
{EVAL} --judge people:gone.csv
{EVAL} --judge people:empty.txt
{EVAL} --correct votes.sqlite
{EVAL} --correct people:gone.csv
eval --metric clipscore --model simulator --prompts tiam-5-1 --judge people:gone.csv
people tally gone.csv
people agree empty.txt
people tally column.csv
label gone
view gone
view file
label empty --dry-run
correct gone gone.csv
{EVAL} --out file/run --seeds 1 --limit 1
eval --model simulator
eval --metric tiam
eval --metric tima --model simulator
eval --metric tiam --model simulater
eval --metric tiam --model simulator --prompts tiam-5-7
eval --metric tiam --model simulator --prompts tiam-5-1 --judge oracel
eval --metric tiam --model simulator --prompts tiam-24-1
eval --metric tiam --model simulator --prompts gone.csv
eval --metric tiam --model simulator --prompts empty.txt
eval --metric tiam --model simulator --prompts latin.txt
eval --metric tiam --model simulator --prompts blank.csv
eval --metric tiam --model simulator --prompts column.csv
eval --metric tiam --model simulator --prompts twice.csv
eval --metric tiam --model simulator --prompts cells.csv
eval --metric tiam --model simulator --prompts cut.jsonl
eval --metric tiam --model simulator --prompts texts.txt --judge oracle
eval --metric tiam --model folder:gone
eval --metric tiam --model empty
eval --metric tiam --model good=simulater
eval --metric tiam --model diffusers:/no/such
eval --metric tiam --model diffusers:./gone
eval --metric tiam --model simulator --prompts tiam-5-1 --judge transformers-segmenter:/no/such
eval --metric tiam --model simulator --executor rey
eval --metric tiam --model simulator --workers 2
eval --recipe gone.yaml
eval --recipe cut.yaml
analyze gone
analyze empty
analyze damaged
analyze altered
runs --since soon
people validate gone gone.csv
people validate empty gone.csv
generate --model simulator --prompts tiam-5-2 --sink coco-annotation
"""


def test_messages_read_as_in_the_golden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("T2I_DEBUG", raising=False)
    # without the capabilities that other tests of this process define
    every = map(observation.find_capability, observation.list_capabilities())
    own = {cls.capability: cls for cls in (*every, observation.Pixels) if cls.__module__.startswith("t2i_core.")}
    monkeypatch.setattr(observation, "_CLASSES", own)
    _write_files(tmp_path)
    lines = "".join(f"$ t2i {words}\n{_run(words, tmp_path)}\n\n" for words in MISTAKES.strip().splitlines())
    if "T2I_WRITE_GOLDEN" in os.environ:
        GOLDEN.write_text(lines, encoding="utf-8")
    assert lines == GOLDEN.read_text(encoding="utf-8")


def _run(words: str, folder: Path) -> str:
    """Return the exit code and the error of a command that must fail, with a placeholder for the folder."""
    done = CliRunner().invoke(app, shlex.split(words))
    assert done.exit_code not in (0, 1), (words, done.output)
    (error,) = [line for line in done.stderr.splitlines() if line.lower().startswith(("error:", "usage error:"))]
    return f"[{done.exit_code}] {error}".replace(str(folder), "FOLDER")


def _write_files(folder: Path) -> None:
    files = {
        "file": "in the way",
        "empty.txt": "\n",
        "blank.csv": "prompt,id\na car,1\n,2\n",
        "column.csv": "words\na car\n",
        "twice.csv": "prompt,id\na car,1\na dog,1\n",
        "cells.csv": "prompt\na car, a dog\n",
        "cut.jsonl": '{"prompt": "a car"}\n{"prompt": \n',
        "texts.txt": "a photo of a car\n",
        "cut.yaml": "metrics: [tiam\n",
        "damaged/run.json": "{",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.txt").write_bytes(b"a car\na \xfcber car\n")
    (folder / "empty").mkdir()
    done = CliRunner().invoke(app, [*EVAL.split(), "--seeds", "1", "--limit", "1", "--out", "altered"])
    assert done.exit_code == 0, done.output
    with (folder / "altered" / "measurements.csv").open("a") as table:
        table.write("x")
