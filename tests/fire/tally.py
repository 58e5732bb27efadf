"""What is counted of each case, and how a disturbed run is held to an undisturbed one."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What tells a run apart from another that was asked the same: neither is a result.
_OWN = {"run", "image"}
#: What a row says; its other columns, facets among them, are what it is about.
_SAID = {
    *("text", "noise_seed", "status", "reason", "kind", "value"),
    *("image", "digest", "width", "height", "record"),
}


@dataclass(frozen=True)
class Difference:
    """Rows of all tables and scores that a disturbed run lacks, has besides, or has with other values."""

    lost: int = 0
    invented: int = 0
    differing: int = 0

    def __add__(self, other: Difference) -> Difference:
        return Difference(self.lost + other.lost, self.invented + other.invented, self.differing + other.differing)


@dataclass(frozen=True)
class Case:
    """A line of the table in docs/reliability.md: what was done, how many times, and what came of it.

    compared: rows of tables and scores that were held to the undisturbed run's, over all tries
    note: what the user sees, or what else is to be said
    """

    group: str
    name: str
    tried: int
    compared: int
    difference: Difference
    note: str = ""


def rows(run: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """All that a run says: the rows of its tables, its results and comparisons, what its models say of themselves,
    its images and the lines of its data sets, by what they are about.

    Raises FileNotFoundError where a file is missing and ValueError where one says a thing twice.
    """
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for name in manifest["files"]:
        with (run / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (name, *(f"{k}={v}" for k, v in row.items() if k not in _SAID))
                _put(found, key, tuple(f"{k}={v}" for k, v in row.items() if k not in _OWN))
                if row.get("image"):
                    _put(found, ("image", *key), (hashlib.sha256((run / row["image"]).read_bytes()).hexdigest(),))
    for name in ("results", "comparisons", "datasets"):
        for number, said in enumerate(manifest[name]):
            _put(found, (name, str(number)), (json.dumps(_without_own(said), sort_keys=True),))
    for label, model in manifest["models"].items():
        _put(found, ("model", label), (json.dumps(model["reported"], sort_keys=True),))
    for each in manifest["datasets"]:
        for name in filter(None, (each["metadata"], each["annotations"])):
            for number, line in enumerate((run / name).read_text(encoding="utf-8").splitlines()):
                _put(found, (name, str(number)), (line,))
    _put(found, ("status",), (manifest["status"], str(manifest["failed"])))
    return found


def difference(run: Path, undisturbed: Path) -> Difference:
    """Hold a disturbed run to an undisturbed one that was asked the same."""
    ours, theirs = rows(run), rows(undisturbed)
    return Difference(
        lost=len(theirs.keys() - ours.keys()),
        invented=len(ours.keys() - theirs.keys()),
        differing=sum(ours[key] != theirs[key] for key in ours.keys() & theirs.keys()),
    )


def _put(found: dict[tuple[str, ...], tuple[str, ...]], key: tuple[str, ...], value: tuple[str, ...]) -> None:
    if key in found:
        raise ValueError(f"said twice: {key}")
    found[key] = value


def _without_own(score: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in score.items() if key not in _OWN}
