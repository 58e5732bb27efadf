"""Everything that a run states, for comparison with an undisturbed run."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

Rows = dict[tuple[str, ...], tuple[str, ...]]

_LOCAL = {"run", "image"}
"""Fields that name the run's own folder: they differ between two runs with the same results."""

_VALUES = {
    *("text", "noise_seed", "status", "reason", "kind", "value"),
    *("image", "digest", "width", "height", "record"),
}
"""Columns that hold results; the other columns, facets among them, identify the row."""


def read_rows(run: Path) -> Rows:
    """Return every row of a run's tables, results, images and data sets under what the row is about.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If two rows are about the same thing.
    """
    found: Rows = {}
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for name in manifest["files"]:
        with (run / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (name, *(f"{k}={v}" for k, v in row.items() if k not in _VALUES))
                _add(found, key, tuple(f"{k}={v}" for k, v in row.items() if k not in _LOCAL))
                if row.get("image"):
                    _add(found, ("image", *key), (hashlib.sha256((run / row["image"]).read_bytes()).hexdigest(),))
    for name in ("results", "comparisons", "datasets"):
        for number, each in enumerate(manifest[name]):
            stated = {key: value for key, value in each.items() if key not in _LOCAL}
            _add(found, (name, str(number)), (json.dumps(stated, sort_keys=True),))
    for label, model in manifest["models"].items():
        _add(found, ("model", label), (json.dumps(model["reported"], sort_keys=True),))
    for each in manifest["datasets"]:
        for number, line in enumerate((run / each["metadata"]).read_text(encoding="utf-8").splitlines()):
            _add(found, (each["metadata"], str(number)), (line,))
    _add(found, ("status",), (manifest["status"], str(manifest["failed"])))
    return found


def hash_finished_files(run: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a run folder except run.json and hidden files, by name."""
    files = (p for p in run.rglob("*") if p.is_file() and not p.name.startswith(".") and p.name != "run.json")
    return {str(p.relative_to(run)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def _add(found: Rows, key: tuple[str, ...], value: tuple[str, ...]) -> None:
    if key in found:
        raise ValueError(f"two rows are about {key}")
    found[key] = value
