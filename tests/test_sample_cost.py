"""The benchmark of what one sample costs: that it counts every call, and holds the figures to their bars."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import t2i_core.engine.evaluation  # noqa: F401 - the functions that the benchmark names are searched in what it imports

BENCHMARKS = Path(__file__).parent / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def made_up_module() -> ModuleType:
    """Return a module whose functions compute keys, one by one or many at once."""

    def image_keys(seeds: range) -> list[str]:
        return [f"key {seed}" for seed in seeds]

    def image_key(seed: int) -> str:
        return image_keys(range(seed, seed + 1))[0]

    def noise_seeds(seeds: range) -> Any:
        yield from seeds

    class Sample:
        @cached_property
        def key(self) -> str:
            return "key"

    Sample.key.func.__qualname__ = "Sample.key"
    module = ModuleType("made_up")
    vars(module).update(image_key=image_key, image_keys=image_keys, noise_seeds=noise_seeds, Sample=Sample)
    return module


NAMES = {"image keys": ("image_key", "image_keys", "Sample.key"), "noise seeds": ("noise_seed", "noise_seeds")}


def test_each_call_of_a_loop_is_counted_once(tmp_path: Path) -> None:
    from call_counts import count_calls, find_functions

    folder = tmp_path.resolve() / "counted"
    folder.mkdir()
    (tmp_path / "elsewhere").touch()
    made_up = made_up_module()
    with (
        closing(sqlite3.connect(folder / "rows.sqlite", isolation_level=None)) as before,
        count_calls([folder], find_functions([made_up], NAMES)) as counts,
        closing(sqlite3.connect(folder / "rows.sqlite", isolation_level=None)) as database,
    ):
        before.execute("create table uncounted (key)")
        database.execute("create table counted (key)")
        for number in range(3):
            database.execute("begin")
            database.executemany("insert into counted values (?)", [(number,), (number,)])
            database.execute("commit")
            database.execute("select * from counted where key = ?", (number,)).fetchall()
            hashlib.sha256(json.dumps(number).encode())
            made_up.image_key(number)
            (folder / f"{number}").write_text("text")
            (folder / f"{number}").read_text()
            os.stat(folder / f"{number}")  # noqa: PTH116 - either way must be counted
            (folder / f"{number}").exists()
            (tmp_path / "elsewhere").stat()
            (tmp_path / "elsewhere").read_bytes()
            (folder / f"{number}").rename(folder / f"{number}.txt")
    database_calls = {"database reads": 3, "database writes": 6, "transaction statements": 6}
    file_calls = {
        "files opened to write": 3,
        "files opened to read": 3,
        "file stats": 6,
        "names made or removed": 3,
    }
    computed = {"JSON texts": 3, "digests": 3, "image keys": 3}
    assert counts.total() == {**database_calls, "other database statements": 1, **file_calls, **computed}


def test_functions_are_counted_by_their_results(tmp_path: Path) -> None:
    from call_counts import count_calls, find_functions

    made_up = made_up_module()
    with count_calls([tmp_path], find_functions([made_up], NAMES)) as counts:
        made_up.image_keys(range(5))
        list(made_up.noise_seeds(range(4)))
        sample = made_up.Sample()
        assert sample.key == sample.key  # computed once
    assert counts.total() == {"image keys": 5 + 1, "noise seeds": 4}


def test_calls_of_other_threads_are_counted(tmp_path: Path) -> None:
    from call_counts import count_calls, find_functions

    made_up = made_up_module()
    with count_calls([tmp_path.resolve()], find_functions([made_up], NAMES)) as counts:
        threads = [threading.Thread(target=made_up.image_key, args=(n,)) for n in range(4)]
        threads.append(threading.Thread(target=(tmp_path.resolve() / "file").touch))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts.total()["image keys"] == 4
    assert counts.total()["files opened to write"] == 1


def test_counting_ends_with_its_block(tmp_path: Path) -> None:
    from call_counts import count_calls

    before = os.stat, os.lstat, sqlite3.connect, sys.getprofile(), set(os.supports_dir_fd)
    with count_calls([tmp_path.resolve()], {}) as counts:
        assert os.stat in os.supports_dir_fd
    (tmp_path / "file").touch()
    json.dumps(1)
    assert (os.stat, os.lstat, sqlite3.connect, sys.getprofile(), set(os.supports_dir_fd)) == before
    assert not counts.total()


def test_a_database_that_cannot_be_counted_is_an_error(tmp_path: Path) -> None:
    from call_counts import count_calls

    with pytest.raises(RuntimeError), count_calls([tmp_path], {}):
        sqlite3.Connection(tmp_path / "rows.sqlite").close()


def test_a_kind_without_a_function_is_an_error() -> None:
    from call_counts import find_functions

    with pytest.raises(LookupError, match="observation keys"):
        find_functions([made_up_module()], {**NAMES, "observation keys": ("observation_key",)})


def test_core_has_the_functions_that_the_benchmark_counts() -> None:
    from call_counts import find_functions
    from sample_cost import FUNCTIONS, core_modules

    assert set(find_functions(core_modules(), FUNCTIONS).values()) == set(FUNCTIONS)


def test_functions_that_compute_too_few_keys_are_an_error() -> None:
    from sample_cost import FUNCTIONS, check_functions

    check_functions(dict.fromkeys(FUNCTIONS, 1.0))
    with pytest.raises(RuntimeError, match="image keys"):
        check_functions({**dict.fromkeys(FUNCTIONS, 1.0), "image keys": 0.5})


def figures(cpu: float, reads: float = 4.0, bare: float = 1.0) -> dict[str, dict[str, float]]:
    counts = {"image keys": 1.0, "observation keys": 1.0, "noise seeds": 1.0, "database reads": reads}
    counts |= {"file stats": 2.0, "CPU ms": cpu}
    return {
        "first run": {**counts, "CPU ms beyond the bare loop": cpu, "CPU ms of the bare loop": bare},
        "again": counts,
    }


def test_bars_are_held_by_figures_at_them_and_missed_by_figures_above() -> None:
    from sample_cost import missed_bars

    assert missed_bars(figures(2.0), figures(4.0)) == []
    assert len(missed_bars(figures(2.0, reads=4.5), figures(4.0))) == 2  # in each run
    assert len(missed_bars(figures(2.1), figures(4.0))) == 2  # first run and again


def test_no_bar_is_held_where_the_same_code_took_another_time() -> None:
    from sample_cost import missed_bars

    assert len(missed_bars(figures(1.0, bare=0.65), figures(4.0))) == 1
    assert missed_bars(figures(1.0, bare=0.95), figures(4.0)) == []


def test_times_are_differences_of_the_shortest_runs() -> None:
    from sample_cost import time_figures

    few = [{"first run": 1.5, "again": 0.5, "bare loop": 0.2}, {"first run": 1.0, "again": 9.0, "bare loop": 0.1}]
    many = [{"first run": 3.0, "again": 0.7, "bare loop": 9.0}, {"first run": 9.0, "again": 0.9, "bare loop": 0.6}]
    found = time_figures(few, many, samples=100)
    assert found["first run"] == pytest.approx(
        {"CPU ms": 20.0, "CPU ms of the bare loop": 5.0, "CPU ms beyond the bare loop": 15.0}
    )
    assert found["again"] == pytest.approx({"CPU ms": 2.0})


def test_a_tree_that_cannot_be_measured_ends_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sample_cost

    (tmp_path / "broken.py").write_text("raise SystemExit('the tree is broken')")
    monkeypatch.setattr(sample_cost, "__file__", str(tmp_path / "broken.py"))
    with pytest.raises(SystemExit), sample_cost.Tree("old", sys.executable) as tree:
        tree.ask("time", 100)


def test_the_bare_loop_keeps_every_sample(tmp_path: Path) -> None:
    from bare_loop import run_bare_loop

    run_bare_loop(100, tmp_path)
    assert len(list((tmp_path / "images").iterdir())) == 100
    assert len((tmp_path / "samples.csv").read_text().splitlines()) == 100
    values = [line.rpartition(",")[2] for line in (tmp_path / "measurements.csv").read_text().splitlines()]
    assert values == ["0.5"] * 100


def run_sample_cost(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "sample_cost.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("args", [("--samples", "150"), ("--rounds", "0"), ("--bars",)])
def test_bad_options_are_refused(args: tuple[str, ...]) -> None:
    done = run_sample_cost(*args)
    assert done.returncode == 2
    assert args[0] in done.stderr


def test_an_unknown_commit_is_refused() -> None:
    done = run_sample_cost("--compare", "no-such-commit")
    assert done.returncode == 1
    assert "no-such-commit" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_the_benchmark_measures_both_runs_whose_counts_hold_their_bars() -> None:
    from sample_cost import list_missed_counts

    done = run_sample_cost("--samples", "100", "--rounds", "1", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["trees"].values()
    first, again = found["first run"], found["again"]
    assert list_missed_counts(found) == []
    # the image's row and the observation's, at least
    assert first["database writes"] >= 2
    assert first["files opened to write"] >= 1
    assert again["database writes"] == again["files opened to write"] == 0
    # the difference of two times, which other work on the machine may make negative in a single round
    assert math.isfinite(first["CPU ms"])
    assert math.isfinite(again["CPU ms"])
