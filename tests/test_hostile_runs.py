"""Run folders of other people: what is read of them, what never is, and that each refusal is one clear line."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_runs import copy_run, manifest_of, name_image, rewrite_table, write_manifest, write_table
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from PIL import Image
from t2i_cli.app import app
from t2i_core import ModelRequest, evaluate
from t2i_core.api.errors import BadFolder, T2IError
from t2i_core.api.image import RefusedImage
from t2i_core.files.image_file import DamagedImage
from t2i_core.results.run import load_run
from t2i_registry import Registry
from t2i_report.commands.compare import compare_app
from t2i_report.commands.report import report_app
from typer.testing import CliRunner

pytestmark = pytest.mark.long  # most tests start several commands

EVAL = (
    *("eval", "--metric", "tiam", "--model", "simulator", "--prompts", "tiam-5-1", "--judge", "oracle"),
    *("--limit", "2", "--seeds", "2", "--out"),
)
BAD_FOLDER = 11


def t2i(folder: Path, *args: str | Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "T2I_CACHE_DIR": str(folder / "cache"), "COLUMNS": "200"}
    words = [sys.executable, "-m", "t2i_cli", *map(str, args)]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run that no test changes."""
    folder = tmp_path_factory.mktemp("original")
    done = t2i(folder, *EVAL, "run", timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def of_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of images alone, which is reported in no time."""
    folder = tmp_path_factory.mktemp("images")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        how = {"prompts": "tiam-5-1", "limit": 2, "seeds": 2}
        evaluate((), "simulator", out=folder / "run", resolver=Registry(), **how)
    return folder / "run"


@pytest.fixture
def drawn(of_images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, on the machine of somebody whose cache knows nothing of it."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return copy_run(of_images, tmp_path / "run")


@pytest.fixture
def run(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, on the machine of somebody whose cache knows nothing of it."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return copy_run(original, tmp_path / "run")


COMMANDS = {
    "report": (report_app, ()),
    "analyze": (app, ("analyze",)),
    "show": (app, ("runs", "show")),
    "compare": (compare_app, ("OTHER",)),
}


def refused(run: Path, command: str) -> str:
    """Run a command that must fail as for a user's error, quickly; returns what it says."""
    called, words = COMMANDS[command]
    signal.alarm(60)  # the default action ends the process, which no handler of an error can hide
    try:
        done = CliRunner().invoke(called, [*(str(run) if w == "OTHER" else w for w in words), str(run)])
    finally:
        signal.alarm(0)
    fault = done.exception
    assert isinstance(fault, BadFolder) or (isinstance(fault, SystemExit) and fault.code == BAD_FOLDER), fault
    (line,) = (done.output if isinstance(fault, SystemExit) else str(fault)).splitlines()
    return line


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def link_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_out(path: Path) -> None:
    target = path.parent.parent / f"outside-{path.name}"
    target.write_text("{}")
    path.symlink_to(target)


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)  # sparse: it takes no space


def make_folder(path: Path) -> None:
    path.mkdir()


HOSTILE = (make_pipe, link_device, link_out, make_huge, make_folder)


@pytest.mark.parametrize("make", HOSTILE)
def test_a_hostile_manifest_is_one_line(run: Path, make: Any) -> None:
    (run / "run.json").unlink()
    make(run / "run.json")
    for command in COMMANDS:
        assert "run.json" in refused(run, command)


@pytest.mark.parametrize("words", [("report",), ("compare", "run"), ("analyze",), ("runs", "show")])
def test_the_commands_themselves_print_one_line(run: Path, words: tuple[str, ...]) -> None:
    (run / "run.json").unlink()
    make_pipe(run / "run.json")
    done = t2i(run.parent, *words, "run")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, line[:6], done.stdout) == (BAD_FOLDER, "error:", "")


@pytest.mark.parametrize("make", HOSTILE)
@pytest.mark.parametrize("name", ["samples.csv", "measurements.csv"])
def test_a_hostile_table_is_one_line(run: Path, make: Any, name: str) -> None:
    (run / name).unlink()
    make(run / name)
    with pytest.raises(BadFolder, match=re.escape(name)):
        (load_run(run).samples if name == "samples.csv" else load_run(run).measurements)()
    assert name in refused(run, "report")


def test_a_list_of_runs_marks_the_hostile_ones_and_is_quick(run: Path) -> None:
    for make in HOSTILE:
        bad = copy_run(run, run.parent / make.__name__)
        (bad / "run.json").unlink()
        make(bad / "run.json")
    deep = copy_run(run, run.parent / "deep")
    (deep / "run.json").write_text("[" * 100_000)
    elsewhere = copy_run(run, run.parent / "elsewhere")
    (elsewhere / "images").rename(run.parent / "moved")
    (elsewhere / "images").symlink_to("/")  # whose size nobody wants to know
    started = time.monotonic()
    done = t2i(run.parent, "runs", "list", ".", "--json")
    assert time.monotonic() - started < 30
    status = {Path(each["run"]).name: each["status"] for each in json.loads(done.stdout)}
    bad_names = {make.__name__ for make in HOSTILE} | {"deep"}
    assert status == {"run": "done", "elsewhere": "done"} | dict.fromkeys(bad_names, "unreadable")
    assert "unreadable" in t2i(run.parent, "runs", "list", ".").stdout


def test_options_that_name_a_pipe_are_not_followed(run: Path) -> None:
    """The metric cannot be asked for analyses then; its scores are shown."""
    make_pipe(run.parent / "pipe")
    manifest = manifest_of(run)
    (metric,) = [each for each in manifest["components"] if each["kind"] == "metric"]
    metric["name"], metric["options"] = "bias", {"people": str(run.parent / "pipe")}
    for result in manifest["results"]:
        result["metric"] = "bias"
    write_manifest(run, manifest)
    done = t2i(run.parent, "report", "run")
    assert done.returncode == 0
    assert "a named pipe" in done.stderr


def test_the_folder_itself_may_be_a_link(run: Path) -> None:
    (run.parent / "link").symlink_to(run)
    assert t2i(run.parent, "report", "link", "--format", "csv").returncode == 0


def test_a_lock_that_is_a_link_empties_no_file(run: Path) -> None:
    victim = run.parent / "victim.txt"
    victim.write_text("dear")
    write_manifest(run, {**manifest_of(run), "status": "running"})
    (run / ".lock").unlink(missing_ok=True)
    (run / ".lock").symlink_to(victim)
    done = t2i(run.parent, "runs", "list", ".")
    assert (done.returncode, "interrupted" in done.stdout) == (0, True)  # nobody holds such a lock
    assert victim.read_text() == "dear"


def drawing(path: Path) -> tuple[Path, str]:
    """Draw a picture that nobody else is to see; returns its digest too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (24, 24, 3), np.uint8)).save(path)
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def pictures(page: Path) -> list[str]:
    parts = re.findall(r'<script type="text/plain" id="pictures-\d+">(.*?)</script>', page.read_text(), re.DOTALL)
    return [line for part in parts for line in part.split("\n")]


def report(run: Path, *more: str | Path) -> tuple[list[str], str]:
    """Write a report; returns its pictures and what was printed."""
    page = run.parent / "report.html"
    done = CliRunner().invoke(report_app, [str(run), "--out", str(page), *map(str, more)])
    assert done.exit_code == 0, done.output
    return pictures(page), done.output


@pytest.mark.parametrize("way", ["absolute", "dots", "link", "linked folder", "device", "nul"])
def test_no_file_is_shown_because_a_run_names_it(drawn: Path, way: str) -> None:
    secret, digest = drawing(drawn.parent / "private" / "secret.png")
    name = {
        "absolute": str(secret),
        "dots": "../private/secret.png",
        "link": "images/link.png",
        "linked folder": "images/linked/secret.png",
        "device": "/dev/zero",
        "nul": "images/a\0b.png",
    }[way]
    (drawn / "images" / "link.png").symlink_to(secret)
    (drawn / "images" / "linked").symlink_to(secret.parent)
    name_image(drawn, name, digest)
    image = load_run(drawn).images().iloc[0]
    with pytest.raises(DamagedImage):
        _ = image.pixels
    shown, said = report(drawn)
    assert shown[0] == ""
    assert all(shown[1:])
    if way in ("absolute", "dots", "device"):
        with pytest.raises(RefusedImage):
            _ = image.pixels
        assert "1 image outside of the run's folder left out" in said
        assert "--images-from" in said
        assert "--images-from" in (drawn.parent / "report.html").read_text()


@pytest.mark.parametrize("name", ["{secret}", "../private/secret.png"])
def test_images_of_a_folder_that_the_user_names_are_shown(drawn: Path, name: str) -> None:
    secret, digest = drawing(drawn.parent / "private" / "secret.png")
    name_image(drawn, name.format(secret=secret), digest)
    shown, said = report(drawn, "--images-from", secret.parent)
    assert all(shown)
    assert "left out" not in said
    small = Image.open(io.BytesIO(base64.b64decode(shown[0])))
    assert small.size == (24, 24)
    shown, _ = report(drawn, "--images-from", drawn)
    assert shown[0] == ""
    # another image under its name is not the one that was measured
    drawing_of_another = Image.new("RGB", (8, 8), "red")
    drawing_of_another.save(secret)
    shown, _ = report(drawn, "--images-from", secret.parent)
    assert shown[0] == ""


def test_a_link_in_a_named_folder_does_not_lead_out_of_it(drawn: Path) -> None:
    secret, digest = drawing(drawn.parent / "private" / "secret.png")
    link = drawn.parent / "public" / "link.png"
    link.parent.mkdir()
    link.symlink_to(secret)
    name_image(drawn, str(link), digest)
    assert report(drawn, "--images-from", link.parent)[0][0] == ""


def test_images_that_were_evaluated_here_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only to whom they are known: with another cache the same run is somebody else's."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    photo, digest = drawing(tmp_path / "photos" / "a.png")
    (photo.parent / "prompts.csv").write_text("file,prompt\na.png,a car\n")
    done = t2i(tmp_path, "generate", "--model", "folder:photos", "--out", "run")
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    assert load_run(run).samples()["image"].tolist() == [str(photo)]
    assert load_run(run).images().iloc[0].pixels.shape == (24, 24, 3)
    assert report(run)[0][0] != ""
    # the run of somebody else may name a file that was evaluated here only with its own content
    name_image(run, str(photo), hashlib.sha256(b"another").hexdigest())
    assert report(run)[0][0] == ""
    name_image(run, str(photo), digest)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "another cache"))
    shown, said = report(run)
    assert (shown[0], "left out" in said) == ("", True)
    assert not (tmp_path / "another cache").exists()


def test_texts_of_others_stay_texts(run: Path) -> None:
    script = "</script><script>document.title='stolen'</script><img src=x onerror=alert(1)>"
    manifest = manifest_of(run)
    label = next(iter(manifest["models"]))
    text = json.dumps(manifest).replace(json.dumps(label), json.dumps(script))
    write_manifest(run, json.loads(text))

    def change(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        for row in others:
            for name in ("prompt", "text", "reason"):
                row[header.index(name)] += script
            row[header.index("model")] = script
        others[0][header.index("status")] = "failed"
        return [header, *others]

    rewrite_table(run, "samples.csv", change)
    name_image(run, f"/{script}.png", "0" * 64)
    report(run)
    page = (run.parent / "report.html").read_text()
    assert "<img src=x" not in page
    assert "<script>document" not in page
    assert len(re.findall("<script>", page)) == 1  # the page's own


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in plain data."""
    if at:
        yield at
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("packages", "installed"):
                yield from places(value, (*at, key))
    if isinstance(data, list):
        for number, value in enumerate(data):
            yield from places(value, (*at, number))


def change_at(data: Any, place: tuple[Any, ...], value: Any, remove: bool) -> None:
    *path, last = place
    for key in path:
        data = data[key]
    if remove:
        del data[last]
    else:
        data[last] = value


def attempt(command: Any, *words: str | Path) -> None:
    """Run a command in this process: it succeeds, or fails as for a user's error."""
    done = CliRunner().invoke(command, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, T2IError | SystemExit):
        raise done.exception
    if isinstance(done.exception, T2IError):
        assert "\n" not in str(done.exception)


def attempt_all(run: Path, folder: Path) -> None:
    """Run every command that reads runs."""
    attempt(app, "runs", "list", run)
    attempt(app, "runs", "list", run, "--json")
    attempt(app, "runs", "show", run)
    attempt(app, "runs", "show", run, "--json")
    attempt(app, "analyze", run)
    attempt(app, "analyze", run, "--json", "--out", folder / "analyses")
    attempt(report_app, run, "--out", folder / "report.html")
    for table in ("scores", "rows", "comparisons"):
        attempt(report_app, run, "--format", "csv", "--table", table)
    for how in ("latex", "markdown", "typst"):
        attempt(report_app, run, "--format", how)
    attempt(compare_app, run, run, "--out", folder / "compare.html")


def tried(examples: int) -> settings:
    # not shrunk: a failure shows the two or three changes that led to it, and each attempt takes half a second
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )


@pytest.fixture(scope="module")
def sides(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models, with comparisons."""
    folder = tmp_path_factory.mktemp("sides")
    models = [ModelRequest("simulator", label, {"drop": drop}) for label, drop in (("sure", 0.0), ("rough", 0.7))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        how = {"prompts": "tiam-5-1", "judge": "oracle", "limit": 2, "seeds": 2}
        evaluate("tiam", models, out=folder / "run", resolver=Registry(), max_failed=1, **how)
    return folder / "run"


def tamper_with_manifest(sides: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", f"{folder}/cache")
        run = copy_run(sides, Path(folder) / "run")
        manifest = manifest_of(run)
        for _ in range(data.draw(st.integers(1, 2))):
            place = data.draw(st.sampled_from(list(places(manifest))))
            change_at(manifest, place, data.draw(ANY), data.draw(st.booleans()))
        write_manifest(run, manifest)
        attempt_all(run, Path(folder))


CELLS = ("", "nan", "inf", "1e999", "-1", "0.5", "x", "9" * 30, "ok", "\0", "../x", "None")


def tamper_with_table(sides: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", f"{folder}/cache")
        run = copy_run(sides, Path(folder) / "run")
        name = data.draw(st.sampled_from(["samples.csv", "measurements.csv", "failures.csv"]))

        def change(rows: list[list[str]]) -> list[list[str]]:
            for _ in range(data.draw(st.integers(1, 3))):
                row = data.draw(st.sampled_from(rows))
                column = data.draw(st.integers(0, max(len(row) - 1, 0)))
                match data.draw(st.sampled_from(["cell", "drop cell", "drop row", "drop column", "repeat"])):
                    case "cell" if row:
                        row[column] = data.draw(st.sampled_from(CELLS))
                    case "drop cell" if row:
                        del row[column]
                    case "drop row" if len(rows) > 1:
                        rows.remove(row)
                    case "drop column":
                        rows = [each[:column] + each[column + 1 :] for each in rows]
                    case "repeat":
                        rows.append(list(row))
            return rows

        if data.draw(st.integers(0, 9)) == 0:
            write_table(run, name, data.draw(st.text(max_size=50)))
        else:
            rewrite_table(run, name, change)
        attempt_all(run, Path(folder))


@tried(5)
@given(data=st.data())
def test_any_change_of_a_manifest_is_a_users_error_at_most(sides: Path, data: st.DataObject) -> None:
    tamper_with_manifest(sides, data)


@tried(5)
@given(data=st.data())
def test_any_change_of_a_table_is_a_users_error_at_most(sides: Path, data: st.DataObject) -> None:
    tamper_with_table(sides, data)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("tamper", [tamper_with_manifest, tamper_with_table])
def test_many_changes_are_users_errors_at_most(sides: Path, tamper: Any) -> None:
    @tried(300)
    @given(data=st.data())
    def attempt_many(data: st.DataObject) -> None:
        tamper(sides, data)

    attempt_many()
