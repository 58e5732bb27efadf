"""Run folders of other people: nothing outside is read, nothing runs, and the list says what is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from filelock import FileLock
from starlette.testclient import TestClient
from t2i_view.listing import make_id

from .conftest import begin_run, change_manifest, draw_picture

SCRIPT = "</td><script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"
SECRET = "nobody else is to read this"


class Tags(HTMLParser):
    """Collects the tags and the attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def check_harmless(text: str) -> None:
    found = Tags(text)
    assert found.tags.count("script") == 1  # the page's own
    assert not any(name.startswith("on") or name == "style" for name in found.attributes)


@pytest.mark.parametrize(
    "content",
    [
        b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"[" * 200_000, b'{"plan": "x", "status": "done"}',
        b'{"plan": "x", "started": NaN}',
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_one_line_of_the_list(client: TestClient, runs: Path, content: bytes) -> None:
    (runs / "first" / "run.json").write_bytes(content)
    text = client.get("/").text
    row = text.partition('<tr id="run-first">')[2].partition("</tr>")[0]
    assert "unreadable" in row
    assert re.search(r'<span class="reason">[^<]{20,}</span>', row)
    assert "second" in text
    page = client.get("/run/first")
    assert page.status_code == 200
    assert "unreadable: " in page.text
    assert client.get("/run/first/report").status_code == 404
    assert client.get("/compare?run=first&run=second").status_code == 200  # the models of the second alone


def test_scripts_in_every_text_are_shown_as_text(client: TestClient, runs: Path) -> None:
    run = runs / SCRIPT.replace("/", "_")
    shutil.copytree(runs / "first", run)
    manifest = json.loads((run / "run.json").read_text())
    text = json.dumps(manifest).replace('"dark"', json.dumps(SCRIPT)).replace('"bright"', json.dumps(SCRIPT))
    manifest = json.loads(text)
    hostile = {"started": SCRIPT, "platform": SCRIPT, "command": [SCRIPT], "failed": SCRIPT, "status": "failed"}
    (run / "run.json").write_text(json.dumps({**manifest, **hostile}))
    for path in (
        "/",
        f"/run/{make_id(run)}",
        f"/compare?run={make_id(run)}",
        f"/?text={SCRIPT}",
        f"/run/{SCRIPT}",
    ):
        check_harmless(client.get(path).text)
    assert "&lt;script&gt;" in client.get("/").text


def test_control_characters_are_written_out(client: TestClient, runs: Path) -> None:
    change_manifest(runs / "first", failed="\x1b[2J \u202e right to left", status="failed")
    text = client.get("/run/first").text
    assert "\\x1b[2J \\u202e" in text
    assert "\x1b" not in text


def test_links_out_of_the_folder_are_not_followed(client: TestClient, runs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere" / "secret-run"
    shutil.copytree(runs / "first", secret)
    change_manifest(secret, status="failed", failed=SECRET)
    (runs / "link").symlink_to(secret, target_is_directory=True)
    (runs / "inner").mkdir()
    (runs / "inner" / "run.json").symlink_to(secret / "run.json")
    (runs / "dangling").symlink_to(tmp_path / "gone")
    for path in ("/", "/run/link", "/run/inner", "/run/dangling", f"/?text={SECRET}"):
        assert SECRET not in client.get(path).text.replace(f'value="{SECRET}"', "")
    text = client.get("/").text
    assert "is a link that leads out of" in text
    assert text.count("unreadable") >= 2


def test_a_link_within_the_folder_is_followed(client: TestClient, runs: Path) -> None:
    (runs / "latest").symlink_to("second", target_is_directory=True)
    assert "unreadable" not in client.get("/?status=done").text.partition("<tbody>")[2]
    assert 'id="run-latest"' in client.get("/?status=done").text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_and_devices_do_not_block_the_list(client: TestClient, runs: Path) -> None:
    for name in ("run.json", ".progress", ".lock"):
        run = begin_run(runs, f"pipe-{name.strip('.')}")
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
    assert client.get("/").status_code == 200
    assert "a named pipe" in client.get("/run/pipe-run.json").text
    assert client.get("/run/pipe-progress").status_code == 200


def test_huge_fields_make_no_huge_page(client: TestClient, runs: Path) -> None:
    manifest = json.loads((runs / "first" / "run.json").read_text())
    text = json.dumps(manifest).replace('"dark"', json.dumps("x" * 2_000_000))
    many = {f"{number:05d}": manifest["models"]["dark"] for number in range(3000)}
    found = json.loads(text)
    found["models"] |= many
    found["command"] = ["y" * 2_000_000]
    (runs / "first" / "run.json").write_text(json.dumps({**found, "failed": "z" * 2_000_000, "status": "failed"}))
    for path in ("/", "/run/first", "/compare?run=first"):
        assert len(client.get(path).content) < 100_000, path


@pytest.mark.long
def test_many_metrics_and_looks_make_no_huge_page(client: TestClient, runs: Path) -> None:
    manifest = json.loads((runs / "first" / "run.json").read_text())
    results = [{**each, "metric": f"m{number}"} for number in range(3000) for each in manifest["results"]]
    comparisons = [{**each, "metric": f"m{n}"} for n in range(3000) for each in manifest["comparisons"]]
    size = {"prompts": 4, "seeds": 2}
    look = {**size, "images": 16, "models": [], "left": [], "pairs": []}
    score = {"model": "dark", "score": 0.5, "ci": [0.4, 0.6], "narrow": False}
    stopping = {
        "until": "width=0.1", "margin": None, "plan": [size], "spending": None, "verdict": None,
        "looks": [{**look, "scores": [score]}] * 3000,
    }  # fmt: skip
    change_manifest(runs / "first", results=results, comparisons=comparisons, stopping=stopping)
    for path in ("/", "/run/first", "/compare?run=first"):
        assert len(client.get(path).content) < 300_000, path
    text = client.get("/compare?run=first").text
    assert "2900 further metrics are left out" in text
    assert text.count("(Holm)</td>") == 100


def test_tampered_progress_is_told(client: TestClient, under_way: Path) -> None:
    (under_way / ".progress").write_text('{"written": 1.0, "stages": "<b>"}')
    text = client.get("/run/under-way").text
    assert "Its progress is unreadable" in text
    assert "running" in text
    assert client.get("/").status_code == 200


def test_progress_outside_of_the_folder_is_not_read(client: TestClient, under_way: Path, tmp_path: Path) -> None:
    (tmp_path / "progress").write_text(json.dumps({"written": 1.0, "stages": [], "failures": {SECRET: 1}}))
    (under_way / ".progress").unlink()
    (under_way / ".progress").symlink_to(tmp_path / "progress")
    assert SECRET not in client.get("/run/under-way").text


def test_a_run_that_nobody_works_on_shows_no_picture_of_the_cache(client: TestClient, runs: Path) -> None:
    run = begin_run(runs)
    digest = draw_picture(80)
    client.get("/run/under-way")
    assert client.get(f"/run/under-way/picture/{digest}").status_code == 404
    with FileLock(run / ".lock"):
        assert client.get(f"/run/under-way/picture/{digest}").status_code == 404  # no page has shown it
        client.get("/run/under-way")
        assert client.get(f"/run/under-way/picture/{digest}").status_code == 200
        assert client.get(f"/run/first/picture/{digest}").status_code == 404
        assert client.get(f"/run/under-way/picture/{draw_picture(7)}").status_code == 404  # the run names it not


def test_a_picture_that_was_removed_or_altered_is_not_shown(
    client: TestClient, under_way: Path, tmp_path: Path
) -> None:
    client.get("/run/under-way")
    digest = draw_picture(80)
    (file,) = (tmp_path / "cache").rglob(f"{digest}.png")
    file.write_bytes(b"not the same")
    assert client.get(f"/run/under-way/picture/{digest}").status_code == 404
    file.unlink()
    assert client.get(f"/run/under-way/picture/{digest}").status_code == 404


@pytest.mark.parametrize("path", ["/run/../../etc/passwd", "/run/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/run/%00"])
def test_addresses_are_not_used_as_paths(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
