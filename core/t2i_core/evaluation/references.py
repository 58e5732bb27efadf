"""What metrics show judges once per run, a user's own files: opened before anything is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..errors import BadFolder
from ..images import DamagedImage, Image
from ..progress import Progress
from ..store import Store
from .jobs import Job
from .observing import asked_once, desks


def check_references(jobs: Iterable[Job], store: Store, progress: Progress) -> None:
    """Open each such image that no judge has answered for yet. Raises BadFolder for one that cannot be read."""
    to_open: dict[Path, tuple[str, Image]] = {}
    for desk in desks(jobs):
        for job, served in desk.asking:
            for item in asked_once(job, served) if served.need.per == "run" else ():
                if not store.has(item.key):
                    to_open |= {image.path: (job.metric.spec, image) for image in item.query.images}
    if not to_open:
        return
    with progress.task("checking reference images", len(to_open), "images") as task:
        for metric, image in to_open.values():
            try:
                _ = replace(image).pixels  # of a copy, which lets go of them
            except DamagedImage as error:
                raise BadFolder(f"metric {metric!r} cannot do without {error}; mend it or take it away") from error
            task.advance()
