"""Progress on standard error: bars on a terminal, otherwise a line at intervals."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from t2i_core.api.progress import Progress, Task
from t2i_core.api.terminal import console, shown, write_line
from t2i_core.api.text import escape_control_characters

from .interrupts import raise_interrupt

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

EVERY = 15.0
"""Seconds between two lines of progress without a terminal."""


@contextlib.contextmanager
def show_progress() -> Iterator[Progress]:
    """Yield a progress display that suits standard error."""
    if not sys.stderr.isatty():
        yield Lines(sys.stderr)
        return
    with _make_bars() as bars:
        yield _Rich(bars)


class Lines:
    """Progress as plain lines: at intervals during a long stage, and at its end.

    Attributes:
        stream: Where the lines go.
        clock: Returns the time in seconds.
        every: Seconds between two lines.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, every: float = EVERY) -> None:
        self.stream = stream
        self.clock = clock
        self.every = every

    @contextlib.contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Task]:
        """Open a stage."""
        raise_interrupt()
        stage = _Stage(self, title, total, unit)
        try:
            yield stage
        finally:
            stage.finish()

    def note(self, message: str) -> None:
        """Write one line."""
        write_line(message, file=self.stream)


class _Stage:
    """One stage of `Lines`."""

    def __init__(self, lines: Lines, title: str, total: int, unit: str) -> None:
        self.lines = lines
        self.title = title
        self.total = total
        self.unit = unit
        self.done = 0
        self.start = self.last = lines.clock()

    def advance(self, count: int = 1) -> None:
        raise_interrupt()
        self.done += count
        now = self.lines.clock()
        if now - self.last >= self.lines.every:
            self.last = now
            speed = self.done / (now - self.start)
            left = (self.total - self.done) / speed
            self.lines.note(f"{self._describe_count()}, {format_rate(speed)}, {format_duration(left)} left")

    def finish(self) -> None:
        if self.total:
            self.lines.note(f"{self._describe_count()} in {format_duration(self.lines.clock() - self.start)}")

    def _describe_count(self) -> str:
        return f"{self.title}: {self.done}/{self.total} {self.unit}"


class _Rich:
    """Progress as bars of rich."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars

    @contextlib.contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Task]:
        """Open a stage; its bar stays on the screen afterwards."""
        raise_interrupt()
        yield _Bar(self.bars, self.bars.add_task(escape_control_characters(title), total=total, unit=unit))

    def note(self, message: str) -> None:
        """Write one line above the bars."""
        self.bars.console.print(shown(message))


class _Bar:
    """One stage of `_Rich`."""

    def __init__(self, bars: Bars, task: TaskID) -> None:
        self.bars = bars
        self.task = task

    def advance(self, count: int = 1) -> None:
        raise_interrupt()
        self.bars.advance(self.task, count)


def _make_bars() -> Bars:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """A column with the items per second."""

        def render(self, task: Any) -> Text:
            return Text(f"{task.fields['unit']} {format_rate(task.finished_speed or task.speed)}")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console(stderr=True),
    )


def format_rate(per_second: float | None) -> str:
    """Return a rate in items per second as text; an empty text if the rate is not known yet."""
    if not per_second:
        return ""
    return f"{per_second:.0f}/s" if per_second >= 100 else f"{per_second:.3g}/s"


def format_duration(seconds: float) -> str:
    """Return a duration as text: `4 s`, `3:20`, `2:05:00`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
