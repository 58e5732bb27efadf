"""The folder for runs without `--out`, and how a run in it is found by its name."""

from __future__ import annotations

from pathlib import Path

RUNS_FOLDER = Path("t2i-runs")
"""Folder for runs without `--out`, in the working folder."""


def find_run_folder(named: str | Path) -> Path:
    """Return the folder of a run that a user named, by its path or by its name in the folder for runs.

    A path that exists comes first. If neither exists, the path is returned as it was given.
    """
    path = Path(named)
    inside = RUNS_FOLDER / path
    return inside if len(path.parts) == 1 and not path.exists() and inside.exists() else path
