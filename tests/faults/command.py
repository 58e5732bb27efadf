"""Processes that evaluate the small world, and the faults that happen to them.

python -m faults.command    serves `ForkServer`: every process is forked from one that has imported everything
"""

from __future__ import annotations

import errno
import gc
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from t2i_core import Run
from t2i_core.api import T2IError
from t2i_core.engine import generation, judge_answers, manifest
from t2i_core.engine.background import LIMIT, Background
from t2i_core.engine.plan import make_plan
from t2i_core.engine.run import run_plan
from t2i_core.storage.store import DATABASE

from faults import small_world
from faults.run_rows import Rows, read_rows

BATCH = 4
"""Number of images that the model takes at once."""

IN_FLIGHT = BATCH + LIMIT + 1
"""Number of images or answers that may be made again after a kill: those of a batch, and those being stored."""

KILLED = -signal.SIGKILL
INTERRUPTED = 130
UNUSABLE = 11
"""Exit code if a folder or file cannot be used; the error says what to do."""

NOBODY = 65534


@dataclass(frozen=True)
class Command:
    """One process that evaluates the small world.

    Attributes:
        folder: Folder of its cache, run and log.
        kind: What is evaluated; see `small_world.make_request`.
        name: Name of the run folder.
        shard: The part of the run, as `--shard`.
        pause: Seconds of sleep before each image and answer.
        kill_at: The process kills itself before this change to a file or the database, counted from 1.
        event: Name of something in `EVENTS` that happens at `step`.
        step: Number of progress steps before the event.
        clock: Seed of a clock that jumps back and forth by months.
        max_file_bytes: No file can grow beyond this size.
        max_database_pages: No database can grow beyond this number of pages.
        unprivileged: Whether the process gives up root's rights.
        without_links: Whether hard links cannot be made, as between two file systems.
        in_order: Whether images and answers are stored in the model's thread, so that all runs make their
            changes in the same order.
    """

    folder: str
    kind: str = "scores"
    name: str = "run"
    shard: str | None = None
    pause: float = 0.0
    kill_at: int | None = None
    event: str | None = None
    step: int = 0
    clock: int | None = None
    max_file_bytes: int | None = None
    max_database_pages: int | None = None
    unprivileged: bool = False
    without_links: bool = False
    in_order: bool = False

    @property
    def cache(self) -> Path:
        """The cache folder."""
        return Path(self.folder) / "cache"

    @property
    def run(self) -> Path:
        """The run folder."""
        return Path(self.folder) / self.name

    @property
    def log(self) -> Path:
        """What all processes of this run note."""
        return Path(self.folder) / f"{self.name}.log"

    @property
    def errors(self) -> Path:
        """What its last process wrote to standard error."""
        return Path(self.folder) / f"{self.name}{(self.shard or '').replace('/', '-')}.errors"


@dataclass(frozen=True)
class Outcome:
    """How a process ended: its exit code (negative if a signal ended it) and its standard error."""

    code: int
    error: str

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.code == 0


@dataclass(frozen=True)
class Undisturbed:
    """An undisturbed run.

    Attributes:
        run: Its folder.
        rows: Everything that it states.
        changes: The numbers of the changes to files and the database in each stage.
        steps: Number of progress steps.
    """

    run: Path
    rows: Rows
    changes: dict[str, range]
    steps: int


# --- the log


@dataclass(frozen=True)
class Entry:
    """A line of a log: `began` or `kept` with the item, or `stage` with its name, changes and steps so far."""

    what: str
    of: str


def read_log(log: Path) -> list[Entry]:
    """Return a log's lines; each is written at once, so none is torn."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [Entry(*line.split(" ", 1)) for line in lines]


def count_kept_twice(log: Path) -> int:
    """Return how many items were made again although they were kept."""
    return sum(n - 1 for n in Counter(e.of for e in read_log(log) if e.what == "kept").values())


def count_begun_again(log: Path) -> int:
    """Return how often the work on an item was begun again; failures, which are always tried again, left out."""
    entries = read_log(log)
    kept = {entry.of for entry in entries if entry.what == "kept"}
    return sum(entry.what == "began" and entry.of in kept for entry in entries) - len(kept)


# --- the client


class ForkServer:
    """Starts processes of the small world in milliseconds."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "faults.command"],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the server."""
        self._server.communicate()

    def start(self, command: Command) -> int:
        """Start a process and return its id."""
        Path(command.folder).mkdir(parents=True, exist_ok=True)
        return self._ask(f"start {json.dumps(asdict(command))}")

    def wait(self, process: int, command: Command) -> Outcome:
        """Wait for the end of a process."""
        code = self._ask(f"wait {process}")
        return Outcome(code, command.errors.read_text(encoding="utf-8") if command.errors.exists() else "")

    def run(self, command: Command) -> Outcome:
        """Run a process to its end."""
        return self.wait(self.start(command), command)

    def run_together(self, commands: list[Command]) -> list[Outcome]:
        """Run several processes at the same time."""
        started = [(self.start(command), command) for command in commands]
        return [self.wait(process, command) for process, command in started]

    def measure_undisturbed(self, folder: Path, kind: str) -> Undisturbed:
        """Run once without any fault, and return what was done in each stage."""
        command = Command(str(folder / f"undisturbed-{kind}"), kind, kill_at=0)
        outcome = self.run(command)
        assert outcome.finished, outcome.error
        stages = [e.of.split() for e in read_log(command.log) if e.what == "stage"]
        changes: dict[str, range] = {}
        for (stage, begin, _), (_, end, _) in pairwise(stages):
            before = changes.get(stage, range(int(begin) + 1, int(end)))
            changes[stage] = range(before.start, int(end))
        return Undisturbed(command.run, read_rows(command.run), changes, int(stages[-1][2]))

    def _ask(self, line: str) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


# --- the server and its children


def serve() -> None:
    """Start processes and wait for them, as standard input asks."""
    with tempfile.TemporaryDirectory() as folder:  # imports everything; the children may not be allowed to
        os.environ["T2I_CACHE_DIR"] = folder + "/cache"
        for kind in ("scores", "data"):
            run_plan(make_plan(small_world.make_request(kind, Path(folder) / kind), small_world.RESOLVER))
    gc.freeze()  # the children need not search what was imported
    for line in sys.stdin:
        word, rest = line.split(maxsplit=1)
        if word == "wait":
            print(os.waitstatus_to_exitcode(os.waitpid(int(rest), 0)[1]), flush=True)
            continue
        process = os.fork()
        if process == 0:
            _run_child(Command(**json.loads(rest)))
        print(process, flush=True)


def _run_child(command: Command) -> None:
    """Carry out one command; exit codes and error lines are those of the command line."""
    os.dup2(os.open(command.errors, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
    code = 1
    try:
        code = 8 if _evaluate(command).failed else 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except T2IError as error:
        os.write(2, f"error: {error}\n".encode())
        code = error.exit_code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(code)


def _evaluate(command: Command) -> Run:
    """Evaluate under the command's faults, and log what is done."""
    note = _Log(command)
    os.environ["T2I_CACHE_DIR"] = str(command.cache)
    generation._keep = _log_images(generation._keep, note)
    judge_answers._Keeper.__call__ = _log_answers(judge_answers._Keeper.__call__, note)
    painter, meter, reader = small_world.Painter, small_world.LightMeter, small_world.TruthReader
    painter.generate = _log_work(painter.generate, 1, BATCH, note)
    meter.observe = _log_work(meter.observe, 2, 1, note)
    reader.observe = _log_work(reader.observe, 2, 1, note)
    if command.in_order:
        Background.submit = lambda _, call: [call()]
    _limit(command)
    progress = _Progress(note, _count_changes(command.kill_at), command)
    progress.note_stage("opening")
    request = replace(small_world.make_request(command.kind, command.run), shard=command.shard)
    run = run_plan(make_plan(request, small_world.RESOLVER), progress)
    progress.note_stage("end")
    return run


class _Log:
    """Appends to a command's log."""

    def __init__(self, command: Command) -> None:
        self._file = os.open(command.log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o666)
        self._open = command.max_file_bytes is None  # the limit is not for the log
        self._pause = command.pause

    def __call__(self, what: str, of: str) -> None:
        if self._open:
            os.write(self._file, f"{what} {of}\n".encode())

    def begin(self, of: str) -> None:
        """Note that the work on an item begins, and pause."""
        self("began", of)
        time.sleep(self._pause)

    def __getstate__(self) -> dict[str, Any]:
        """Return nothing: t2i identifies the code of models and judges by what their functions refer to."""
        return {}


def _limit(command: Command) -> None:
    if command.clock is not None:
        _shake_clock(random.Random(command.clock))
    if command.max_database_pages is not None:
        pages, connect = command.max_database_pages, sqlite3.connect

        def connect_limited(*arguments: Any, **more: Any) -> sqlite3.Connection:
            connection = connect(*arguments, **more)
            connection.execute(f"pragma max_page_count={pages}")
            return connection

        sqlite3.connect = connect_limited
    if command.max_file_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (command.max_file_bytes, command.max_file_bytes))
        sys.dont_write_bytecode = True  # half a module would be left for all processes
    if command.without_links:
        os.link = _refuse_link
    if command.unprivileged and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def _refuse_link(source: Path, target: Path) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def _log_work(work: Any, place: int, batch: int, note: _Log) -> Any:
    """Wrap a model's or judge's method (its items are the argument at `place`): batches and log entries."""

    def logged(*arguments: Any) -> Iterator[Any]:
        items = iter(arguments[place])
        while taken := list(islice(items, batch)):
            for item in taken:
                note.begin(_name_item(arguments[0], item))
            yield from work(*arguments[:place], taken)

    return logged


def _log_images(keep: Any, note: _Log) -> Any:
    """Wrap the function that stores an image: note those that are stored."""

    def logged(store: Any, key: str, request: Any, encode: Any) -> Any:
        kept = keep(store, key, request, encode)
        if kept.failure is None:
            task = encode.func.__self__
            note("kept", _name_image(task.component.name.removeprefix("painter-"), request))
        return kept

    return logged


def _log_answers(keep: Any, note: _Log) -> Any:
    """Wrap the function that stores an answer: note those that are stored."""

    def logged(keeper: Any, planned: Any, encode: Any) -> Any:
        kept = keep(keeper, planned, encode)
        if kept[1] is None:
            note("kept", _name_query(planned.query))
        return kept

    return logged


def _name_item(worker: Any, item: Any) -> str:
    return _name_image(worker.light, item) if hasattr(item, "prompt") else _name_query(item)


def _name_image(light: int | str, request: Any) -> str:
    return f"image {light} {request.prompt.id} {request.seed}"


def _name_query(query: Any) -> str:
    return f"answer {' '.join(i.digest for i in query.images)} {len(query.texts)}"


class _Progress:
    """Logs the stages, and triggers the command's event at its step."""

    def __init__(self, note: _Log, changes: list[int], command: Command) -> None:
        self._note, self._changes, self._command = note, changes, command
        self._steps = 0

    def note_stage(self, name: str) -> None:
        self._note("stage", f"{name} {self._changes[0]} {self._steps}")

    @contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[_Progress]:
        self.note_stage(_STAGES.get(title.split()[0], "judging"))
        yield self

    def advance(self, count: int = 1, failed: int = 0) -> None:
        self._steps += 1
        if self._command.event is not None and self._steps == self._command.step:
            EVENTS[self._command.event](self._command)

    def note(self, message: str) -> None:
        pass


_STAGES = {"images": "generating", "checking": "checking", "measuring": "measuring", "writing": "writing"}
"""Stages by the first word of a task's title; a judge's title begins with its capability."""


def _count_changes(kill_at: int | None) -> list[int]:
    """Count the changes to files and the database; kill this process before one of them.

    Returns:
        A list with the count.
    """
    count = [0]

    def step() -> None:
        count[0] += 1
        if count[0] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            step()

    connect = sqlite3.connect

    def connect_traced(*arguments: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **more)
        connection.set_trace_callback(lambda statement: step())
        return connection

    sqlite3.connect = connect_traced
    sys.addaudithook(audit)
    return count


_CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "shutil.copyfile", "os.truncate"}


def _shake_clock(rng: random.Random) -> None:
    """Make the clock jump by up to a year, mostly backwards, whenever it is read."""

    def jump() -> float:
        return rng.uniform(-365, 30) * 86400

    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + jump()
    time.time_ns = lambda: real_ns() + int(jump() * 1e9)

    class Shaken(datetime):
        """The clock of the manifest."""

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.fromtimestamp(real() + jump(), tz or UTC)

    manifest.datetime = Shaken


# --- events


def _interrupt(command: Command) -> None:
    raise KeyboardInterrupt


def _remove_tree(folder: Path) -> None:
    """Remove a folder into which threads of the run may write meanwhile."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    raise OSError(f"{folder} cannot be removed")


def _remove_cache(command: Command) -> None:
    _remove_tree(command.cache)


def _remove_images(command: Command) -> None:
    _remove_tree(command.cache / "images")


def _remove_some_images(command: Command) -> None:
    for path in sorted(command.cache.glob("images/*/*.png"))[::3]:
        path.unlink()


def _remove_database(command: Command) -> None:
    for file in command.cache.glob(f"{DATABASE}*"):
        file.unlink()


def _damage_database(command: Command) -> None:
    file, rng = command.cache / DATABASE, random.Random(command.step)
    data = bytearray(file.read_bytes())
    for place in rng.choices(range(len(data)), k=8):
        data[place] ^= rng.randrange(1, 256)
    with file.open("r+b") as opened:
        opened.write(data)


def _remove_run(command: Command) -> None:
    _remove_tree(command.run)


def _close_cache(command: Command) -> None:
    command.cache.chmod(0o555)
    (command.cache / "images").chmod(0o555)


def _close_run(command: Command) -> None:
    command.run.chmod(0o555)


EVENTS: dict[str, Callable[[Command], None]] = {
    "interrupt": _interrupt,
    "remove the cache": _remove_cache,
    "remove all images": _remove_images,
    "remove some images": _remove_some_images,
    "remove the database": _remove_database,
    "damage the database": _damage_database,
    "remove the run folder": _remove_run,
    "make the cache read-only": _close_cache,
    "make the run folder read-only": _close_run,
}
"""What can happen in the middle of a run; the last two need an unprivileged process."""


if __name__ == "__main__":
    serve()
