"""Nothing on the site tells in which folders of a machine runs and files lie."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile_runs import write_manifest
from t2i_core.results.run import load_run
from t2i_leaderboard.public_text import make_publisher, publish_data

from plugins.leaderboard.tests.conftest import Write, paint_run


@pytest.mark.parametrize(
    ("text", "public"),
    [
        (
            "/tmp/x/run-1/measurements.csv: is not as the run wrote it",
            "measurements.csv: is not as the run wrote it",
        ),
        ("diffusers:/home/ann/my models/sd", "diffusers:sd"),
        ("a + concepts:/home/ann/words.csv + b", "a + concepts:words.csv + b"),
        ("['/home/ann/a.csv', '~/b.csv', '~bob/c/d.csv']", "['a.csv', 'b.csv', 'd.csv']"),
        (r"C:\Users\ann\run\run.json: no", "run.json: no"),
        (r"\\server\share\run", "run"),
        ("file:///home/ann/a.csv", "a.csv"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("stabilityai/sd-turbo, and/or 1/2, a / b", "stabilityai/sd-turbo, and/or 1/2, a / b"),
        ("</script><b>x</b>", "</script><b>x</b>"),
        ("../../out", "../../out"),
    ],
)
def test_absolute_paths_lose_their_folders(text: str, public: str) -> None:
    assert make_publisher([])(text) == public
    assert publish_data({"a": [text, 1, None]}, make_publisher([])) == {"a": [public, 1, None]}


@pytest.mark.long
def test_a_site_has_no_folder_of_a_machine(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "secret place"
    whole = paint_run(Path("t2i-runs/whole"), "a", 100, ["dark"])
    other = paint_run(secret / "other", "b", 140, ["dark"])
    altered = paint_run(secret / "altered", "c", 120, ["dark"])
    with (altered / "measurements.csv").open("a") as file:
        file.write("x\n")
    lost = paint_run(secret / "lost", "d", 130, ["dark"])
    content = load_run(lost).manifest.to_json()
    del content["files"]["prompts.jsonl"]
    write_manifest(lost, content)
    (secret / "none").mkdir()
    noted = json.loads((whole / "run.json").read_text(encoding="utf-8"))
    noted["results"][0]["notes"] = [f"enlarged: {secret}/small has 1", "enlarged: t2i-runs/small has 1"]
    noted["results"][0]["settings"]["level"] = f"{secret}/weights"
    write_manifest(whole, noted)
    site = write("t2i-runs/whole", other, altered, lost, secret / "none", secret / "gone", "--verify", "1")
    assert site.code in (0, 11), site.said
    if site.code == 11:
        site = write("t2i-runs/whole", other, altered, lost, secret / "none", secret / "gone")
    reasons = {each["run"]: each["reason"] for each in site.data["left_out"]}
    assert reasons["altered"].startswith("measurements.csv: is not as the run wrote it")
    assert reasons["none"].startswith("holds no run")
    assert "left out: gone: no such folder" in site.said
    marks = {row["run"]: row["marks"] for row in site.board("dark")["rows"]}
    assert marks["lost"][0].startswith("prompts are not checked: lost/prompts.jsonl: is missing")
    pages = list(site.folder.iterdir())
    assert any("enlarged: small has 1" in page.read_text(encoding="utf-8") for page in pages)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert str(tmp_path) not in text, page.name
        assert "secret" not in text, page.name
        assert "t2i-runs/" not in text, page.name
