"""Lists of runs: what they show, how runs are selected, and how fast a thousand are read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.results.manifest import Manifest, parse_manifest
from t2i_core.results.run import load_run
from t2i_core.results.run_list import (
    ListedRun,
    UnreadableRun,
    find_listed_folder,
    list_runs,
    parse_since,
    select_runs,
)
from t2i_core.storage.manifest_file import LOCK


def make_result(metric: str, model: str, score: float | None, **fields: Any) -> dict[str, Any]:
    return {
        "metric": metric, "model": model, "as": model, "settings": {}, "judge": None, "judges": [], "prompts": "p",
        "signature": f"metric:{metric}|seeds:0-3", "score": score, "ci": [0.1, 0.9], "higher_is_better": True,
        "interval": "t", "n_prompts": 1, "n_prompts_ok": 1, "n_seeds": 1, "n_ok": 1, "n_failed": 0, "n_missing": 0,
        "n_excluded": 0, "scores": {metric: {"value": score, "ci": [0.1, 0.9]}}, "facets": {}, **fields,
    }  # fmt: skip


def write_run(folder: Path, *results: dict[str, Any], **fields: Any) -> Path:
    """Write a run.json with these results."""
    names = dict.fromkeys(result["as"] for result in results)
    component = {"dist": "toy", "version": "1", "options": {}, "fingerprint": "f"}
    metrics = list(dict.fromkeys(result["metric"] for result in results))
    content = {
        "plan": "p", "status": "done", "started": "2026-11-20T10:00:00+00:00",
        "finished": "2026-11-20T11:00:00+00:00", "t2i": "0.1.0", "command": ["t2i"],
        "request": {"metrics": metrics, "prompts": [], "seeds": [0], "interval": "new", "noise": "shared"},
        "models": {name: {**component, "name": name, "settings": {}} for name in names}, "components": [],
        "device": {"asked": "best"}, "python": "3", "platform": "x", "judges": [],
        "results": list(results), **fields,
    }  # fmt: skip
    parse_manifest(content)
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[ListedRun | UnreadableRun]:
    """Four runs: two that compare, one measured in another way, and one without scores."""
    old = "2026-10-01T00:00:00+00:00"
    write_run(
        tmp_path / "a", make_result("tiam", "mini", 0.5), make_result("fid", "mini", 30.0, higher_is_better=False)
    )
    write_run(
        tmp_path / "b",
        make_result("tiam", "other", 0.7),
        make_result("fid", "other", 40.0, higher_is_better=False),
    )
    write_run(tmp_path / "c", make_result("tiam", "mini", 0.9, signature="metric:tiam|seeds:0"), started=old)
    write_run(tmp_path / "d", make_result("elo", "mini", 0.0, higher_is_better=None))
    return list(list_runs(tmp_path))


def names(runs: list[ListedRun | UnreadableRun]) -> dict[str, list[str]]:
    """Return the selected scores by run."""
    return {
        run.name: [f"{score.metric} {score.label}" for score in run.scores]
        for run in runs
        if isinstance(run, ListedRun)
    }


def test_a_run_is_listed_with_its_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_run(
        tmp_path / "runs" / "a", make_result("geneval:x", "mini", 0.5), make_result("tiam", "mini", None)
    )
    (run,) = list_runs("runs")
    assert isinstance(run, ListedRun)
    assert (run.folder, run.name, run.path) == (folder, "a", Path("runs/a"))
    assert (run.status, run.failed, run.started[:10]) == ("done", None, "2026-11-20")
    assert (run.metrics, run.models) == (("geneval:x", "tiam"), {"mini": "mini"})
    assert [(each.headline, each.score, each.ci) for each in run.scores] == [
        ("geneval:x (geneval:x)", 0.5, [0.1, 0.9]),
        ("tiam", None, [0.1, 0.9]),
    ]
    assert run.signatures == ("metric:geneval:x|seeds:0-3", "metric:tiam|seeds:0-3")
    assert list(list_runs(folder)) == [run]


def test_a_run_under_way_is_told_from_an_interrupted_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", status="running", finished=None)
    with FileLock(folder / LOCK):
        assert [run.status for run in list_runs(tmp_path) if isinstance(run, ListedRun)] == ["running"]
    assert [run.status for run in list_runs(tmp_path) if isinstance(run, ListedRun)] == ["interrupted"]


def test_a_run_that_changes_is_read_again(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", make_result("tiam", "mini", 0.5))
    (before,) = list_runs(tmp_path)
    (folder / "run.json").unlink()
    assert list(list_runs(tmp_path)) == []
    folder.rename(tmp_path / "kept")
    write_run(folder, make_result("tiam", "mini", 0.25))
    after = {run.name: run.scores[0].score for run in list_runs(tmp_path) if isinstance(run, ListedRun)}
    assert isinstance(before, ListedRun)
    assert (before.scores[0].score, after) == (0.5, {"a": 0.25})


def test_a_run_whose_command_is_not_unicode_is_listed(tmp_path: Path) -> None:
    write_run(tmp_path / "a", make_result("tiam", "mini", 0.5), command=["t2i", "\udcff"])
    assert [type(run) for run in list_runs(tmp_path)] == [ListedRun]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"metric": "fid"}, {"a": ["fid mini"], "b": ["fid other"]}),
        ({"model": "mini"}, {"a": ["tiam mini", "fid mini"], "c": ["tiam mini"], "d": ["elo mini"]}),
        ({"metric": "tiam", "model": "other"}, {"b": ["tiam other"]}),
        ({"metric": "tima"}, {}),
        (
            {"since": datetime(2026, 11, 1, tzinfo=UTC), "metric": "tiam"},
            {"a": ["tiam mini"], "b": ["tiam other"]},
        ),
        # a lower fid is better, the score with another signature line compares with none, and no Elo is best
        ({"best": True}, {"a": ["fid mini"], "b": ["tiam other"], "c": ["tiam mini"]}),
        ({"best": True, "model": "mini"}, {"a": ["tiam mini", "fid mini"], "c": ["tiam mini"]}),
    ],
)
def test_runs_are_selected(
    runs: list[ListedRun | UnreadableRun], conditions: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    assert names(select_runs(runs, **conditions)) == expected
    assert select_runs(runs) == runs


def test_a_run_without_scores_is_selected_by_what_it_will_measure(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", make_result("tiam", "mini", 0.5))
    content = Manifest.model_validate(json.loads((folder / "run.json").read_text())).to_json()
    (folder / "run.json").write_text(json.dumps({**content, "status": "running", "finished": None, "results": []}))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "run.json").write_text("{")
    runs = list(list_runs(tmp_path))
    assert [type(run) for run in runs] == [ListedRun, UnreadableRun]
    assert names(select_runs(runs, metric="tiam", model="mini")) == {"a": []}
    assert (
        select_runs(runs, metric="fid") == select_runs(runs, model="other") == select_runs(runs, best=True) == []
    )


def test_scores_of_runs_without_signature_lines_are_compared_within_their_run(tmp_path: Path) -> None:
    for name, scores in (("a", (0.5, 0.6)), ("b", (0.8, 0.7))):
        results = [make_result("tiam", f"m{n}", score, signature=None) for n, score in enumerate(scores)]
        write_run(tmp_path / name, *results)
    assert names(select_runs(list_runs(tmp_path), best=True)) == {"a": ["tiam m1"], "b": ["tiam m0"]}


def test_the_images_of_an_upper_bound_are_never_best(tmp_path: Path) -> None:
    bound = {"model": "photos", "value": 0.9, "ci": None}
    results = make_result("tiam", "photos", 0.9), make_result("tiam", "mini", 0.5, upper_bound=bound)
    write_run(tmp_path / "a", *results)
    assert names(select_runs(list_runs(tmp_path), best=True)) == {"a": ["tiam mini"]}


NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:00:00+02:00", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("30m", datetime(2026, 11, 28, 11, 30, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 28, tzinfo=UTC)),
        ("7d", datetime(2026, 11, 21, 12, tzinfo=UTC)),
        ("2w", datetime(2026, 11, 14, 12, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_date_or_an_age(text: str, expected: datetime) -> None:
    assert parse_since(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "7", "7 d", "-1d", "999999w", "yesterday", "2026-13-01"])
def test_a_text_without_a_time_is_refused(text: str) -> None:
    with pytest.raises(BadOption):
        parse_since(text, NOW)


def test_a_run_is_found_by_its_name_in_the_folder_for_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = write_run(tmp_path / "t2i-runs" / "a", make_result("tiam", "mini", 0.5))
    assert load_run("a").folder == listed
    near = write_run(tmp_path / "a", make_result("tiam", "mini", 0.7))
    assert load_run("a").folder == near
    with pytest.raises(BadFolder, match=r"^x/a: no such folder"):
        load_run("x/a")
    with pytest.raises(BadFolder, match=r"^gone: no such folder"):
        load_run("gone")


@pytest.mark.parametrize("find", [load_run, find_listed_folder])
def test_a_mistyped_name_is_answered_with_those_near_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, find: Callable[[Path], object]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "t2i-runs" / "tiam-mini", make_result("tiam", "mini", 0.5))
    write_run(tmp_path / "elsewhere" / "bias-mini", make_result("bias", "mini", 0.5))
    (tmp_path / "elsewhere" / "bias-min").mkdir()  # holds no run
    for named, near in (
        ("tiam-mni", "tiam-mini"),
        ("elsewhere/bias-mnii", str(Path("elsewhere", "bias-mini"))),
    ):
        with pytest.raises(BadFolder) as told:
            find(Path(named))
        assert [near] == re.findall("'([^']+)'", str(told.value))


def test_a_folder_to_list_is_named_as_a_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_listed_folder(None) == Path("t2i-runs")
    run = write_run(tmp_path / "t2i-runs" / "a", make_result("tiam", "mini", 0.5))
    assert find_listed_folder(Path("a")).absolute() == run
    assert find_listed_folder(Path("t2i-runs")) == Path("t2i-runs")
    (tmp_path / "file").touch()
    for named in ("gone", "file"):
        with pytest.raises(BadFolder):
            find_listed_folder(Path(named))


@pytest.mark.long
def test_a_thousand_runs_are_listed_in_a_second(tmp_path: Path) -> None:
    """Processor time counts, because others may use the machine."""
    facets = {"tiam": {"object": {f"o{n}": {"value": 0.5, "ci": [0.1, 0.9]} for n in range(40)}}}
    results = [
        make_result(metric, f"m{n}", 0.5, facets=facets) for metric in ("tiam", "vqascore") for n in range(2)
    ]
    more = {
        "packages": {f"distribution-{n}": "1.2.3" for n in range(200)},
        "installed": [
            {"kind": "judge", "name": f"n{n}", "module": "package.module", "version": "1"} for n in range(150)
        ],
    }
    text = (write_run(tmp_path / "r000", *results, **more) / "run.json").read_text()
    for n in range(1, 1000):
        (tmp_path / f"r{n:03}").mkdir()
        (tmp_path / f"r{n:03}" / "run.json").write_text(text)
    seconds = []
    for _ in range(2):
        start = time.process_time()
        assert sum(isinstance(run, ListedRun) for run in list_runs(tmp_path)) == 1000
        seconds.append(time.process_time() - start)
    assert seconds[0] < 1, seconds
    assert seconds[1] < 0.2, seconds
