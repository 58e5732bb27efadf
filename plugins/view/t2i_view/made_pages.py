"""Reports and comparisons, made by the commands of t2i in separate processes, and kept until the page stops.

A separate process reads the tables of a run, which may come from somebody else: the page's memory stays flat,
and nothing that happens there stops the page.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from dataclasses import dataclass, field
from pathlib import Path

from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.api.text import fit_one_line

MOST_AT_ONCE = 2
"""Number of processes that work at the same time."""

MOST_KEPT = 50
"""Number of files that are kept; the one that was asked for least recently goes first."""

TRIED_AGAIN = 60.0
"""Seconds after which a command that failed is tried again, if its file is asked for."""

LASTING = frozenset({BadFolder.exit_code, BadOption.exit_code})
"""Exit codes of errors about the runs or models themselves: the same command fails again until a file changes."""

MOST_SECONDS = 900
"""Time that a process may take."""


@dataclass(frozen=True)
class MadePage:
    """A file that a command has written.

    Attributes:
        file: The file; None if the command failed.
        fault: Why it failed, in one line; empty if it did not.
        is_lasting: Whether it fails again until one of its files changes.
        ended: When the command ended, in seconds of the monotonic clock.
    """

    file: Path | None
    fault: str = ""
    is_lasting: bool = False
    ended: float = field(default_factory=time.monotonic)

    @property
    def is_stale(self) -> bool:
        """True if the command failed and may be tried again, or the system has removed its temporary file."""
        if self.file is not None:
            return not self.file.exists()
        return not self.is_lasting and time.monotonic() - self.ended > TRIED_AGAIN


class MadePages:
    """Files that commands write, each made once: a context manager, which ends the processes."""

    def __init__(self, command: Sequence[str] = (sys.executable, "-P", "-m", "t2i_cli")) -> None:
        self._command = tuple(command)  # -P: a module in the working folder is never imported
        self._lock = threading.Lock()
        self._made: dict[str, Future[MadePage]] = {}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_open = True
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE)
        self._folder = tempfile.TemporaryDirectory(prefix="t2i-view-")

    def __enter__(self) -> MadePages:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_open = False
            for process in self._running:
                process.kill()
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def find(self, words: Sequence[str], files: Sequence[Path], patience: float = 0.0) -> MadePage | None:
        """Return the file that a command writes; None while it is being made.

        Args:
            words: The command without `t2i` and `--out FILE`.
            files: Files whose change makes it out of date.
            patience: Seconds to wait for it.
        """
        key = digest_data([list(words), [_describe_state(file) for file in files]])
        with self._lock:
            future = self._made.pop(key, None)
            if future is None or (future.done() and future.result().is_stale):
                future = self._pool.submit(self._make, words, key)
            self._made[key] = future  # the last is the one that was asked for most recently
            while len(self._made) > MOST_KEPT:
                self._drop(next(iter(self._made)))
        try:
            return future.result(patience)
        except TimeoutError:
            return None

    def _drop(self, key: str) -> None:
        future = self._made.pop(key)
        if not future.cancel():
            future.add_done_callback(lambda _: self._find_file(key).unlink(missing_ok=True))

    def _find_file(self, key: str) -> Path:
        return Path(self._folder.name) / key

    def _make(self, words: Sequence[str], key: str) -> MadePage:
        target = self._find_file(key)
        try:
            process = self._start([*self._command, *words, "--out", str(target)])
        except OSError as error:  # too little memory, or too many open files
            return MadePage(None, f"a process cannot be started ({error.strerror}); try again in a minute")
        if process is None:
            return MadePage(None, "the page was stopped")
        try:
            _, said = process.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return MadePage(None, f"took longer than {MOST_SECONDS} seconds")
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            lines = said.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
            fault = fit_one_line(lines[-1].removeprefix("error: "))
            return MadePage(None, fault, process.returncode in LASTING)
        return MadePage(target)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Start a process; None if the page is stopped."""
        with self._lock:
            if not self._is_open:
                return None
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "COLUMNS": "1000"},
            )
            self._running.add(process)
            return process


def _describe_state(file: Path) -> list[str | int]:
    try:
        found = file.lstat()
    except OSError:
        return [str(file)]
    return [str(file), found.st_mtime_ns, found.st_size, found.st_ino]
