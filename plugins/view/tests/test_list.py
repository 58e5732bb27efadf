"""The list of runs: filters, orders, unreadable runs, and a thousand runs in a second."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient
from t2i_view.listing import RunQuery, answer, make_id

from .conftest import change_manifest


def list_names(client: TestClient, **query: str) -> list[str]:
    text = client.get("/?" + urlencode(query)).text
    return re.findall(r'<tr id="run-([^"]+)">', text)


def test_the_newest_run_comes_first(client: TestClient, under_way: Path) -> None:
    assert list_names(client) == ["under-way", "second", "first"]
    text = client.get("/").text
    assert "3 of 3 runs" in text
    assert "images of dark: 10 of 40 images, 1 failed, 0.5/s, 1:00 left" in text
    assert "2026-11-20 10:00" in text
    assert "3:00" in text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"order": "name"}, ["first", "second", "under-way"]),
        ({"order": "-name"}, ["under-way", "second", "first"]),
        ({"order": "started"}, ["first", "second", "under-way"]),
        ({"order": "status"}, ["second", "first", "under-way"]),
        ({"order": "score"}, ["second", "first", "under-way"]),
        ({"order": "<script>"}, ["under-way", "second", "first"]),
        ({"text": "SECON"}, ["second"]),
        ({"text": "light"}, ["under-way", "second", "first"]),
        ({"metric": "bright"}, ["under-way", "second", "first"]),
        ({"metric": "tiam"}, []),
        ({"model": "dark"}, ["under-way", "second", "first"]),
        ({"status": "running"}, ["under-way"]),
        ({"status": "done"}, ["second", "first"]),
        ({"since": "2026-11-21"}, ["under-way", "second"]),
        ({"since": "2026-11-21", "status": "done"}, ["second"]),
    ],
)
@pytest.mark.usefixtures("under_way")
def test_filters_and_orders(client: TestClient, query: dict[str, str], names: list[str]) -> None:
    found = list_names(client, **query)
    if query.get("order") in ("status", "score"):
        assert found[-1] == names[-1]
        assert set(found) == set(names)
    else:
        assert found == names


def test_the_list_says_what_can_be_compared(client: TestClient) -> None:
    assert "Choose two runs or more, or one run with several models." in client.get("/").text


def test_a_filter_that_is_not_valid_is_told(client: TestClient) -> None:
    text = client.get("/?since=soon").text
    assert 'id="fault"' in text
    assert "soon" in text
    assert list_names(client, since="soon") == ["second", "first"]


def test_a_column_is_sorted_the_other_way_round_at_the_second_click() -> None:
    assert "order=started" in RunQuery(order="-started").order_by("started")
    assert "order=-started" in RunQuery(order="started").order_by("started")
    assert "order=-score" in RunQuery(metric="tiam").order_by("score")
    assert "metric=tiam" in RunQuery(metric="tiam").order_by("score")


def test_an_unchanged_list_is_not_sent_again(client: TestClient, runs: Path) -> None:
    first = client.get("/")
    assert first.status_code == 200
    again = client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    change_manifest(runs / "first", failed="too many", status="failed")
    assert client.get("/", headers={"if-none-match": first.headers["etag"]}).status_code == 200


def test_the_working_folder_is_shown_by_its_name(
    client: TestClient, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, name in ((runs, "runs"), (runs.parent, "runs"), (runs / "first", str(runs))):
        monkeypatch.chdir(place)
        assert f'<span class="soft">{name}</span>' in client.get("/").text


def test_an_empty_folder_and_one_that_does_not_exist_yet(client: TestClient, runs: Path) -> None:
    shutil.rmtree(runs)
    assert "No runs yet" in client.get("/").text
    runs.mkdir()
    assert "No runs yet" in client.get("/").text


def test_names_of_folders_are_never_parts_of_addresses_unless_plain() -> None:
    assert make_id(Path("/runs/tiam-mini-5bb8ba14")) == "tiam-mini-5bb8ba14"
    for name in ("a b", "..", "-x", "a/../b\n", "<b>", "\udcff", "é", "~x"):
        assert re.fullmatch("~[0-9a-f]{16}", make_id(Path("/runs", "x").with_name(Path(name).name or "..")))


def write_many(folder: Path, original: Path, count: int) -> None:
    """Write runs as large as real ones: their run.json lists every installed distribution."""
    text = (original / "run.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    for number in range(count):
        run = folder / f"run-{number:04d}"
        run.mkdir(parents=True)
        day = f"2026-{1 + number // 100:02d}-{1 + number % 28:02d}T10:00:00+00:00"
        (run / "run.json").write_text(json.dumps({**manifest, "started": day, "finished": day}), encoding="utf-8")


@pytest.mark.long
def test_a_thousand_runs_are_listed_in_a_second(client: TestClient, runs: Path, original: Path) -> None:
    write_many(runs, original, 1000)
    assert len((original / "run.json").read_bytes()) > 10_000
    started = time.process_time()
    first = client.get("/")
    assert time.process_time() - started < 4.0  # machines differ by a factor of four
    assert "1002 of 1002 runs" in first.text
    started = time.process_time()
    client.get("/?text=run-00")
    assert time.process_time() - started < 1.0
    assert len(answer(runs, RunQuery(text="run-00")).rows) == 100
