"""Ctrl-C and SIGTERM: the real command, drawing in processes of its own, as a terminal or batch system ends it."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fire.tally import Case, Difference, difference, rows

GROUP = "processes"
T2I = Path(sys.executable).with_name("t2i")
#: Eight small images of the simulator, in two processes.
EVAL = shlex.split(
    "eval --metric tiam --model simulator --judge oracle --prompts tiam-5-2 --limit 4 --seeds 2 "
    "-o simulator.size=64 -o simulator.spp=4 -o simulator.workers=2"
)
#: Seconds that a user waits after a second Ctrl-C at most.
AT_ONCE = 2.0


class Command:
    """A `t2i` command in a session of its own, as a terminal starts it: with a cache, and a folder `run`."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        environment = {**os.environ, "T2I_CACHE_DIR": str(folder / "cache")}
        # what started us may have had us ignore Ctrl-C, and what is ignored stays ignored in a child
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.process = subprocess.Popen(
                [T2I, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                start_new_session=True, env=environment, cwd=folder,
            )  # fmt: skip
        finally:
            signal.signal(signal.SIGINT, before)

    @property
    def images(self) -> int:
        """How many images are kept already."""
        return sum(1 for _ in self.folder.glob("cache/images/*/*.png"))

    def start(self) -> None:
        """Wait until it heeds signals: before that Python is not yet ours, and one ends it without a word."""
        heeded = 1 << (signal.SIGTERM - 1)
        while self.process.poll() is None:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            if int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) & heeded:  # type: ignore[index]
                return
            time.sleep(0.005)

    def draw(self) -> None:
        """Wait until another image is kept, so that more are being drawn."""
        before = self.images
        while self.process.poll() is None and self.images == before:
            time.sleep(0.005)

    def end(self) -> tuple[int, str]:
        """Wait for the end. Returns exit code and standard error."""
        _, said = self.process.communicate(timeout=300)
        return self.process.returncode, said


def cases(folder: Path, tries: int, rng: random.Random) -> Iterator[Case]:
    """Interrupt the real command at random moments; go on by the command that it names."""
    words = (*EVAL, "--out", "run")
    for name in ("first", "undisturbed"):  # the first one starts slowly
        before = time.monotonic()
        code, said = Command(folder / name, *words).end()
        if code:
            raise RuntimeError(said)
    life = time.monotonic() - before
    whole = folder / "undisturbed" / "run"
    for name, number, exit_codes, times in (
        ("Ctrl-C once", signal.SIGINT, (130,), 1),
        ("Ctrl-C twice", signal.SIGINT, (130, -signal.SIGINT), 2),
        ("SIGTERM, as batch systems send it", signal.SIGTERM, (143,), 1),
    ):
        total, compared, slowest = Difference(), 0, 0.0
        for each in range(tries):
            command = Command(folder / f"{name.split(',')[0].replace(' ', '-')}-{each}", *words)
            command.start()
            time.sleep(rng.uniform(0, life))
            seconds, resume = interrupted(command, number, exit_codes, times, rng.uniform(0.05, 0.5))
            slowest = max(slowest, seconds)
            code, said = Command(command.folder, *(resume or words)).end()
            if code:
                raise RuntimeError(f"{command.folder}: exit code {code}: {said}")
            found = difference(command.folder / "run", whole)
            compared += len(rows(whole))
            total += found
            if found == Difference():
                shutil.rmtree(command.folder)
        yield Case(GROUP, name, tries, compared, total, f"gone after {slowest:.1f} s at most")


def interrupted(
    command: Command, number: int, exit_codes: tuple[int, ...], times: int, between: float
) -> tuple[float, list[str]]:
    """Interrupt a command so many times, and hold what it says to what is documented.

    Returns how many seconds it took to leave after the last time, and the words of the command that goes on, where
    it was far enough to name it.
    """
    for _ in range(times):
        before = time.monotonic()
        if command.process.poll() is not None:
            break
        os.killpg(command.process.pid, number)
        if times > 1:
            time.sleep(between)
    code, said = command.end()
    seconds = time.monotonic() - before
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if code == 0:
        return seconds, []  # it was done before
    quiet = "Traceback" not in said and "Exception ignored" not in said
    if code not in exit_codes or not quiet or (code > 0 and len(errors) != 1):
        raise RuntimeError(f"{command.folder}: exit code {code}: {said}")
    if times > 1 and seconds > AT_ONCE:
        raise RuntimeError(f"{command.folder}: left {seconds:.1f} s after the second Ctrl-C")
    found = re.search(r"where it stopped: (?:uv run )?t2i (.*)", "".join(errors))
    return seconds, shlex.split(found[1]) if found else []
