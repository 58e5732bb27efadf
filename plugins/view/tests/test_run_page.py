"""The page of a run: under way, interrupted, ended, stopped early; its report."""

from __future__ import annotations

import errno
import html
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from starlette.testclient import TestClient
from t2i_core.results.run import load_run
from t2i_core.results.verdict import describe_verdicts
from t2i_view import made_pages

from .conftest import begin_run, change_manifest, describe_stage

LOOK = {
    "prompts": 4, "seeds": 2, "images": 16, "models": ["dark", "light"], "best": [], "left": ["dark", "light"],
    "pairs": [{
        "a": "dark", "b": "light", "diff": 0.125, "ci": [-0.1, 0.35], "information": 0.25, "statistic": 1.5,
        "boundary": 4.3, "p_adjusted": 0.2, "decision": None,
    }],
}  # fmt: skip


def test_a_run_under_way(client: TestClient, under_way: Path) -> None:
    text = client.get("/run/under-way").text
    assert 'data-every="2"' in text
    assert "A process works on this run." in text
    assert "10 of 40 images, 1 failed, 0.5/s, 1:00 left" in text
    assert '<progress max="40" value="10"' in text
    assert "the filter &lt;b&gt;blanked&lt;/b&gt; it" in text
    assert "a red dog, number 3" in text
    assert "/report" not in text
    pictures = re.findall(r'src="(/run/under-way/picture/[0-9a-f]{64})"', text)
    assert len(pictures) == 4
    picture = client.get(pictures[0])
    assert picture.headers["content-type"] == "image/webp"
    assert picture.content[:4] == b"RIFF"


def test_the_stage_that_goes_on_comes_first(client: TestClient, under_way: Path) -> None:
    progress = json.loads((under_way / ".progress").read_text())
    stages = [describe_stage(name, 9, 3, 0, 1.0, name == "again") for name in ("first", "again", "last")]
    (under_way / ".progress").write_text(json.dumps({**progress, "stages": stages}))
    shown = re.findall(r'<span class="stage">(.*?)</span>', client.get("/run/under-way").text)
    assert shown == ["again", "last", "first"]


def test_pictures_of_a_page_are_there_although_the_run_goes_on(client: TestClient, under_way: Path) -> None:
    shown = re.findall(r'src="([^"]+/picture/[0-9a-f]{64})"', client.get("/run/under-way").text)
    progress = json.loads((under_way / ".progress").read_text())
    (under_way / ".progress").write_text(json.dumps({**progress, "images": []}))
    client.get("/run/under-way")
    assert {client.get(picture).status_code for picture in shown} == {200}


def test_a_run_whose_process_was_killed(client: TestClient, runs: Path) -> None:
    begin_run(runs)  # nobody holds its lock
    text = client.get("/run/under-way").text
    assert "interrupted" in text
    assert "Its process has ended before it had results." in text
    assert 'data-every="5"' in text  # it may be resumed
    assert "10 of 40 images" in text
    assert "<img" not in text


def test_a_run_that_has_recorded_nothing_yet(client: TestClient, under_way: Path) -> None:
    (under_way / ".progress").unlink()
    assert "It has not recorded any progress yet." in client.get("/run/under-way").text


def test_looks_of_a_run_that_stops_early(client: TestClient, under_way: Path) -> None:
    plan = [{"prompts": 4, "seeds": 2}, {"prompts": 8, "seeds": 2}]
    stopping = {"until": "verdict", "margin": 0.05, "plan": plan, "spending": "square", "verdict": None}
    change_manifest(under_way, stopping={**stopping, "looks": []})
    assert "It takes up to 2 looks, and has not taken one yet." in client.get("/run/under-way").text
    change_manifest(under_way, stopping={**stopping, "looks": [LOOK]})
    text = client.get("/run/under-way").text
    assert "1/2" in text
    assert "dark - light" in text
    assert "open: |z| 1.50 of 4.30" in text
    assert "A pair is open until its |z| reaches" in text


def test_a_run_that_has_ended(client: TestClient) -> None:
    text = client.get("/run/first").text
    assert "data-every" not in text
    assert 'href="/run/first/report"' in text
    assert "dark" in text
    assert "Paired comparisons" in text
    assert "<progress" not in text


def test_each_verdict_has_its_own_line(client: TestClient, runs: Path) -> None:
    (own,) = json.loads((runs / "first" / "run.json").read_text())["comparisons"]
    change_manifest(runs / "first", comparisons=[{**own, "p_adjusted": 0.5}])
    run = load_run(runs / "first")
    wanted = describe_verdicts(run.results, run.comparisons)
    assert len(wanted) > 1
    text = html.unescape(client.get("/run/first").text)
    assert re.findall('<p class="verdict">(.*?)</p>', text) == wanted


def test_a_long_command_is_shown_whole(client: TestClient, runs: Path) -> None:
    words = ["t2i", "eval", *(word for number in range(40) for word in ("--model", f"folder:images-{number}"))]
    change_manifest(runs / "first", command=words)
    assert " ".join(words) in client.get("/run/first").text


def test_a_run_that_failed_says_why(client: TestClient, runs: Path) -> None:
    change_manifest(runs / "first", status="failed", failed="2 of 4 samples failed: <b>blank</b>")
    assert "2 of 4 samples failed: &lt;b&gt;blank&lt;/b&gt;" in client.get("/run/first").text


def wait_for(client: TestClient, path: str, status: int) -> str:
    """Ask for a page until it has been made."""
    for _ in range(100):
        answer = client.get(path)
        if answer.status_code != 202:
            assert answer.status_code == status
            return answer.text
        assert 'http-equiv="refresh"' in answer.text
        time.sleep(0.1)
    raise AssertionError(f"{path} was not made")


def test_the_report_is_made_when_it_is_opened(client: TestClient, runs: Path) -> None:
    text = wait_for(client, "/run/first/report", 200)
    assert text == f"<title>made</title>report {runs / 'first'} --out {text.rpartition(' ')[2]}"
    assert not Path(text.rpartition(" ")[2]).is_relative_to(runs)
    assert client.get("/run/first/report").text == text  # it is kept
    change_manifest(runs / "first", started="2026-01-01T00:00:00+00:00")
    assert wait_for(client, "/run/first/report", 200) != text  # the run has changed


def test_a_report_whose_temporary_file_was_removed_is_made_again(client: TestClient) -> None:
    text = wait_for(client, "/run/first/report", 200)
    Path(text.rpartition(" ")[2]).unlink()  # some systems remove old temporary files
    assert wait_for(client, "/run/first/report", 200) == text


def test_a_report_that_cannot_be_made_says_why_and_is_tried_again(
    client: TestClient, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / "first").rename(runs / "broken")
    text = wait_for(client, "/run/broken/report", 500)
    assert "the run is &lt;b&gt;broken&lt;/b&gt;" in text
    started = []

    def start(command: list[str], **how: Any) -> subprocess.Popen[bytes]:
        started.append(command)
        return real(command, **how)

    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    assert client.get("/run/broken/report").status_code == 500  # not at once
    assert started == []
    with monkeypatch.context() as later:
        later.setattr(made_pages, "TRIED_AGAIN", 0.0)
        client.get("/run/broken/report")
    assert "the run is &lt;b&gt;broken&lt;/b&gt;" in wait_for(client, "/run/broken/report", 500)
    assert len(started) == 1


@pytest.mark.parametrize("path", ["/run/first/report", "/compare/page?a=first:dark&b=second:light"])
def test_a_process_that_cannot_be_started_is_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def start(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    with monkeypatch.context() as without_memory:
        without_memory.setattr(subprocess, "Popen", start)
        assert "cannot be started (Cannot allocate memory)" in wait_for(client, path, 500)
    monkeypatch.setattr(made_pages, "TRIED_AGAIN", 0.0)
    client.get(path)
    assert "made" in wait_for(client, path, 200)


@pytest.mark.parametrize("path", ["/run/third", "/run/%2e%2e", "/run/third/report", "/run/first/picture/00"])
def test_unknown_addresses(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_run_shows_how_it_was_measured_and_what_to_note(client: TestClient, runs: Path) -> None:
    results = json.loads((runs / "first" / "run.json").read_text())["results"]
    notes = {"notes": ["the score rests on <b>one</b> prompt"]}
    command = ["/home/ann/.venv/bin/t2i", "eval", "--metric", "bright"]
    change_manifest(runs / "first", command=command, results=[{**each, **notes} for each in results])
    text = client.get("/run/first").text
    assert "<code>t2i eval --metric bright</code>" in text
    for line in {each["signature"] for each in results}:
        assert text.count(f"<code>{html.escape(line)}</code>") == 1
    assert text.count("the score rests on &lt;b&gt;one&lt;/b&gt; prompt") == 1
    assert "the best device available" in text
    assert "dark, which is paint (" in text


def test_the_page_follows_a_run_to_its_end(client: TestClient, runs: Path) -> None:
    run = begin_run(runs)
    with FileLock(run / ".lock"):
        assert "running" in client.get("/run/under-way").text
        (run / "run.json").write_text((runs / "first" / "run.json").read_text())
        (run / ".progress").unlink()
    text = client.get("/run/under-way").text
    assert "running" not in text
    assert 'href="/run/under-way/report"' in text
    assert json.loads((run / "run.json").read_text())["status"] == "done"
