"""Control characters of others (prompts, labels, plugins, judges, files) never reach a terminal as they are."""

from __future__ import annotations

import ast
import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import t2i_cli
from t2i_core.testing.fake_dists import fake_dist

pytestmark = pytest.mark.long  # each test starts commands in a terminal

NASTY = "\x1b]0;pwned\x07\x1b[2J\u202e\x9b1mx"
FORBIDDEN = ("\x1b]", "\x07", "\x1b[2J", "\u202e", "\x9b", "\x1bc")

EVIL = """
    import sys, warnings
    import numpy as np
    import pandas as pd
    from pydantic import Field
    from t2i_core.api import (
        About,
        Failure, Generated, GeneratorInfo, JudgeInfo, Measure, Metric, MetricInfo, Need, Options, Prompt,
        PromptSourceInfo, Reward, Row, hookimpl,
    )
    from t2i_core.api.metric_output import Note
    from t2i_core.api.study import Analysis
    from t2i_core.api import Caption

    NASTY = {nasty!r}

    class EvilOptions(Options):
        level: int = Field(128, description=f"How bright {{NASTY}}.")

    class Draws:
        def __init__(self, setup):
            print(NASTY)
            print(NASTY, file=sys.stderr)
            warnings.warn(NASTY)
            self.settings = {{NASTY: NASTY}}

        def generate(self, requests):
            for request in requests:
                if request.seed == 1:
                    yield request, Failure(NASTY)
                elif request.seed == 2:
                    raise ValueError(NASTY)
                else:
                    yield request, Generated(np.full((8, 8, 3), 100, np.uint8), {{"by": NASTY}})

    class Says:
        def observe(self, capability, queries):
            for query in queries:
                yield query, Caption(NASTY)

    class Length(Metric):
        needs = (Need("words", "caption", queries=lambda s: [s[0].query()]),)

        def measure(self, unit):
            yield Row("length", float(len(unit.one().one("words").text)), {{"said": unit.one().one("words").text}})
            yield Note(NASTY)

        def analyses(self, study):
            yield Analysis("words", f"What it said {{NASTY}}.", pd.DataFrame({{NASTY: [NASTY]}}))

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="evil", summary=NASTY, options=EvilOptions, create=Draws, argument=NASTY,
                              about=About(citation=NASTY, licence=NASTY, notes=NASTY))]

    @hookimpl
    def t2i_judges():
        return [JudgeInfo(name="says", summary=NASTY, capabilities={{"caption": frozenset()}},
                          create=lambda setup: Says())]

    @hookimpl
    def t2i_metrics():
        return [MetricInfo(name="length", summary=NASTY, create=Length,
                           measures=(Measure("length", NASTY, facets=("said",)),))]
"""
BROKEN = "raise ValueError({nasty!r})\n"
ENTRIES = {
    "t2i.generators": {"evil": "evil_plugin", f"bad{NASTY}name": "evil_plugin", "broken": "broken_plugin"},
    "t2i.judges": {"says": "evil_plugin"},
    "t2i.judges.caption": {"says": "evil_plugin"},
    "t2i.metrics": {"length": "evil_plugin"},
    "t2i.commands": {"evil-command": "broken_plugin"},
}
EVAL = ("eval", "--recipe", "recipe.yaml", "--metric", "length", "--judge", "caption=says", "--prompts",
        "prompts.jsonl", "--seeds", "4", "--max-failed", "1", "--out", f"run-{NASTY}")  # fmt: skip


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plugin, prompts and a recipe that are all out to steer the terminal, and with their run."""
    place = tmp_path_factory.mktemp("evil")
    modules = {"evil_plugin": EVIL.format(nasty=NASTY), "broken_plugin": BROKEN.format(nasty=NASTY)}
    fake_dist(place / "site", "evil", ENTRIES, modules, summary=f"Summary {NASTY}.")
    models = [{"model": "evil:a", "label": f"one {NASTY}"}, {"model": f"evil:{NASTY}"}]
    (place / "recipe.yaml").write_text(json.dumps({"models": models}))
    prompts = [{"id": f"id{NASTY}{n}", "prompt": f"a cat {NASTY} {n}"} for n in range(2)]
    (place / "prompts.jsonl").write_text("\n".join(map(json.dumps, prompts)))
    (place / f"bad{NASTY}.jsonl").write_text('{"prompt": 1, "\x1b[2J": 2}')
    done = t2i(place, *EVAL)
    assert done.returncode == 0, done.stderr
    assert_harmless(done.stdout + done.stderr.replace(f"{NASTY}\n", ""))  # what the plugin itself prints to a pipe
    return place


def environment(work: Path) -> dict[str, str]:
    return {
        **os.environ, "PYTHONPATH": str(work / "site"), "T2I_CACHE_DIR": str(work / "cache"), "COLUMNS": "300",
        "PYTHONUTF8": "1", "TERM": "xterm-256color",
    }  # fmt: skip


def t2i(work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "t2i_cli", *words]
    return subprocess.run(
        command, cwd=work, env=environment(work), capture_output=True, text=True, timeout=240, encoding="utf-8"
    )


def on_a_terminal(work: Path, *words: str) -> str:
    """Run a command on a new terminal; return all that the terminal receives."""
    ours, theirs = pty.openpty()
    said: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            said.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        command = [sys.executable, "-m", "t2i_cli", *words]
        subprocess.run(
            command, cwd=work, env=environment(work), stdin=theirs, stdout=theirs, stderr=theirs, timeout=240
        )
    finally:
        os.close(theirs)
        reader.join(30)
        os.close(ours)
    return b"".join(said).decode("utf-8")


def assert_harmless(text: str) -> None:
    for sequence in FORBIDDEN:
        at = text.find(sequence)
        assert at < 0, ascii(text[max(0, at - 200) : at + 50])


RUN = f"run-{NASTY}"
COMMANDS = {
    "list-plugins --check": ("list-plugins", "--check", "--kind", "generator"),
    "info": ("info", "evil"),
    "info --json": ("info", "evil", "--json"),
    "help": ("--help",),
    "results": EVAL,
    "runs show": ("runs", "show", RUN),
    "analyze": ("analyze", RUN),
    "compare": ("compare", RUN, RUN),
    "wrong option": ("eval", "--metric", "length", "--model", "evil:a", "-o", f"generator:evil.{NASTY}=1"),
    "wrong file": ("eval", "--metric", "length", "--model", "evil:a", "--prompts", f"bad{NASTY}.jsonl"),
    "broken plugin": ("--debug", "generate", "--model", "broken", "--prompts", "prompts.jsonl"),
    "new images": ("generate", "--recipe", "recipe.yaml", "--prompts", "prompts.jsonl", "--seeds", "3", "--fresh",
                   "--out", "images"),
}  # fmt: skip
MORE_COMMANDS = {
    "list-plugins": ("list-plugins",),
    "list-plugins --json": ("list-plugins", "--json"),
    "help of a plugin's command": ("evil-command", "--help"),
    "plan": (*EVAL, "--dry-run"),
    "plan --json": (*EVAL, "--dry-run", "--json"),
    "runs": ("runs", "list", "."),
    "runs --json": ("runs", "list", ".", "--json"),
    "results --json": (*EVAL, "--json"),
    "report": ("report", RUN, "--out", f"page{NASTY}.html"),
    "report as a table": ("report", RUN, "--format", "csv", "--table", "rows"),
    "wrong name": ("info", NASTY),
    "wrong usage": ("eval", f"--{NASTY}"),
    "wrong folder": ("runs", "show", f"gone{NASTY}"),
}
SHOWN = ("info", "results", "runs", "runs show", "broken plugin", "wrong name", "list-plugins")
"""Commands that print such a text in a place where it is not broken into lines."""


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_steers_the_terminal(work: Path, name: str) -> None:
    check_command(work, name, COMMANDS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE_COMMANDS)
def test_nothing_of_other_commands_does(work: Path, name: str) -> None:
    check_command(work, name, MORE_COMMANDS[name])


def texts_of(data: object) -> list[str]:
    """Return every text in plain data."""
    if isinstance(data, dict):
        return [text for item in data.items() for part in item for text in texts_of(part)]
    return [t for part in data for t in texts_of(part)] if isinstance(data, list) else [str(data)]


def check_command(work: Path, name: str, words: tuple[str, ...]) -> None:
    said = on_a_terminal(work, *words)
    assert len(said) > 20
    assert_harmless(said)
    if name.endswith("--json"):
        piped = t2i(work, *words).stdout
        assert_harmless(piped)
        assert NASTY in " ".join(texts_of(json.loads(piped)))
    elif name in SHOWN:
        assert r"\x1b]0;pwned\x07\x1b[2J\u202e\x9b1mx" in said.replace("\r\n", "").replace(" ", "")


def test_commands_write_through_one_place() -> None:
    """What prints by itself would not be filtered where output goes to a pipe and from there to a terminal."""
    found = []
    for file in Path(t2i_cli.__file__).parent.glob("*.py"):
        if file.name in ("terminal.py", "__init__.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "typer.echo", "typer.secho"):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []
