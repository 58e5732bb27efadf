"""The run under fire: plugins that break their contract, odd prompts, repeated ones, many. Few tries of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fire import odd_prompts
from fire.misbehaviour import BENT, DEEDS, DOUBTED, TIRED, Deed, Trial, doubted, tried
from fire.odd_prompts import LENGTH, Parts, asked
from fire.tally import Difference
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.plan import make_plan
from t2i_core.testing.fake_dists import fake_dist

NOTHING = Difference()
#: Of the many answers that cannot be kept every third; core/tests/test_observations.py has them all.
FEW = (*DEEDS[: len(BENT) : 3], *DEEDS[len(BENT) :])


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(tmp_path_factory.mktemp("trial"))


@pytest.mark.parametrize("deed", FEW, ids=lambda deed: deed.name)
def test_no_misdeed_loses_invents_or_changes_a_result(deed: Deed, trial: Trial) -> None:
    case = tried(trial, deed, deed.name.replace(" ", "-"), 1, np.random.default_rng(0))
    assert case.difference == NOTHING
    assert case.note.endswith("; mended")  # and nothing made again that was there


def test_a_judge_that_tires_fails_from_there_on(tmp_path: Path) -> None:
    case = tried(Trial(tmp_path, (5, 24)), TIRED, "tired", 1, np.random.default_rng(0))
    assert (case.difference, case.note) == (NOTHING, "failed with its reason; mended")


@pytest.mark.parametrize("deed", DOUBTED, ids=lambda deed: deed.name)
def test_what_may_be_as_it_should_is_said(deed: Deed, trial: Trial) -> None:
    assert doubted(trial, deed).difference == NOTHING


def test_odd_repeated_and_many_prompts_come_through(tmp_path: Path) -> None:
    found = list(odd_prompts.cases(tmp_path, 1, 0))
    assert len(found) == 5
    assert [case.name for case in found if case.difference != NOTHING] == []


@pytest.mark.parametrize(
    "line",
    [
        {"prompt": "a\0b"}, {"prompt": "a", "id": "a\0b"}, {"prompt": "a", "id": "\ud83d"},
        {"prompt": "a", "cluster": "\udc00"}, {"prompt": "a", "level": "\ud83d"}, {"prompt": "a", "level": "\0"},
    ],
)  # fmt: skip
def test_what_no_table_can_hold_is_refused_in_one_line(line: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps(line))
    with pytest.raises(BadPrompts) as error:
        make_plan(*asked(Parts(), tmp_path / "p.jsonl", tmp_path / "run", LENGTH))
    assert str(error.value).isprintable()


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


def t2i(place: Path, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    known = {
        **os.environ,
        "PYTHONPATH": str(place / "site"),
        "T2I_CACHE_DIR": str(place / "cache"),
        "COLUMNS": "200",
    }
    command = [sys.executable, "-m", "t2i_cli", *words]
    return subprocess.run(command, cwd=place, env={**known, **env}, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("deed", "code", "said"),
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
            "metric 'bad-metric' (misdeeds 0.7, misdeeds) gave neither rows nor a reason",
        ),
    ],
)
def test_the_command_names_the_plugin_in_one_line(deed: str, code: int, said: str, place: Path) -> None:
    done = t2i(place, *COMMAND, "-o", deed)
    (line,) = [line for line in done.stderr.decode().splitlines() if line.startswith("error:")]
    assert (done.returncode, said in line) == (code, True), line
    assert b"Traceback" not in done.stderr
    assert not set("\x1b\x07\u202e") & set((done.stdout + done.stderr).decode())


def test_prompts_are_shown_to_the_letter(place: Path) -> None:
    done = t2i(place, *COMMAND, PYTHONIOENCODING="utf-8")
    assert done.returncode == 0, done.stderr
    for level in (
        "[red][red]bold[/red] :car:",
        r"[red]\x1b[2Jsteer\x07",
        r"[red]\u202erev",
        "[red]-rf",
        "[red]..",
    ):
        assert level in done.stdout.decode()


def test_json_is_exact_in_any_encoding(place: Path) -> None:
    done = t2i(place, *COMMAND, "--json", PYTHONIOENCODING="ascii")
    levels = json.loads(done.stdout.decode("ascii"))["results"][0]["facets"]["mean"]["level"]
    assert list(levels)[1:3] == ["[red]\x1b[2Jsteer\x07", "[red]\u202erev"]
