"""A watch on a cluster that has no room for a worker."""

from __future__ import annotations

import time

from t2i_core.api.errors import BadOption, MissingDependency, T2IError
from t2i_core.api.progress import Progress

from .cluster import list_machines
from .placement import Placement, has_room

NOTE_SECONDS, LOST_SECONDS, ROOM_SECONDS = 30.0, 60.0, 600.0
"""After how long without any worker: a note; an error if the cluster has no such machine any more; an error."""


class RoomWatch:
    """Notes for how long no worker has run.

    Args:
        placement: What Ray reserves for a worker.
        progress: Gets a note.
    """

    def __init__(self, placement: Placement, progress: Progress) -> None:
        self._placement, self._progress = placement, progress
        self._since: float | None = None
        self._was_noted = False

    def check(self, is_any_running: bool) -> T2IError | None:
        """Return the error that ends the run if no worker has run for too long."""
        if is_any_running:
            self._since = None
            return None
        now = time.monotonic()
        self._since = self._since or now
        waited, placement = now - self._since, self._placement
        if waited > NOTE_SECONDS and not self._was_noted:
            self._was_noted = True
            self._progress.note("waiting for room on the cluster")
        if waited > LOST_SECONDS and not has_room(list_machines(), 1, placement.cpus, placement.gpus):
            return MissingDependency(
                "no machine is left in the cluster that has room for a worker; what is done is kept: repeat the "
                "command when machines are back"
            )
        if waited > ROOM_SECONDS:
            return BadOption(
                f"the cluster has had no room for {ROOM_SECONDS / 60:.0f} minutes for a worker with "
                f"{placement.cpus:g} CPUs and {placement.gpus:g} GPUs; wait for other work to end, or "
                "lower --gpus-per-worker"
            )
        return None
