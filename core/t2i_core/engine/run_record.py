"""The manifest of a run in progress, written as the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..api.errors import BadFolder, T2IError
from ..results.looks import StoppingRecord
from ..results.manifest import Manifest
from ..storage.manifest_file import read_manifest
from ..storage.run_folder import RunFolder
from .time_stamp import get_time


class RunRecord:
    """run.json of a run in progress.

    Args:
        folder: The run's folder.
        begun: The manifest of a run that has begun. None if the folder holds the results of an earlier command,
            which stay until the new ones are complete, or if it is the folder of a shard.
    """

    def __init__(self, folder: RunFolder, begun: Manifest | None) -> None:
        self._folder = folder
        self._begun = begun
        if begun is not None:
            folder.write_manifest(begun.to_json())

    def write_looks(self, stopping: StoppingRecord, spent: Mapping[str, Any]) -> None:
        """Write the looks that were taken so far."""
        if self._begun is not None:
            fields = {**self._begun.to_json(), "stopping": stopping.model_dump(), "spent": dict(spent)}
            self._begun = Manifest.model_validate(fields)
            self._folder.write_manifest(self._begun.to_json())

    def close(self) -> None:
        """Leave the folder as it is from now on, because it holds the results of this command."""
        self._begun = None

    def write_end(
        self, error: BaseException, record_spending: Callable[[], Mapping[str, Any]], has_spent: bool
    ) -> None:
        """Record which error ended the run, and what it has spent; of a shard only the latter.

        After an interrupt, or if the folder holds the results of an earlier command, only what was spent is
        recorded. If the record cannot be written, that becomes a note on the error.

        Args:
            error: What ended it.
            record_spending: Records what paid components have spent, and returns it.
            has_spent: Whether this command has spent anything.
        """
        ended: dict[str, Any] = {}
        if self._begun is not None and isinstance(error, T2IError):
            ended = {"status": "failed", "failed": str(error), "finished": get_time()}
        elif not has_spent:
            return
        try:
            spent = record_spending()
            if self._folder.shard is None:
                known = (read_manifest(self._folder.path) or {}) if self._begun is None else self._begun.to_json()
                self._folder.write_manifest({**known, **ended, "spent": dict(spent)})
        except BadFolder as another:
            error.add_note(str(another))
