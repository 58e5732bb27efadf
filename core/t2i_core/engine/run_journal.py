"""Record of a run's progress in its folder, for those who follow it from elsewhere."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..api.errors import BadFolder
from ..api.failure import Failure
from ..api.generator import ImageRequest
from ..api.progress import Progress, Silent, Task
from ..api.text import fit_one_line
from ..results.run_progress import NewImage, RunProgress, StageProgress
from ..storage.run_folder import RunFolder

EVERY = 1.0
"""Seconds between two records while a stage goes on."""

_MOST_IMAGES = 12
_MOST_REASONS = 20
_OTHERS = "other reasons"


@dataclass
class _Count:
    """Counts of all stages with the same title.

    Attributes:
        since: When the open stage began; None if none is open.
        spent: Seconds that the others took.
    """

    title: str
    unit: str
    total: int = 0
    done: int = 0
    failed: int = 0
    spent: float = 0.0
    since: float | None = None

    def describe(self, now: float) -> StageProgress:
        """Return the counts at a time."""
        seconds = self.spent + (0.0 if self.since is None else max(now - self.since, 0.0))
        return StageProgress(
            title=fit_one_line(self.title),
            unit=self.unit,
            total=self.total,
            done=self.done,
            failed=self.failed,
            seconds=seconds,
            is_open=self.since is not None,
        )


class RunJournal:
    """The progress display of a run, which also records the progress in the run's folder.

    A record that cannot be written ends the recording, not the run.

    Args:
        progress: The user's display, which shows everything as well.
        folder: The run's folder. If None, nothing is recorded.
        clock: Returns the time in seconds.

    Attributes:
        has_measured: Whether a component has given an image or an answer that the cache lacked.
    """

    def __init__(
        self,
        progress: Progress | None = None,
        folder: RunFolder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.has_measured = False
        self._progress = progress or Silent()
        self._folder, self._clock = folder, clock
        self._counts: dict[str, _Count] = {}
        self._images: deque[NewImage] = deque(maxlen=_MOST_IMAGES)
        self._failures: Counter[str] = Counter()
        self._last = clock()

    @contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Task]:
        """Open a stage."""
        count = self._counts.setdefault(title, _Count(title, unit))
        count.total += total
        count.since = self._clock()
        self.record()
        try:
            with self._progress.task(title, total, unit) as shown:
                yield _RecordedTask(self, count, shown)
        finally:
            count.spent += self._clock() - count.since
            count.since = None

    def note(self, message: str) -> None:
        """Show a message to the user."""
        self._progress.note(message)

    def add_image(self, model: str, request: ImageRequest, digest: str, is_found: bool = False) -> None:
        """Note an image of the cache that was generated.

        Args:
            model: Label of the model.
            request: The prompt and seed of the image.
            digest: SHA-256 (hex) of its file.
            is_found: True if it existed already and was only looked up.
        """
        self.has_measured |= not is_found
        text = fit_one_line(request.prompt.text)
        self._images.appendleft(NewImage(model=model, text=text, seed=request.seed, digest=digest))

    def add_answer(self) -> None:
        """Note an answer of a judge."""
        self.has_measured = True

    def add_failure(self, failure: Failure) -> None:
        """Count a failed sample or query; not one that has no image or answer because nobody was asked."""
        if not failure.missing:
            known = failure.reason in self._failures or len(self._failures) < _MOST_REASONS
            self._failures[failure.reason if known else _OTHERS] += 1

    def advance(self) -> None:
        """Record the progress, if the last record is old enough."""
        if self._folder is not None and self._clock() - self._last >= EVERY:
            self.record()

    def close(self) -> None:
        """Remove the record, because the folder holds the results. A record that cannot be removed stays."""
        if self._folder is None:
            return
        try:
            self._folder.remove_progress()
        except BadFolder as error:
            self._progress.note(f"progress of the run is still recorded: {error}")
        self._folder = None

    def record(self) -> None:
        """Record the progress."""
        if self._folder is None:
            return
        self._last = self._clock()
        found = RunProgress(
            written=time.time(),
            stages=[count.describe(self._last) for count in self._counts.values()],
            images=list(self._images),
            failures=dict(self._failures),
        )
        try:
            self._folder.write_progress(found.model_dump())
        except BadFolder as error:
            self._folder = None
            self._progress.note(f"progress is not recorded any more: {error}")


class _RecordedTask:
    """A stage of `RunJournal`."""

    def __init__(self, journal: RunJournal, count: _Count, shown: Task) -> None:
        self._journal, self._count, self._shown = journal, count, shown

    def advance(self, count: int = 1, failed: int = 0) -> None:
        self._count.done += count
        self._count.failed += failed
        self._journal.advance()
        self._shown.advance(count, failed)
