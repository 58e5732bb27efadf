"""The folder for runs without `--out`, and how runs are found by the names that users give."""

from __future__ import annotations

from pathlib import Path

from ..api.errors import BadFolder, did_you_mean
from .manifest_file import MANIFEST

RUNS_FOLDER = Path("t2i-runs")
"""Folder for runs without `--out`, in the working folder."""


def find_run_folder(named: str | Path) -> Path:
    """Return the folder of a run that a user named, by its path or by its name in the folder for runs.

    A path that exists comes first. If neither exists, the path is returned as it was given.
    """
    path = Path(named)
    inside = RUNS_FOLDER / path
    return inside if len(path.parts) == 1 and not path.exists() and inside.exists() else path


def find_listed_folder(named: Path | None) -> Path:
    """Return the folder whose runs a user wants to see: one that holds runs, or a run, also by its name.

    Args:
        named: The folder. If None, the folder for runs, which need not exist yet.

    Raises:
        BadFolder: If a folder is named that does not exist.
    """
    if named is None:
        return RUNS_FOLDER
    folder = find_run_folder(named)
    if folder.is_dir():
        return folder
    if folder.exists():
        raise BadFolder(f"{named}: is not a folder; name a run, or a folder that holds runs")
    raise BadFolder(f"{named}: no such folder{suggest_runs(named) or '; name a run, or a folder that holds runs'}")


def suggest_runs(named: Path) -> str:
    """Return `: did you mean 'x'?` for the runs whose names are near one that does not exist; empty if none is."""
    if len(named.parts) > 1:
        return did_you_mean(str(named), map(str, _list_run_folders(named.parent)))
    folders = [*_list_run_folders(Path()), *_list_run_folders(RUNS_FOLDER)]
    return did_you_mean(str(named), [folder.name for folder in folders])


def _list_run_folders(folder: Path) -> list[Path]:
    return sorted(manifest.parent for manifest in folder.glob(f"*/{MANIFEST}"))
