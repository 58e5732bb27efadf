"""How a command ends that was disturbed, and what its results are held to."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2i_core import Run
from t2i_core.api import T2IError
from t2i_core.storage.store import DATABASE

from .small_world import carry_out
from .tally import Case, Difference, difference, rows

GROUP = "damage"
DONE = "done"
FAULT = "a fault in t2i itself"


def said(work: Callable[[], Any]) -> str:
    """Do what a command does: DONE, or the line that the user is shown, or FAULT with the cause."""
    try:
        work()
    except T2IError as error:
        return str(error)
    except Exception:
        return f"{FAULT}: {traceback.format_exc()}"
    return DONE


@dataclass
class Count:
    """What came of the tries of one case, and what was said how often; the faults in full."""

    name: str
    tried: int = 0
    compared: int = 0
    found: Difference = field(default_factory=Difference)
    said: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def case(self, note: str = "") -> Case:
        """The line of the table; what was found amiss goes to standard error."""
        for fault in self.faults:
            print(f"{self.name}: {fault}", file=sys.stderr)
        stopped = sum(n for line, n in self.said.items() if line != DONE)
        told = f"{stopped} stopped with one line" if stopped else ""
        return Case(GROUP, self.name, self.tried, self.compared, self.found, "; ".join(filter(None, (told, note))))


@dataclass(frozen=True)
class World:
    """An undisturbed run (`kind` as in small_world), and the cache and run that are damaged.

    states: folders that hold `cache` and `run` as they were at some moment, the finished run's first
    """

    kind: str
    undisturbed: Path
    cache: Path
    run: Path
    states: tuple[Path, ...] = ()

    @property
    def place(self) -> Path:
        """The folder of both, where it is one."""
        return self.cache.parent

    def restore(self, state: int = 0) -> None:
        """Put a copy in place, hard links and times as they were."""
        shutil.rmtree(self.place, ignore_errors=True)
        subprocess.run(["cp", "-a", self.states[state], self.place], check=True)

    def command(self, progress: Any = None) -> Run:
        """The command that made it all."""
        return carry_out(self.cache, self.run, self.kind, progress)

    def hold(self, count: Count, name: str = "", heals: bool = False) -> str:
        """Give the command again and hold what it ends with to the undisturbed run. Returns what it said first.

        heals: it must end well at once
        """
        first = said(self.command)
        if heals and first != DONE:
            count.faults.append(f"{name}: stopped: {first}")
            count.found += Difference(lost=len(rows(self.undisturbed)))
        return self.held(count, first, name)

    def held(self, count: Count, first: str, name: str = "", last: str | None = None) -> str:
        """The same where the command has been given already and said this, and again (`last`) if so."""
        count.tried += 1
        count.said[first] += 1
        if last is None and FAULT not in first and first != DONE:
            self.obey(first)
            last = said(self.command)
        last = last or first
        expected = rows(self.undisturbed)
        count.compared += len(expected)
        if last != DONE or FAULT in first or "\n" in first:
            count.faults.append(f"{name}: {first} / {last}")
            count.found += Difference(lost=len(expected))
            return first
        try:
            found = difference(self.run, self.undisturbed)
        except (OSError, ValueError, KeyError) as error:
            count.faults.append(f"{name}: its results cannot be read: {error!r}")
            found = Difference(lost=len(expected))
        if found != Difference():
            count.faults.append(f"{name}: {found}, after {first}")
        count.found += found
        return first

    def obey(self, line: str) -> None:
        """Do what a line says."""
        if "remove it and all whose names begin like it" in line:
            for file in self.cache.glob(f"{DATABASE}*"):
                file.unlink()
        elif "remove the folder" in line or "name another folder with --out" in line:
            shutil.rmtree(self.run)


class Watching:
    """A progress that does something at the n-th thing that is done, and knows what is done."""

    def __init__(self, at: int = -1, act: Callable[[], None] = lambda: None) -> None:
        self.at, self.act = at, act
        self.count = 0
        self.stage = "starting"

    def task(self, title: str, total: int, unit: str) -> AbstractContextManager[Watching]:
        self.stage = title
        return nullcontext(self)

    def advance(self, count: int = 1) -> None:
        self.count += 1
        if self.count == self.at:
            self.act()

    def note(self, message: str) -> None:
        pass


def world(folder: Path, kind: str = "scores") -> World:
    """Make an undisturbed run in an empty folder, and copies of all files as kills at three moments leave them."""
    cache, run = folder / "made" / "cache", folder / "made" / "run"
    watching = Watching()
    carry_out(cache, run, kind, watching)
    gc.freeze()  # what is imported by now: letting go of models looks through it all, and takes longer than a run
    moments = [watching.count // 16, watching.count // 3, watching.count - 1]
    states = [folder / "made"]
    for number, at in enumerate(moments, 1):
        state, making = folder / f"killed-{number}", folder / "making"
        copy = Watching(at, lambda making=making, state=state: _copy(making, state))  # type: ignore[misc]
        carry_out(making / "cache", making / "run", kind, copy)
        shutil.rmtree(making)
        states.append(state)
    place = folder / "place"
    return World(kind, run, place / "cache", place / "run", tuple(states))


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=True)
