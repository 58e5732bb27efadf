"""`t2i runs` and `t2i cache`: what is there, and taking it away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from t2i_core.api.errors import BadFolder
from t2i_core.storage.cache import shrink_cache
from t2i_core.storage.run_removal import DiskUse, measure_disk_use
from typer.testing import CliRunner

needs_links = pytest.mark.skipif(os.name == "nt", reason="only administrators can make links on Windows")
EVAL = ("eval", "--metric", "brightness", "--model", "grey", "--prompts", "four", "--seeds", "2")


@pytest.fixture
def run(toy, t2i, tmp_path):
    done = t2i(*EVAL, "--out", "run")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "run"


def test_runs_are_listed_with_the_disk_they_use(run, t2i, tmp_path):
    (listed,) = json.loads(t2i("runs", ".", "--json").stdout)
    assert listed["bytes"] == sum(f.stat().st_size for f in run.rglob("*") if f.is_file())
    assert 0 < listed["bytes_alone"] < listed["bytes"]  # the images are the cache's too
    assert "disk" in t2i("runs", "list", tmp_path).stdout.splitlines()[0]
    assert "brightness  grey" in t2i("runs", ".").stdout


@pytest.mark.long
@pytest.mark.parametrize("where", [(), ("t2i-runs",), ("../below",)])
def test_listed_runs_can_be_shown_from_the_same_folder(toy, report, t2i, tmp_path, monkeypatch, where):
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert t2i(*EVAL, *(("--out", "mine") if where == ("../below",) else ())).exit_code == 0
    name = t2i("runs", *where).stdout.splitlines()[1].split()[0]
    assert name == f"{(*where, 't2i-runs')[0]}/{name.rpartition('/')[2]}"
    for words in (("runs", "show"), ("analyze",), ("runs", "remove", "-y")):
        done = t2i(*words, name)
        assert done.exit_code == 0, done.stderr
        assert name in done.stdout
        assert str(tmp_path) not in done.stdout.partition("command:")[0]


@pytest.mark.long
def test_runs_are_selected_and_found_by_their_names(toy, report, t2i, tmp_path):
    assert t2i(*EVAL, "--out", "t2i-runs/one").exit_code == 0
    assert t2i(*EVAL, "--seeds", "3", "--out", "t2i-runs/two").exit_code == 0

    def select(*words):
        listed = json.loads(t2i("runs", *words, "--json").stdout)
        return [Path(run["run"]).name for run in listed if run["scores"]]

    assert select("--metric", "brightness", "--model", "grey", "--since", "1d") == ["one", "two"]
    assert select("--best") == ["one", "two"]  # measured with other seeds
    assert select("--since", "2999-01-01") == select("--model", "white") == []
    assert (
        t2i("runs", "--model", "white").stdout
        == "none of the 2 runs in t2i-runs matches; no run has the model 'white'\n"
    )
    assert t2i("runs", "--since", "soon").exit_code == 6
    for words in (
        ("runs", "show", "two"),
        ("analyze", "two"),
        ("compare", "one", "two"),
        ("runs", "remove", "-y", "two"),
    ):
        done = t2i(*words)
        assert done.exit_code == 0, done.stderr
    assert select() == ["one"]


def test_best_scores_of_several_protocols_say_what_differs(run, t2i, tmp_path):
    (tmp_path / "more").mkdir()
    for name, signature in (("a", "judge:x|seeds:0-1"), ("b", "judge:x|seeds:0-2"), ("c", "judge:x|seeds:0-1")):
        shutil.copytree(run, tmp_path / "more" / name)
        manifest = json.loads((run / "run.json").read_text())
        results = [{**result, "signature": signature} for result in manifest["results"]]
        (tmp_path / "more" / name / "run.json").write_text(json.dumps({**manifest, "results": results}))
    told = t2i("runs", "more", "--best").stdout.splitlines()
    assert told[-2].startswith("brightness: the best of each of 2 protocols")
    assert told[-2].endswith(str(Path("more", "a")))
    assert told[-1] == f"  {Path('more', 'b')}: seeds 0-2, not 0-1"
    assert "protocols" not in t2i("runs", "more").stdout
    shutil.rmtree(tmp_path / "more" / "b")
    assert "protocols" not in t2i("runs", "more", "--best").stdout


def test_a_mistyped_metric_or_model_is_answered_with_those_near_it(run, t2i):
    assert "the metric 'brightnes': did you mean 'brightness'?" in t2i("runs", ".", "--metric", "brightnes").stdout
    assert "the model 'gray': did you mean 'grey'?" in t2i("runs", ".", "--model", "gray", "--best").stdout
    told = t2i("runs", ".", "--metric", "brightness", "--since", "2999-01-01").stdout
    assert told == "none of the 1 runs in . matches\n"


@pytest.mark.parametrize(("group", "first"), [("runs", "list"), ("cache", "show")])
def test_help_says_where_the_options_of_the_default_command_are(t2i, group, first):
    assert f"t2i {group} {first} --help" in " ".join(t2i(group, "--help").stdout.split())


@pytest.mark.parametrize("words", [(), ("runs",), ("runs", "list"), ("list-plugins",)])
def test_help_shows_no_type_for_flags(t2i, words):
    shown = t2i(*words, "--help")
    assert shown.exit_code == 0
    assert "bool" not in shown.stdout.casefold()


@pytest.mark.long
@pytest.mark.parametrize("words", [("runs",), ("runs", "show"), ("runs", "remove"), ("analyze",)])
def test_a_folder_that_is_not_there_is_told_as_such(site, report, t2i, words):
    refused = t2i(*words, "gone")
    assert refused.exit_code == 11
    assert "error: gone: no such folder" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_run_is_shown(run, t2i):
    shown = t2i("runs", "show", "run").stdout
    assert "status:    done" in shown
    assert "model:     grey: grey (toy 0.7)" in shown
    assert "judge:     brightness reward: meter" in shown
    assert "95 % interval" in shown
    plain = json.loads(t2i("runs", "show", "run", "--json").stdout)
    assert plain["request"]["metrics"] == ["brightness"]
    assert f"signature: {plain['results'][0]['signature']}" in shown.replace("\n", "")
    assert t2i("runs", "show", ".").exit_code == 11


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of POSIX")
def test_a_run_is_removed_when_that_is_confirmed(run, t2i, t2i_process):
    ours, theirs = os.openpty()
    os.write(ours, b"n\n")
    asked = t2i_process("runs", "remove", "run", stdin=theirs)
    assert asked.returncode == 1
    assert "remove run (" in asked.stderr
    assert (run / "run.json").exists()
    os.write(ours, b"y\n")
    assert t2i_process("runs", "remove", "run", stdin=theirs).returncode == 0
    assert not run.exists()
    os.close(ours)
    os.close(theirs)
    again = t2i(*EVAL, "--out", "run", "--json")
    assert "images: 0 to make, 8 kept already" in again.stderr  # the cache has kept them


@pytest.mark.parametrize("words", [("runs", "remove", "run"), ("cache", "clean", "--limit", "0")])
def test_nothing_is_removed_where_nobody_can_be_asked(run, words):
    from t2i_cli.app import app

    refused = CliRunner().invoke(app, words, input="y\n")
    assert refused.exit_code == 2
    assert "needs a terminal; give --yes" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert len(list(run.rglob("*.png"))) == 8
    assert len(list((run.parent / "cache").rglob("*.png"))) == 5


def test_other_files_stay_when_a_run_is_removed(run, t2i, tmp_path):
    (run / "notes.txt").write_text("mine")
    (run / "another").mkdir()
    (listed,) = json.loads(t2i("runs", ".", "--json").stdout)
    own = (f for f in run.rglob("*") if f.is_file() and f.name != "notes.txt")
    assert listed["bytes"] == sum(f.stat().st_size for f in own)
    done = t2i("runs", "remove", "run", "--yes")
    assert "other files stay (another, notes.txt)" in done.stdout
    assert sorted(p.name for p in run.iterdir()) == ["another", "notes.txt"]
    refused = t2i("runs", "remove", tmp_path, "--yes")
    assert refused.exit_code == 11
    assert "holds no run" in refused.stderr


@pytest.mark.long
@pytest.mark.parametrize("lock", [".lock", ".lock-1-of-2"])
def test_a_run_that_is_being_written_is_not_removed(run, t2i, lock):
    held = [sys.executable, "-c", HOLD, str(run / lock)]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        refused = t2i("runs", "remove", "run", "-y")
        child.stdin.close()
    assert refused.exit_code == 11
    assert "process works on this run" in refused.stderr
    assert (run / "run.json").exists()
    assert len(list(run.rglob("*.png"))) == 8


HOLD = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_an_unreadable_run_can_be_removed(run, t2i):
    (run / "run.json").write_text("{")
    assert t2i("runs", "remove", "run", "--yes").exit_code == 0
    assert not run.exists()


@pytest.mark.long
def test_the_cache_is_shown_and_cleaned(run, report, t2i, tmp_path):
    shown = json.loads(t2i("cache", "--json").stdout)
    assert (shown["cache"]["images"], shown["cache"]["observations"], shown["limit"]) == (5, 8, None)
    files = (f for f in (tmp_path / "cache").rglob("*") if f.is_file())
    assert shown["cache"]["bytes"] == pytest.approx(sum(f.stat().st_size for f in files), rel=0.1)
    assert "limit:         none" in t2i("cache").stdout
    assert t2i("cache", "clean").exit_code == 2
    assert t2i("cache", "clean", "--limit", "much").exit_code == 6
    done = t2i("cache", "clean", "--limit", "0", "--yes", "--json")
    assert json.loads(done.stdout)["images"] == 5
    assert not list((tmp_path / "cache").rglob("*.png"))
    assert len(list(run.rglob("*.png"))) == 8
    assert "nothing to remove" in t2i("cache", "clean", "--limit", "1GB").stdout
    assert t2i("analyze", "run").exit_code == 0


def test_a_cache_that_cannot_be_read_is_told_as_such(run, t2i, monkeypatch):
    def fails(*_):
        raise OSError("the disk is broken")

    monkeypatch.setattr("t2i_core.storage.cache.list_users", fails)
    refused = t2i("cache")
    assert refused.exit_code == 11
    assert "cannot be read (the disk is broken)" in refused.stderr
    with pytest.raises(BadFolder, match="cannot be cleaned"):
        shrink_cache(0)
    monkeypatch.setenv("T2I_CACHE_DIR", "x" * 300)  # no system looks for such a name
    refused = t2i("cache")
    assert refused.exit_code == 11
    assert "xxx: cannot be read (File name too long)" in refused.stderr


def test_a_run_that_cannot_be_seen_takes_no_space_that_is_known():
    assert measure_disk_use(Path("x" * 300)) == DiskUse(0, 0)  # no system looks for such a name


def test_a_cache_in_use_is_not_cleaned(run, t2i, tmp_path):
    use = [sys.executable, "-c", USE, str(tmp_path / "cache")]
    with subprocess.Popen(use, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        refused = t2i("cache", "clean", "--limit", "0", "-y")
        assert "in use:        by 1" in t2i("cache").stdout
        child.kill()
    assert refused.exit_code == 11
    assert "in use by a run" in refused.stderr
    # one that was killed is in nobody's way
    assert t2i("cache", "clean", "--limit", "0", "-y").exit_code == 0
    assert list((tmp_path / "cache" / "in-use").iterdir()) == []


USE = """
import sys
from pathlib import Path
from t2i_core.storage.store import Store
with Store(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_limit_is_kept_after_each_run(toy, t2i, tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_LIMIT", "0")
    done = t2i(*EVAL, "--out", "run")
    assert done.exit_code == 0
    assert "cache: 5 images and 8 observations removed, the oldest" in done.stderr
    assert len(list((tmp_path / "run").rglob("*.png"))) == 8
    monkeypatch.setenv("T2I_CACHE_LIMIT", "10 bananas")
    refused = t2i(*EVAL)
    assert refused.exit_code == 6
    assert "T2I_CACHE_LIMIT must be a size such as 20GB or 500MB (got '10 bananas')" in refused.stderr


@pytest.fixture
def victim(tmp_path):
    folder = tmp_path / "victim"
    (folder / "images").mkdir(parents=True)
    for name in ("photo.png", "thesis.txt", "images/photo.png"):
        (folder / name).write_text("a user's file")
    return folder


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
@needs_links
@pytest.mark.parametrize("place", ["images/link", "images/ab", "link"])
def test_cleaning_the_cache_leaves_what_a_link_leads_to(run, t2i, tmp_path, victim, place):
    before = contents(victim)
    (tmp_path / "cache" / place).symlink_to(victim)
    done = t2i("cache", "clean", "--limit", "100GB", "--yes")
    assert (done.exit_code, done.stdout) == (0, "nothing to remove\n")
    done = t2i("cache", "clean", "--limit", "0", "--yes", "--json")
    assert json.loads(done.stdout)["images"] == 5
    assert contents(victim) == before
    assert (tmp_path / "cache" / place).is_symlink()


@needs_links
def test_a_limit_that_a_run_keeps_leaves_what_a_link_leads_to(run, t2i, tmp_path, victim, monkeypatch):
    before = contents(victim)
    (tmp_path / "cache" / "images" / "link").symlink_to(victim)
    (tmp_path / "cache" / "images" / "ab").mkdir(exist_ok=True)
    (tmp_path / "cache" / "images" / "ab" / "mine.txt").write_text("a user's file")
    monkeypatch.setenv("T2I_CACHE_LIMIT", "0")
    assert t2i(*EVAL, "--out", "run").exit_code == 0
    assert contents(victim) == before
    assert (tmp_path / "cache" / "images" / "ab" / "mine.txt").exists()


@needs_links
def test_a_cache_folder_that_is_a_link_is_cleaned(run, t2i, tmp_path):
    (tmp_path / "cache").rename(tmp_path / "large-disk")
    (tmp_path / "cache").symlink_to(tmp_path / "large-disk")
    done = t2i("cache", "clean", "--limit", "0", "--yes", "--json")
    assert json.loads(done.stdout)["images"] == 5
    assert not list((tmp_path / "large-disk").rglob("*.png"))
    assert t2i(*EVAL, "--out", "run").exit_code == 0


def test_files_that_killed_processes_left_are_reported(run, t2i, tmp_path):
    image = next((tmp_path / "cache" / "images").rglob("*.png"))
    image.with_name(f".{image.name}.4711.part").write_bytes(b"half")
    assert "1 files that killed processes left" in t2i("cache", "clean", "--limit", "1GB").stdout
    assert "nothing to remove" in t2i("cache", "clean", "--limit", "1GB").stdout


@needs_links
def test_a_link_to_a_run_is_not_removed(run, t2i, tmp_path):
    before = contents(run)
    (tmp_path / "link").symlink_to(run)
    for words in (("link",), ("run", "link")):
        refused = t2i("runs", "remove", *words, "--yes")
        assert refused.exit_code == 11
        assert f"link: is a link to {run}" in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert contents(run) == before
    assert t2i("runs", "show", "link").exit_code == 0


@pytest.mark.long
@needs_links
@pytest.mark.parametrize("place", ["images", "images/link", "annotations", "link"])
def test_removing_a_run_leaves_what_a_link_leads_to(run, t2i, victim, place):
    before = contents(victim)
    if (run / place).exists():
        (run / place).rename(run.parent / "moved")
    (run / place).symlink_to(victim)
    done = t2i("runs", "remove", "run", "--yes")
    assert done.exit_code == 0
    assert f"other files stay ({place.partition('/')[0]})" in done.stdout
    assert contents(victim) == before
    assert [path.name for path in run.rglob("*")] == [*Path(place).parts]


@pytest.mark.long
@needs_links
@pytest.mark.parametrize("place", ["images", "images/grey"])
def test_a_run_writes_through_no_link(run, t2i, victim, place):
    """A folder of a run that is a link would have files written, replaced and removed elsewhere."""
    before = contents(victim)
    if (run / place).exists():
        (run / place).rename(run.parent / "moved")
    (run / place).symlink_to(victim)
    (victim / "grey").mkdir()
    refused = t2i(*EVAL, "--out", "run")
    assert refused.exit_code == 11
    assert "is a link" in refused.stderr
    assert refused.stderr.splitlines()[-1].startswith("error: ")
    assert contents(victim) == before
    assert list((victim / "grey").iterdir()) == []


@needs_links
def test_tables_that_are_links_are_replaced_and_what_they_lead_to_stays(run, t2i, victim):
    before = contents(victim)
    for name in ("samples.csv", "measurements.csv", "failures.csv"):
        (run / name).unlink()
        (run / name).symlink_to(victim / "thesis.txt")
    assert t2i(*EVAL, "--out", "run").exit_code == 0
    assert contents(victim) == before
    assert not (run / "samples.csv").is_symlink()


@needs_links
def test_a_user_s_unfinished_downloads_in_a_run_s_folder_stay(run, t2i, victim):
    (victim / ".download.part").write_text("a user's file")
    (run / "link").symlink_to(victim)
    (run / ".download.part").write_text("a user's file")
    assert t2i(*EVAL, "--out", "run").exit_code == 0
    assert (victim / ".download.part").exists()
    assert (run / ".download.part").exists()
