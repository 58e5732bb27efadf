"""Processes of the small world, started in a moment: forked from one that has imported all there is to import.

python forked.py     reads lines: `start JSON` (the fields of Asked) answers a process's number; `wait NUMBER` its
                     exit code, below 0 where a signal ended it

Every process notes in a log what it begins, what is kept, and which stage it is in.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from t2i_core import Run
from t2i_core.api import Failure
from t2i_core.engine import manifest
from t2i_core.engine.plan import make_plan
from t2i_core.engine.run import run_plan

sys.path.insert(0, str(Path(__file__).parents[1]))
from fire import small_world

#: Images that the model takes at once, as a model on a GPU would: so many may be in flight when it is killed.
BATCH = 4


@dataclass(frozen=True)
class Asked:
    """One process of the small world.

    folder: where its cache, run and log are
    name:   its run folder's name
    pause:  seconds of rest before each image and answer
    point:  the process kills itself before it does so many things to files or the database (counted from 1)
    clock:  its clock jumps back and forth, seeded by this
    """

    folder: str
    kind: str = "scores"
    name: str = "run"
    shard: str | None = None
    pause: float = 0.001
    point: int | None = None
    clock: int | None = None

    @property
    def run(self) -> Path:
        """The run's folder."""
        return Path(self.folder) / self.name

    @property
    def log(self) -> Path:
        """What all its processes note."""
        return Path(self.folder) / f"{self.name}.log"

    @property
    def said(self) -> Path:
        """What its last process wrote to standard error."""
        return Path(self.folder) / f"{self.name}{(self.shard or '').replace('/', '-')}.said"


@dataclass(frozen=True)
class Noted:
    """A line of a log: when (monotonic, in seconds), by which process, `began`, `kept` or `stage`, and of what."""

    at: float
    process: int
    what: str
    of: str


def noted(log: Path) -> list[Noted]:
    """Everything in a log; a line is far below what is written at once, so none is torn."""
    if not log.exists():
        return []
    words = (line.split(" ", 3) for line in log.read_text(encoding="utf-8").splitlines())
    return [Noted(float(at), int(process), what, of) for at, process, what, of in words]


def kept_twice(log: Path) -> int:
    """How many items were kept and then made again, which is work lost."""
    return sum(n - 1 for n in Counter(line.of for line in noted(log) if line.what == "kept").values())


def begun_again(log: Path) -> int:
    """How often items were begun that had been begun before and not kept; failures, always tried, left out."""
    lines = noted(log)
    kept = {line.of for line in lines if line.what == "kept"}
    return sum(line.what == "began" and line.of in kept for line in lines) - len(kept)


class Crew:
    """Starts processes of the small world, kills them and waits for them."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def start(self, asked: Asked) -> int:
        """Start a process. Returns its number."""
        Path(asked.folder).mkdir(parents=True, exist_ok=True)
        return self._ask(f"start {json.dumps(asdict(asked))}")

    def wait(self, process: int) -> int:
        """Wait for a process's end. Returns its exit code; that of a killed one is below 0."""
        return self._ask(f"wait {process}")

    def kill(self, process: int) -> int:
        """Kill a process unless it has ended (it stays a zombie until it is waited for). Returns its exit code."""
        os.kill(process, signal.SIGKILL)
        return self.wait(process)

    def finish(self, asked: Asked) -> int:
        """Run a process to its end."""
        return self.wait(self.start(asked))

    def _ask(self, line: str) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


def serve() -> None:
    """Start processes and wait for them, as standard input says."""
    gc.freeze()  # no process need look through all that was imported
    for line in sys.stdin:
        word, rest = line.split(maxsplit=1)
        if word == "wait":
            print(os.waitstatus_to_exitcode(os.waitpid(int(rest), 0)[1]), flush=True)
            continue
        process = os.fork()
        if process == 0:
            _child(Asked(**json.loads(rest)))
        print(process, flush=True)


def _child(asked: Asked) -> None:
    """Do one process's work, and leave without the server's own end."""
    said = os.open(asked.said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(said, 2)
    code = 1
    try:
        code = small_world.ended(lambda: carry_out(asked))
        sys.stderr.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def carry_out(asked: Asked) -> Run:
    """Evaluate, or make the data set, and note all that is done."""
    file = os.open(asked.log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def note(what: str, of: str) -> None:
        os.write(file, f"{time.monotonic():.6f} {os.getpid()} {what} {of}\n".encode())

    note("stage", "opening")
    os.environ["T2I_CACHE_DIR"] = str(Path(asked.folder) / "cache")
    small_world.Painter.generate = slowly(small_world.Painter.generate, 1, BATCH, note, asked.pause)
    small_world.Eye.observe = slowly(small_world.Eye.observe, 2, 1, note, asked.pause)
    small_world.Teller.observe = slowly(small_world.Teller.observe, 2, 1, note, asked.pause)
    points = _die_at(asked.point)
    if asked.clock is not None:
        _shake_clock(random.Random(asked.clock))
    wanted = small_world.request(asked.kind, asked.run)
    wanted = replace(wanted, shard=asked.shard)
    run = run_plan(make_plan(wanted, small_world.RESOLVER), Stages(note))
    note("stage", f"end after {points[0]} points")
    return run


def slowly(work: Any, place: int, batch: int, note: Callable[[str, str], None], pause: float) -> Any:
    """A model's or judge's own work, a batch at a time, with rests, and noted.

    place: which of its arguments are the items
    """

    def slowed(*arguments: Any) -> Iterator[Any]:
        items = iter(arguments[place])
        while taken := list(islice(items, batch)):
            for item in taken:
                note("began", _named(arguments[0], item))
                time.sleep(pause)
            for item, answer in work(*arguments[:place], taken):
                yield item, answer
                if not isinstance(answer, Failure):
                    note(
                        "kept", _named(arguments[0], item)
                    )  # the next one is asked for: this one is where it should be

    return slowed


def _named(worker: Any, item: Any) -> str:
    """Name an image that is asked of a model, or a query."""
    if hasattr(item, "prompt"):
        return f"image {worker.light} {item.prompt.id} {item.seed}"
    return f"answer {' '.join(i.digest for i in item.images)} {len(item.texts)}"


class Stages:
    """Notes which stage of the work begins."""

    def __init__(self, note: Callable[[str, str], None]) -> None:
        self._note = note

    @contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Stages]:
        """Note a stage of work, and where the next one is not named, that it is over."""
        self._note("stage", _STAGES.get(title.split()[0], "judging"))
        yield self

    def advance(self, count: int = 1) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Do nothing."""


#: Stages by the first word of what the user is told; a judge's begins with what it is asked for.
_STAGES = {"images": "generating", "checking": "checking", "measuring": "measuring", "writing": "writing"}


def _die_at(point: int | None) -> list[int]:
    """Kill this process before it does a thing to a file or the database for the so-manieth time.

    Returns a list that holds how many things were done.
    """
    done = [0]

    def step() -> None:
        done[0] += 1
        if done[0] == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            step()

    connect = sqlite3.connect

    def traced(*arguments: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **more)
        connection.set_trace_callback(lambda statement: step())
        return connection

    sqlite3.connect = traced
    sys.addaudithook(hook)
    return done


_CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "shutil.copyfile", "os.truncate"}


def _shake_clock(rng: random.Random) -> None:
    """Have this process's clock jump by up to a year, mostly backwards, whenever it is read."""

    def jump() -> float:
        return rng.uniform(-365, 30) * 86400

    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + jump()
    time.time_ns = lambda: real_ns() + int(jump() * 1e9)

    class Shaken(datetime):
        """The clock that manifests are dated by."""

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.fromtimestamp(real() + jump(), tz or UTC)

    manifest.datetime = Shaken


if __name__ == "__main__":
    serve()
