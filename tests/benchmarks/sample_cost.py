"""What one sample costs: calls and processor time of a run whose model and judge do nothing.

    python tests/benchmarks/sample_cost.py                           # a table of this working tree's figures
    python tests/benchmarks/sample_cost.py --compare COMMIT          # beside another commit's, with ratios
    python tests/benchmarks/sample_cost.py --compare COMMIT --bars   # status 1 if a bar is missed

All figures are for one sample: the difference between runs of 2N and of N samples, divided by N, so that the
fixed cost of a run cancels out. "First run" makes everything. "Again" is the same evaluation into another run
folder when all images and observations are kept. Times are differences of the shortest runs of all rounds; with
`--compare` the two trees take turns within each round. File accesses are counted in the cache and the run folder.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

FUNCTIONS = {
    "image keys": ("image_key", "image_keys"),
    "observation keys": ("observation_key", "observation_keys", "keys_of_images_alone"),
    "noise seeds": ("noise_seed", "noise_seeds"),
}
"""Possible names of the functions of t2i_core that compute these, as `name` or `Class.name`."""

RUNS, BARE = ("first run", "again"), "bare loop"
COUNT_BARS = {
    run: {**dict.fromkeys(FUNCTIONS, 1.0), "database reads": 4.0, "file stats": stats}
    for run, stats in zip(RUNS, (4.0, 2.0), strict=True)
}
"""The most that each run may make of these for a sample.

Of stats, two for each pass that touches image files: generation and writing in the first run, writing alone again.
"""
BARE_MS, BEYOND = "CPU ms of the bare loop", "CPU ms beyond the bare loop"
CONTROL = 1.1
"""The bare loop's times beside the two trees may differ by this factor; otherwise no time holds a bar."""
TIME_BARS = {("first run", BEYOND): 0.5, ("again", "CPU ms"): 0.5}
"""The most that these times may be of the other commit's."""

COUNTED = 200
"""N of the runs whose calls are counted: that takes several times as long, and the counts do not vary."""
HERE = "this tree"

Figures = dict[str, dict[str, float]]
"""The figures of each run, by name."""
Times = dict[str, float]
"""The processor seconds of each run and of the bare loop."""


# What imports t2i_core is imported by the functions that a new process calls: it takes seconds.


def time_runs(samples: int) -> Times:
    """Return the processor seconds of each run, and of the bare loop, with a number of samples."""
    from bare_loop import run_bare_loop

    with _scratch() as folder:
        spent = {run: _cpu(work) for run, work in _evaluations(samples, folder)}
        (folder / "bare").mkdir()
        return {**spent, BARE: _cpu(partial(run_bare_loop, samples, folder / "bare"))}


def time_figures(few: Sequence[Times], many: Sequence[Times], samples: int) -> Figures:
    """Return the milliseconds of processor time for one sample.

    Args:
        few: The times of runs of N samples, one for each round.
        many: The times of runs of 2N samples.
        samples: N.
    """
    # whatever else the machine does makes work take longer, never shorter
    shortest = [{name: min(each[name] for each in rounds) for name in (*RUNS, BARE)} for rounds in (few, many)]
    cpu = {name: (shortest[1][name] - shortest[0][name]) / samples * 1000 for name in shortest[0]}
    first, again = ({"CPU ms": cpu[run]} for run in RUNS)
    return {
        RUNS[0]: {**first, BARE_MS: cpu[BARE], BEYOND: cpu[RUNS[0]] - cpu[BARE]},
        RUNS[1]: again,
    }


def count_runs(samples: int) -> Figures:
    """Return the number of calls of each kind in each run for one sample."""
    from call_counts import KINDS, count_calls, find_functions

    _record_no_progress()
    functions = find_functions(core_modules(), FUNCTIONS)
    totals: list[dict[str, Mapping[str, int]]] = []
    for number in (samples, 2 * samples):
        with _scratch() as folder:
            made = {}
            for run, work in _evaluations(number, folder):
                with count_calls([folder], functions) as counts:
                    work()
                made[run] = counts.total()
        totals.append(made)
    kinds = (*FUNCTIONS, *KINDS)
    found = {
        run: {kind: (totals[1][run][kind] - totals[0][run][kind]) / samples for kind in kinds} for run in RUNS
    }
    check_functions(found["first run"])
    return found


def _record_no_progress() -> None:
    """Stop the records of progress, which a run makes by the clock and not by the sample."""
    with suppress(ImportError):  # older commits make none
        from t2i_core.engine import run_journal

        run_journal.EVERY = math.inf


def check_functions(first_run: Mapping[str, float]) -> None:
    """Raise RuntimeError if keys or seeds of some samples are computed by functions that are not counted."""
    for kind, names in FUNCTIONS.items():
        if first_run[kind] < 1:
            called = " and ".join(names)
            raise RuntimeError(
                f"functions called {called} computed {first_run[kind]:.2f} {kind} a sample, and each sample needs "
                f"one; add the name of the function that computes the others to FUNCTIONS in {__file__}"
            )


def core_modules() -> list[ModuleType]:
    """Return the modules of t2i_core that are imported."""
    return [module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] == "t2i_core"]


def _evaluations(samples: int, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the two runs, to be done in this order."""
    from null_world import NullOfManyColours, evaluate_null

    def evaluate(out: str) -> None:
        if (ok := evaluate_null(samples, folder / out, NullOfManyColours)) != samples:
            raise RuntimeError(f"{samples} samples were evaluated, but {ok} have a value")

    os.environ["T2I_CACHE_DIR"] = str(folder / "cache")
    for run in RUNS:
        yield run, partial(evaluate, run)


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


def _cpu(work: Callable[[], object]) -> float:
    """Return the processor seconds of this process that some work takes."""
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def answer_requests() -> None:
    """Measure what each line of standard input asks for, and print it as a line of JSON."""
    from null_world import PROMPTS

    with _scratch() as folder:
        for _, work in _evaluations(PROMPTS, folder):  # imports, and fills what stays in memory
            work()
    for line in sys.stdin:
        what, samples = line.split()
        print(json.dumps({"time": time_runs, "count": count_runs}[what](int(samples))), flush=True)


class Tree:
    """A process in a tree's environment that measures what it is asked to.

    Args:
        name: The tree's name, for messages.
        python: The interpreter of the tree's environment.
    """

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}  # it may name a tree
        environ["OMP_NUM_THREADS"] = "1"  # threads that spin would be counted as t2i's work
        command = [python, __file__, "--answer"]
        self._process = subprocess.Popen(
            command, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def ask(self, what: str, samples: int) -> Any:
        """Return what the process measures.

        Raises:
            SystemExit: If the process ends instead; it has printed why.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{what} {samples}\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError) as error:
            raise SystemExit(f"{self.name}: the measurement failed; its error is printed above") from error


def measure(pythons: Mapping[str, str], samples: int, rounds: int) -> dict[str, Figures]:
    """Return the figures of each tree.

    Args:
        pythons: The interpreter of each tree's environment, by the tree's name.
        samples: N of the runs that are timed.
        rounds: Number of rounds of timing.
    """
    times: dict[tuple[str, int], list[Times]] = defaultdict(list)
    with ExitStack() as running:
        trees = [running.enter_context(Tree(name, python)) for name, python in pythons.items()]
        counts = {tree.name: tree.ask("count", COUNTED) for tree in trees}
        for done in range(rounds):
            for number in (samples, 2 * samples):
                for tree in trees:
                    times[tree.name, number].append(tree.ask("time", number))
            trees.reverse()
            print(f"round {done + 1} of {rounds} is timed", file=sys.stderr)
    found = {}
    for name in pythons:
        timed = time_figures(times[name, samples], times[name, 2 * samples], samples)
        found[name] = {run: {**counts[name][run], **timed[run]} for run in RUNS}
    return found


@contextmanager
def other_tree(commit: str) -> Iterator[str]:
    """Check a commit out, install it, and yield its interpreter; all of it is removed in the end."""
    repository = Path(__file__).parents[2]
    git = ("git", "-C", str(repository))
    _do([*git, "rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}"], f"--compare: {commit} is not a commit")
    with _scratch() as folder:
        tree = folder / "tree"
        _do([*git, "worktree", "add", "--quiet", "--detach", str(tree), commit], f"cannot check out {commit}")
        try:
            if (lock := repository / "uv.lock").exists():  # not in git; with it both trees have the same versions
                shutil.copy(lock, tree)
            _do(["uv", "sync", "--quiet", "--project", str(tree)], f"cannot install {commit}")
            yield str(tree / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        finally:
            _do([*git, "worktree", "remove", "--force", str(tree)], f"cannot remove the worktree {tree}")


def _do(command: list[str], failure: str) -> None:
    environ = {
        name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"}
    }
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise SystemExit(f"{failure}: {command[0]} is not installed") from error
    if done.returncode:
        raise SystemExit(f"{failure}: {done.stderr.strip() or f'{command[0]} ended with {done.returncode}'}")


def list_missed_counts(here: Figures) -> list[str]:
    """Return a line for each bar of counts that a tree misses."""
    return [
        f"{run}: {here[run][name]:.2f} {name} a sample, at most {bar:g} are allowed"
        for run, bars in COUNT_BARS.items()
        for name, bar in bars.items()
        if here[run][name] > bar + 1e-9
    ]


def missed_bars(here: Figures, other: Figures) -> list[str]:
    """Return a line for each bar that this tree misses."""
    missed = list_missed_counts(here)
    control = here[RUNS[0]][BARE_MS] / other[RUNS[0]][BARE_MS]
    if not 1 / CONTROL <= control <= CONTROL:
        missed.append(
            f"the bare loop, which is the same code, took {control:.2f} of its time beside the other commit: the "
            "machine is too busy for times; measure again when it is idle"
        )
    for (run, name), bar in TIME_BARS.items():
        ratio = here[run][name] / other[run][name]
        if ratio > bar:
            missed.append(f"{run}: {name} is {ratio:.2f} of the other commit's, at most {bar:g} is allowed")
    return missed


def table(found: Mapping[str, Figures]) -> str:
    """Return the figures as a table: for each run a column for each tree, and the ratio if there are two."""
    trees = list(found)
    heads = [f"{run}, {tree}" if len(trees) > 1 else run for run in RUNS for tree in trees]
    if len(trees) > 1:
        heads = [head for run in RUNS for head in (*(f"{run}, {tree}" for tree in trees), "ratio")]
    lines = [["for one sample", *heads]]
    for name in dict.fromkeys(name for run in RUNS for name in found[trees[0]][run]):
        line = [name]
        for run in RUNS:
            values = [found[tree][run].get(name) for tree in trees]
            line += ["" if value is None else f"{value:.3f}" for value in values]
            if len(trees) > 1:
                line.append(f"{values[0] / values[1]:.2f}" if values[0] is not None and values[1] else "")
        lines.append(line)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )


def main() -> None:
    """Measure, print, and hold the figures to the bars if asked to."""
    parser = argparse.ArgumentParser(description="Calls and processor time that t2i takes for one sample.")
    parser.add_argument("--samples", type=int, default=500, help="N, a multiple of 100 (default: 500)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of timing (default: 10)")
    parser.add_argument("--compare", metavar="COMMIT", help="measure another commit, too")
    parser.add_argument("--bars", action="store_true", help="exit with status 1 if a bar is missed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.samples < 100 or asked.samples % 100:
        parser.error(f"--samples must be a positive multiple of 100 (got {asked.samples})")
    if asked.rounds < 1:
        parser.error(f"--rounds must be at least 1 (got {asked.rounds})")
    if asked.bars and not asked.compare:
        parser.error("--bars needs --compare COMMIT, because some bars are ratios to another commit")
    if asked.answer:
        answer_requests()
        return
    if asked.compare:
        with other_tree(asked.compare) as python:
            found = measure({HERE: sys.executable, asked.compare: python}, asked.samples, asked.rounds)
    else:
        found = measure({HERE: sys.executable}, asked.samples, asked.rounds)
    missed = missed_bars(found[HERE], found[asked.compare]) if asked.bars else []
    report: dict[str, Any] = {"samples": asked.samples, "rounds": asked.rounds, "trees": found}
    if asked.bars:
        report["missed"] = missed
    print(json.dumps(report, indent=1) if asked.json else table(found))
    if missed:
        raise SystemExit("\n".join(["bars missed:", *missed]))


if __name__ == "__main__":
    main()
