"""Runs of other people: nothing outside is read, nothing runs, and altered results are told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hostile_runs import name_image, rewrite_table, write_manifest

from plugins.leaderboard.tests.conftest import SCRIPT, Write, paint_run

pytestmark = pytest.mark.long  # each test writes a site


@pytest.fixture
def run(eight: list[Path], tmp_path: Path) -> Path:
    """A copy of a run, to be altered."""
    shutil.copytree(eight[3], tmp_path / "theirs")
    return tmp_path / "theirs"


def change_manifest(run: Path, **fields: Any) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    write_manifest(run, {**content, **fields})


def change_result(run: Path, **fields: Any) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    content["results"][0] |= fields
    write_manifest(run, content)


def test_a_score_that_its_rows_do_not_give_is_left_out(run: Path, eight: list[Path], write: Write) -> None:
    change_result(run, score=0.99)
    site = write(eight[0], run)
    (left_out,) = site.data["left_out"]
    assert (left_out["run"], left_out["metric"], left_out["model"]) == ("theirs", "bright", "model 3")
    assert left_out["reason"].startswith("the run records the score 0.99, but its measured values give ")


def test_verification_tells_run_sample_and_both_values(run: Path, eight: list[Path], write: Write) -> None:
    own = write(run, "--verify", "100")
    assert own.code == 0, own.said
    (row,) = own.board("dark")["rows"]
    assert row["verification"] == "24 images judged anew: no difference"

    def raise_all(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        value, metric = header.index("value"), header.index("metric")
        for row in others:
            row[value] = "1.0" if row[metric] == "bright" else row[value]
        return [header, *others]

    rewrite_table(run, "measurements.csv", raise_all)
    change_result(run, score=1.0)
    assert write(run).code == 0  # the rows give the score
    told = write(run, "--verify", "100", out="refused")
    assert told.code == 11
    assert "theirs: model 3, prompt 'p" in told.said
    assert "bright bright: 1 in the run, 0 when judged anew" in told.said
    assert not told.folder.exists()


def test_an_altered_image_is_told(run: Path, write: Write) -> None:
    image = sorted((run / "images").rglob("*.png"))[0]
    image.unlink()  # the cache has links to the same file
    shutil.copy(sorted((run / "images").rglob("*.png"))[-1], image)
    told = write(run, "--verify", "100")
    assert told.code == 11
    assert f"{image.name}: the file has changed since it was stored" in told.said


@pytest.mark.parametrize("way", ["path", "link"])
def test_no_image_outside_of_a_run_is_read(run: Path, write: Write, tmp_path: Path, way: str) -> None:
    secret = tmp_path / "secret.png"
    shutil.copy(next((run / "images").rglob("*.png")), secret)
    if way == "path":
        name_image(run, str(secret), "0" * 64)
    else:
        first = sorted((run / "images").rglob("*.png"))[0]
        first.unlink()
        first.symlink_to(secret)
    before = secret.stat().st_atime_ns
    told = write(run, "--verify", "100")
    assert "outside of the run's folder" in told.said or "leads out of the folder" in told.said
    assert secret.stat().st_atime_ns == before


@pytest.mark.parametrize("name", ["run.json", "measurements.csv"])
def test_a_table_or_manifest_that_is_a_link_is_left_out(
    run: Path, eight: list[Path], write: Write, name: str
) -> None:
    (run / name).unlink()
    (run / name).symlink_to(eight[3] / name)
    site = write(eight[0], run)
    assert site.names("bright") == ["model 0"]
    assert "leads out of the folder" in site.said


def test_a_judge_of_a_local_folder_is_not_loaded(run: Path, write: Write) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for result in content["results"]:
        for judge in result["judges"]:
            judge["name"] = f"{judge['name']}:{run}"
    write_manifest(run, content)
    told = write(run, "--verify", "2")
    assert "is a local file or folder" in told.said
    assert told.board("dark")["rows"][0]["verification"].startswith("not verified: ")


def test_texts_of_runs_stay_texts_of_bounded_size(tmp_path: Path, write: Write, eight: list[Path]) -> None:
    run = paint_run(tmp_path / "theirs", f"{SCRIPT}{{{{ 7 * 7 }}}}", 130)
    content = (run / "run.json").read_text(encoding="utf-8")
    huge = json.loads(content)
    huge["results"][0]["notes"] = ["x" * 1_000_000, SCRIPT]
    huge["results"][0]["signature"] += f"|{SCRIPT}:{SCRIPT}"
    write_manifest(run, huge)
    site = write(run, eight[0])
    assert site.code == 0, site.said
    for page in site.folder.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert text.count("<script>") == 1
        assert "<img" not in text
        assert ">49" not in text
        assert len(text) < 100_000
        assert page.parent == site.folder
    table = (site.folder / "leaderboard.csv").read_text(encoding="utf-8")
    assert "model 0" in table


@pytest.mark.parametrize("label", ["../../out", "=HYPERLINK(1)", "a\x1b[2Jb", "CON", ""])
def test_names_of_models_lead_to_no_other_folder(tmp_path: Path, write: Write, label: str, run: Path) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8").replace('"model 3"', json.dumps(label)))
    write_manifest(run, content)
    rewrite_table(
        run, "measurements.csv", lambda rows: [[label if c == "model 3" else c for c in r] for r in rows]
    )
    rewrite_table(run, "samples.csv", lambda rows: [[label if c == "model 3" else c for c in r] for r in rows])
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    site = write(run)
    new = {path for path in tmp_path.rglob("*") if "cache" not in path.parts} - before - {site.folder}
    assert {path.parent for path in new} <= {site.folder}
    assert "\x1b" not in site.said
    if site.code == 0:
        assert "\n=HYPERLINK" not in (site.folder / "leaderboard.csv").read_text(encoding="utf-8")
