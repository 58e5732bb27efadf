"""Progress for people: bars on a terminal and in a notebook, otherwise lines at intervals."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from .progress import Progress, Silent, Task
from .terminal import console, render_html, shown, write_line
from .text import escape_control_characters

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

EVERY = 15.0
"""Seconds between two lines of progress without a terminal."""


REFRESH = 0.1
"""Seconds between two drawings of the bars in a notebook."""

Check = Callable[[], None]
"""Is called at each stage and item, and may raise to stop the work."""


def _go_on() -> None:
    """Stop nothing."""


@contextlib.contextmanager
def choose_progress(asked: Progress | bool | None) -> Iterator[Progress]:
    """Yield the progress display of a call from Python.

    Args:
        asked: The display; True for one that suits standard error or the notebook; False for none. If None, as
            True in a notebook or on a terminal, and none elsewhere.
    """
    if asked is None:
        asked = is_notebook() or sys.stderr.isatty()
    if isinstance(asked, bool):
        with show_progress() if asked else contextlib.nullcontext(Silent()) as progress:
            yield progress
    else:
        yield asked


@contextlib.contextmanager
def show_progress(check: Check = _go_on) -> Iterator[Progress]:
    """Yield a progress display that suits the notebook or standard error."""
    if is_notebook():
        yield _NotebookBars(_make_bars(), check)
    elif not sys.stderr.isatty():
        yield Lines(sys.stderr, check=check)
    else:
        with _make_bars() as bars:
            yield _Bars(bars, check)


def is_notebook() -> bool:
    """Return whether this code runs in a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class Lines:
    """Progress as plain lines: at intervals during a long stage, and at its end.

    Attributes:
        stream: Where the lines go.
        clock: Returns the time in seconds.
        every: Seconds between two lines.
        check: Is called at each stage and item.
    """

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        every: float = EVERY,
        check: Check = _go_on,
    ) -> None:
        self.stream = stream
        self.clock = clock
        self.every = every
        self.check = check

    @contextlib.contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Task]:
        """Open a stage."""
        self.check()
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
        self.done = self.failed = 0
        self.start = self.last = lines.clock()

    def advance(self, count: int = 1, failed: int = 0) -> None:
        self.lines.check()
        self.done += count
        self.failed += failed
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
        return f"{self.title}: {self.done}/{self.total} {self.unit}{_describe_failed(self.failed)}"


class _Bars:
    """Progress as bars of rich on a terminal."""

    def __init__(self, bars: Bars, check: Check) -> None:
        self.bars = bars
        self.check = check

    @contextlib.contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Task]:
        """Open a stage; its bar stays on the screen afterwards."""
        self.check()
        shown_title = escape_control_characters(title)
        yield _Bar(self, self.bars.add_task(shown_title, total=total, unit=unit), shown_title)
        self.draw()

    def note(self, message: str) -> None:
        """Write one line above the bars."""
        self.bars.console.print(shown(message))

    def draw(self, after: float = 0.0) -> None:
        """Draw the bars if the last time is that many seconds ago; on a terminal rich does it."""


class _NotebookBars(_Bars):
    """The same bars in a notebook: one output of the cell, which is drawn again and again."""

    def __init__(self, bars: Bars, check: Check) -> None:
        super().__init__(bars, check)
        self._drawn = 0.0
        self._output: Any = None

    def note(self, message: str) -> None:
        """Write one line."""
        write_line(message, err=True)

    def draw(self, after: float = 0.0) -> None:
        """Draw the bars if the last time is that many seconds ago."""
        now = time.monotonic()
        if now - self._drawn < after:
            return
        self._drawn = now
        display = import_module("IPython.display")
        html = display.HTML(render_html(lambda console: console.print(self.bars.get_renderable())))
        if self._output is None:
            self._output = display.display(html, display_id=True)
        else:
            self._output.update(html)


class _Bar:
    """One stage of `_Bars`."""

    def __init__(self, bars: _Bars, task: TaskID, title: str) -> None:
        self.bars = bars
        self.task = task
        self.title = title
        self.failed = 0

    def advance(self, count: int = 1, failed: int = 0) -> None:
        self.bars.check()
        if failed:
            self.failed += failed
            self.bars.bars.update(self.task, description=f"{self.title}{_describe_failed(self.failed)}")
        self.bars.bars.advance(self.task, count)
        self.bars.draw(REFRESH)


def _describe_failed(count: int) -> str:
    return f", {count} failed" if count else ""


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
