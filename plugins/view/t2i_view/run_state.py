"""A run as its page shows it, under way or ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from t2i_core.api.errors import BadFolder
from t2i_core.results.look_text import list_columns, list_rows
from t2i_core.results.looks import StoppingRecord
from t2i_core.results.run import Run
from t2i_core.results.run_progress import NewImage, RunProgress, StageProgress, read_progress
from t2i_core.results.verdict import describe_verdicts

from .stage_text import describe_counts


@dataclass(frozen=True)
class ShownStage:
    """A stage of a run's work.

    Attributes:
        title: What is done.
        counts: Its counts, rate and time left, in words.
        done: Number of items that are done.
        total: Number of items.
        is_open: Whether it goes on.
    """

    title: str
    counts: str
    done: int
    total: int
    is_open: bool


@dataclass(frozen=True)
class RunState:
    """A run at a moment.

    Attributes:
        run: The run.
        status: Its status.
        verdicts: What its results say.
        look_columns: Columns of the table of its looks; empty if it does not stop early.
        looks: The rows of that table.
        stages: The stages of its work, if it has not ended: those that go on, then the others, the newest first.
        failures: Number of samples and queries that have failed so far, by the reason.
        images: The images that it generated last; empty if it is not running.
        fault: Why its progress cannot be read; empty if it can.
    """

    run: Run
    status: str
    verdicts: Sequence[str]
    look_columns: Sequence[str]
    looks: Sequence[Sequence[str]]
    stages: Sequence[ShownStage]
    failures: Mapping[str, int]
    images: Sequence[NewImage]
    fault: str = ""

    @property
    def is_running(self) -> bool:
        """True if a process works on the run."""
        return self.status == "running"

    @property
    def has_ended(self) -> bool:
        """True if the run has results, or failed."""
        return self.status in ("done", "failed")


def read_state(run: Run) -> RunState:
    """Return the state of a run."""
    status, stopping = run.status, run.manifest.stopping
    progress, fault = _read_progress(run) if status in ("running", "interrupted") else (None, "")
    return RunState(
        run,
        status,
        describe_verdicts(run.results, run.comparisons) if run.results else [],
        list_columns(stopping) if stopping is not None else (),
        _list_looks(stopping),
        [] if progress is None else _list_stages(progress),
        {} if progress is None else progress.failures,
        # an image of the reader's own cache is shown only for a run that is really going on here
        progress.images if progress is not None and status == "running" else [],
        fault,
    )


def _read_progress(run: Run) -> tuple[RunProgress | None, str]:
    try:
        return read_progress(run.folder), ""
    except BadFolder as error:
        return None, str(error)


def _list_stages(progress: RunProgress) -> list[ShownStage]:
    newest_first = [_show(stage) for stage in reversed(progress.stages)]
    return sorted(newest_first, key=lambda stage: not stage.is_open)


def _show(stage: StageProgress) -> ShownStage:
    return ShownStage(stage.title, describe_counts(stage), stage.done, stage.total, stage.is_open)


def _list_looks(stopping: StoppingRecord | None) -> list[tuple[str, ...]]:
    if stopping is None:
        return []
    return [row for number in range(len(stopping.looks)) for row in list_rows(stopping, number + 1)]
