"""Run the same commands at two commits on this machine, and compare results, comparisons and tables to the bit.

    .venv/bin/python tests/recorded/compare_commits.py BEFORE [AFTER] [--only NAME]... [--list] [--keep DIR]

AFTER is the working tree if it is not given. Each commit gets its own worktree, environment (`uv sync`) and empty
cache in a scratch folder. Exits with status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from recorded.comparison import differences, read_found  # noqa: E402

PLAYED = "recording"
"""The name under which each commit plays the recording."""

_FEW = "-o {0}.trials=2 -o {0}.steps=5"
COMMANDS = {
    "recipe": "--recipe files/models.yaml",
    "oracle": "--metric tiam --metric reward --model simulator -o simulator.drop=0.4 --judge oracle "
    "--prompts tiam-5-3 --limit 6 --seeds 2 --interval prompts",
    "colours": "--metric tiam --model mini --model mini-early --prompts tiam-color-2 --limit 4 --seeds 2 "
    "--noise per-prompt --interval seeds",
    "synsets": "--metric isp --metric scs --metric synset-is --model simulator --model mini --limit 5 --seeds 3",
    "similarities": "--metric specificity --metric lemma-similarity --metric hyponym-cosine --model mini "
    "--prompts wordnet-mini --limit 5 --seeds 2 --judge mini-clip",
    "bias": "--metric bias --model simulator --model mini --limit 4 --seeds 2 -o bias.person=true",
    "skills": "--metric paintskills --model mini --prompts paintskills --limit 8 --seeds 1",
    "sets": "--metric is --model simulator --model mini --prompts tiam-5-1 --seeds 2 --judge mini-classifier "
    "-o is.splits=2",
    "likelihoods": "--metric selfeval --metric selfeval-elbo --metric selfeval-clip --model mini "
    "--model mini-tiny --prompts selfeval-mini -o selfeval-mini.limit=5 "
    f"{_FEW.format('selfeval')} {_FEW.format('selfeval-elbo')}",
    "pairs-of-captions": "--metric winoground --metric winoground-clip --model mini-tiny "
    f"-o selfeval-mini-winoground.limit=5 {_FEW.format('winoground')}",
    "folder": "--metric tiam --metric clipscore --model folder:files/pictures --seeds 2 --judge mini-segmenter "
    "--judge mini-clip",
}
"""Commands after `t2i eval`; paths from this folder."""


@dataclass(frozen=True)
class Side:
    """A checkout with its environment.

    Attributes:
        name: `before` or `after`.
        tree: Where the checkout is.
        scratch: An empty folder for cache and runs.
    """

    name: str
    tree: Path
    scratch: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, on one thread, with the cache of this side."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "T2I_CACHE_DIR": str(self.scratch / "cache")}
        program = self.tree / ".venv" / "bin" / words[0]
        return subprocess.run(
            [program, *words[1:]], cwd=self.scratch / "work", env=environment, capture_output=True, text=True
        )

    def packages(self) -> list[str]:
        """Return the packages of the environment with their versions, t2i's own left out."""
        done = _checked("uv", "pip", "freeze", "--python", str(self.tree / ".venv" / "bin" / "python"))
        return [line for line in done.splitlines() if not line.startswith(("-e", "t2i")) and "file://" not in line]


def main() -> int:
    """Compare, and say what differs."""
    asked = _arguments()
    if asked.list:
        for name in (PLAYED, *COMMANDS):
            print(f"{name}: {COMMANDS.get(name, 'every entry of the recording, played')}")
        return 0
    names = [name for name in (PLAYED, *COMMANDS) if not asked.only or name in asked.only]
    with _scratch(asked.keep) as scratch, _side("before", asked.before, scratch) as before:  # noqa: SIM117
        with _side("after", asked.after, scratch) as after:
            others = set(before.packages()) ^ set(after.packages())
            if others:
                print(f"other packages, so numbers may differ: {', '.join(sorted(others))}")
            return _compare(before, after, names)


def _compare(before: Side, after: Side, names: list[str]) -> int:
    count = 0
    for name in names:
        found, seconds = {}, []
        for side in (before, after):
            started = time.monotonic()
            found[side.name] = _play(side) if name == PLAYED else {name: _evaluate(side, name)}
            seconds.append(time.monotonic() - started)
        was, now = found["before"], found["after"]
        different = [f"{entry}: only {'before' if entry in was else 'after'}" for entry in was.keys() ^ now.keys()]
        for entry in sorted(was.keys() & now.keys()):
            different += [f"{entry}: {line}" for line in differences(was[entry], now[entry], tolerance=0)]
        count += len(different)
        rows = sum(len(one["table"]) for one in was.values())
        said = f"{len(different)} differences" if different else "equal"
        print(f"{name}: {said} ({rows} rows; {seconds[0]:.0f} s before, {seconds[1]:.0f} s after)", flush=True)
        for line in different[:20]:
            print(f"  {line}")
        if len(different) > 20:
            print(f"  and {len(different) - 20} more")
    return 1 if count else 0


def _play(side: Side) -> dict[str, Any]:
    """Play the recording that the checkout has, with its own code."""
    folder = side.scratch / "played"
    done = side.run("python", str(side.tree / "tests/recorded/dump.py"), str(folder))
    if done.returncode:
        sys.exit(f"{side.name}: the recording cannot be played:\n{done.stderr}")
    return {path.stem: read_found(folder, path.stem) for path in folder.glob("*.json")}


def _evaluate(side: Side, name: str) -> dict[str, Any]:
    folder = side.scratch / "runs" / name
    words = [*COMMANDS[name].split(), "--max-failed", "1", "--device", "cpu", "--json", "--out", str(folder)]
    done = side.run("t2i", "eval", *words)
    if done.returncode:
        sys.exit(f"{side.name}: t2i eval {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    found = json.loads(done.stdout)
    with (folder / "measurements.csv").open(newline="", encoding="utf-8") as file:
        return {**found, "table": list(csv.reader(file))}


@contextmanager
def _scratch(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep.absolute()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@contextmanager
def _side(name: str, commit: str | None, scratch: Path) -> Iterator[Side]:
    """Make the checkout of a commit with its environment; of no commit, take the working tree as it is."""
    own = scratch / name
    own.mkdir()
    shutil.copytree(HERE, own / "work", ignore=shutil.ignore_patterns("__pycache__"))
    if commit is None:
        yield Side(name, ROOT, own)
        return
    tree = own / "tree"
    _checked("git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(tree), commit)
    try:
        if (ROOT / "uv.lock").exists():  # the same versions on both sides
            shutil.copy(ROOT / "uv.lock", tree)
        _checked("uv", "sync", "--quiet", "--directory", str(tree))
        yield Side(name, tree, own)
    finally:
        _checked("git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree))


def _checked(*words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare what two commits measure on this machine, to the bit.")
    parser.add_argument("before", nargs="?", help="the commit before")
    parser.add_argument("after", nargs="?", help="the commit after; default: the working tree")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="this command; may be repeated"
    )
    parser.add_argument("--list", action="store_true", help="show the commands and stop")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave caches and runs in this new folder")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.only) - {PLAYED, *COMMANDS}):
        parser.error(f"--only {unknown[0]}: no such command; --list shows them")
    if not (asked.before or asked.list):
        parser.error("name the commit before")
    return asked


if __name__ == "__main__":
    sys.exit(main())
