"""Sinks: where a finished run's results and images go (a tracker, a model card, a file of another format)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .progress import Progress

if TYPE_CHECKING:
    from ..results.run import Run


class Sink(Protocol):
    """Writes a finished run somewhere.

    A sink may have a method `close()`, which t2i calls when the sink is no longer needed. t2i does not call sinks
    for shards. If `Setup.offline` is true, the sink must not upload anything.
    """

    def write(self, run: Run, progress: Progress) -> None:
        """Write a run.

        t2i calls this after run.json is written, also if too many samples failed (`run.failed` says so). If t2i
        calls it again for the same run (`run.manifest.plan`), it must replace its earlier output, not add to it.
        It must not change the run's own files. Add files to its folder with `t2i_core.results.export_file`.

        If an exception is raised, the run keeps its results, and t2i reports the sink as failed.

        Args:
            run: The results, the manifest, the folder, and methods for its tables, images and truths.
            progress: Shows stages of long work, and notes on what was written and where.
        """
        ...
