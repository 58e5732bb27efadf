"""A plugin that breaks its contract fails the samples it touches, or ends the run in one line that names it.

All other results stay. With a plugin that behaves, the same command then gives the undisturbed run, and makes only
what had failed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from t2i_core import Run
from t2i_core.api import Generated
from t2i_core.api.errors import BrokenPlugin
from t2i_core.api.progress import Silent
from t2i_core.testing.fake_dists import fake_dist

from faults.rude_plugins import CELLS, DEEDS, Cell, Deed, Plugins, change_image, paint
from faults.run_rows import Rows, read_rows

TOUCHED = frozenset(CELLS[1::3])
PART_NAMES = {"generate": "the-model", "measure": "two-rows"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    return {
        capability: read_rows(Plugins().evaluate(tmp_path_factory.mktemp(capability), capability).folder)
        for capability in ("reward", "segment", "detect")
    }


def read_values(rows: Rows) -> dict[tuple[Cell, str], float]:
    """Return the measured values by sample and measure."""
    found = {}
    for (name, *about), values in rows.items():
        if name == "measurements.csv":
            key = dict(cell.split("=", 1) for cell in about)
            value = dict(cell.split("=", 1) for cell in values)["value"]
            found[(key["prompt"], int(key["seed"])), key["measure"]] = float(value)
    return found


@pytest.mark.long
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_a_deed_harms_only_what_it_touches(deed: Deed, undisturbed: dict[str, Rows], tmp_path: Path) -> None:
    capability = deed.part if deed.part in undisturbed else "reward"
    rude, mended = Plugins(deed, TOUCHED), Plugins()
    failed = set(CELLS) if deed.fails_all else set() if deed.harmless else set(TOUCHED)
    if deed.broken:
        with pytest.raises(BrokenPlugin, match=deed.reason) as error:
            rude.evaluate(tmp_path, capability)
        assert PART_NAMES.get(deed.part, "the-judge") in str(error.value)
        assert "\n" not in str(error.value)
        assert not (tmp_path / "run" / "samples.csv").exists()
    else:
        check_failures(deed, rude.evaluate(tmp_path, capability), undisturbed[capability], failed)
    assert read_rows(mended.evaluate(tmp_path, capability).folder) == undisturbed[capability]
    if not deed.broken:
        again = {"generate": ("generate", capability), "measure": ()}.get(deed.part, (capability,))
        assert mended.calls == (dict.fromkeys(again, len(failed)) if failed else {})


def check_failures(deed: Deed, run: Run, undisturbed: Rows, failed: set[Cell]) -> None:
    """Check that the failed samples are listed with their reason, and that all others have their values."""
    expected = {key: value for key, value in read_values(undisturbed).items() if key[0] not in failed}
    rows = read_rows(run.folder)
    assert (read_values(rows) if expected else {}) == expected
    (result,) = run.results
    assert (result.n_ok, result.n_failed) == (len(CELLS) - len(failed), len(failed))
    for measure in ("seen", "bright") if expected else ():
        values = [value for (_, name), value in expected.items() if name == measure]
        assert isclose(result.scores[measure].value, sum(values) / len(values), rel_tol=1e-9)
    assert (run.failed is not None) == (len(failed) > 0.01 * len(CELLS))
    lost = run.failures()
    assert {(str(prompt), int(seed)) for prompt, seed in zip(lost["prompt"], lost["seed"], strict=True)} == failed
    assert all(kind == "failed" for kind in lost["kind"])
    assert all(re.search(deed.reason, reason) and len(reason) < 600 for reason in lost["reason"])


def test_a_judge_that_breaks_after_many_images_fails_from_there_on(
    undisturbed: dict[str, Rows], tmp_path: Path
) -> None:
    answered = count(1)

    def break_down(items: Iterable[Any], answer: Any, touched: Any) -> Iterator[Any]:
        for item in items:
            if next(answered) > 20:
                raise RuntimeError("worn out")
            yield item, answer(item)

    deed = Deed("", "reward", break_down, "RuntimeError: worn out")
    run = Plugins(deed).evaluate(tmp_path, "reward")
    check_failures(deed, run, undisturbed["reward"], set(CELLS[20:]))
    assert read_rows(Plugins().evaluate(tmp_path, "reward").folder) == undisturbed["reward"]


class Notes(Silent):
    """Keeps the notes of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def ignore_seeds(items: Iterable[Any], answer: Any, touched: Any) -> Iterator[Any]:
    return ((item, Generated(paint(replace(item, seed=0)))) for item in items)


@pytest.mark.long
@pytest.mark.parametrize(
    ("work", "note"),
    [
        (change_image(lambda pixels: pixels[:4, :6]), "2 sizes: 8 x 8 (20), 6 x 4 (10)"),
        (ignore_seeds, "25 of its 30 images are the same as under another seed"),
    ],
    ids=["another size", "the seed ignored"],
)
def test_doubtful_images_are_noted(work: Any, note: str, undisturbed: dict[str, Rows], tmp_path: Path) -> None:
    notes = Notes()
    run = Plugins(Deed("", "generate", work), TOUCHED).evaluate(tmp_path, "reward", notes)
    assert run.results[0].n_ok == len(CELLS)
    assert sum(note in each for each in notes.notes) == 1
    fresh = Plugins().evaluate(tmp_path, "reward", fresh=True)
    assert read_rows(fresh.folder) == undisturbed["reward"]


# --- by the command line

PLUGIN = """
    import sys
    import numpy as np
    from t2i_core.api import (
        Generated, GeneratorInfo, JudgeInfo, Measure, Metric, MetricInfo, Need, Options, Reward, Row, hookimpl,
    )

    class Deed(Options):
        \"\"\"What goes wrong.\"\"\"
        deed: str = ""

    class Part:
        def __init__(self, setup):
            self.deed = setup.options.deed

        def generate(self, requests):
            for n, request in enumerate(requests):
                if self.deed == "raise":
                    raise RuntimeError("\\x1b[2J[red]no[/red]\\nmodel")
                if self.deed == "exit":
                    sys.exit(0)
                yield request, Generated(np.full((4, 4, 3), 1 + n, np.uint8))
                if self.deed == "twice":
                    yield request, Generated(np.full((4, 4, 3), 1 + n, np.uint8))

        def observe(self, capability, queries):
            for query in queries:
                yield query, Reward(float("nan") if self.deed == "nan" else 0.5)

    class Mean(Metric):
        needs = (Need("reward", "reward"),)

        def measure(self, unit):
            if self.options.deed == "exit":
                sys.exit(0)
            if self.options.deed != "no row":
                yield Row("mean", unit.one().one("reward").value, {"level": "[red]" + unit.prompt.text})

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="bad-model", summary="b", options=Deed, create=Part)]

    @hookimpl
    def t2i_judges():
        offers = {"reward": frozenset()}
        return [JudgeInfo(name="bad-judge", summary="b", options=Deed, capabilities=offers, create=Part)]

    @hookimpl
    def t2i_metrics():
        measures = (Measure("mean", "m", facets=("level",)),)
        return [MetricInfo(name="bad-metric", summary="b", options=Deed, create=Mean, measures=measures)]
"""
ENTRIES = {
    "t2i.generators": {"bad-model": "misdeeds"},
    "t2i.judges": {"bad-judge": "misdeeds"},
    "t2i.judges.reward": {"bad-judge": "misdeeds"},
    "t2i.metrics": {"bad-metric": "misdeeds"},
}
COMMAND = ("eval", "--metric", "bad-metric", "--model", "bad-model", "--judge", "bad-judge", "--prompts", "p.txt")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    (folder / "site").mkdir()
    fake_dist(folder / "site", "misdeeds", ENTRIES, {"misdeeds": PLUGIN}, version="0.7", summary="Misdeeds.")
    (folder / "p.txt").write_text("[red]bold[/red] :car:\n\x1b[2Jsteer\x07\n\u202erev\n-rf\n..\n")
    return folder


def run_t2i(place: Path, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    paths = {"PYTHONPATH": str(place / "site"), "T2I_CACHE_DIR": str(place / "cache"), "COLUMNS": "200"}
    command = [sys.executable, "-m", "t2i_cli", *words]
    environment = {**os.environ, **paths, **env}
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, timeout=120, check=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("deed", "code", "line"),
    [
        ("bad-model.deed=raise", 8, "bad-metric on bad-model: no sample has a value (5 failed, 0 missing)"),
        (
            "bad-model.deed=twice",
            4,
            "generator 'bad-model' (misdeeds 0.7, misdeeds) answered what it was not asked",
        ),
        ("bad-metric.deed=exit", 4, "metric 'bad-metric' (misdeeds 0.7, misdeeds) failed on prompt"),
        (
            "bad-metric.deed=no row",
            4,
            "metric 'bad-metric' (misdeeds 0.7, misdeeds) gave neither rows nor a failure",
        ),
    ],
)
def test_the_command_names_the_plugin_in_one_line(deed: str, code: int, line: str, place: Path) -> None:
    done = run_t2i(place, *COMMAND, "-o", deed)
    (error,) = [each for each in done.stderr.decode().splitlines() if each.startswith("error:")]
    assert (done.returncode, line in error) == (code, True), error
    assert b"Traceback" not in done.stderr
    assert not set("\x1b\x07\u202e") & set((done.stdout + done.stderr).decode())


@pytest.mark.long
def test_prompts_are_shown_literally(place: Path) -> None:
    done = run_t2i(place, *COMMAND, "--facets", PYTHONIOENCODING="utf-8")
    assert done.returncode == 0, done.stderr
    levels = ("[red]bold[/red] :car:", r"\x1b[2Jsteer\x07", r"\u202erev", "-rf", "..")
    assert all(f"[red]{level}" in done.stdout.decode() for level in levels)


@pytest.mark.long
def test_json_is_exact_in_any_encoding(place: Path) -> None:
    done = run_t2i(place, *COMMAND, "--json", PYTHONIOENCODING="ascii")
    levels = json.loads(done.stdout.decode("ascii"))["results"][0]["facets"]["mean"]["level"]
    assert list(levels)[1:3] == ["[red]\x1b[2Jsteer\x07", "[red]\u202erev"]
