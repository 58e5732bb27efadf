"""Runs: what an evaluation gives back, and how a run's folder is found and read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import BadFolder

if TYPE_CHECKING:
    import pandas as pd

MANIFEST = "run.json"


@dataclass(frozen=True)
class Made:
    """How many images a process made, not taken from the cache, and in how many seconds, loading left out."""

    images: int = 0
    seconds: float = 0.0

    def __add__(self, other: Made) -> Made:
        return Made(self.images + other.images, self.seconds + other.seconds)

    @property
    def rate(self) -> float | None:
        """Images a second; None where none was made."""
        return self.images / self.seconds if self.images and self.seconds else None


@dataclass(frozen=True)
class Run:
    """A run.

    folder:    where it stands
    results:   `{"run", "results", "comparisons"}`, plain data
    manifest:  all that run.json says
    failed:    why the run has failed, where more samples failed than it allows
    partial:   what a shard says instead of scores
    made:      the images that were made for it now
    """

    folder: Path
    results: Mapping[str, Any] = field(repr=False)
    manifest: Mapping[str, Any] = field(default_factory=dict, repr=False)
    failed: str | None = None
    partial: str | None = None
    made: Made = Made()

    def samples(self) -> pd.DataFrame:
        """One row per image: model, prompt, text, seed, status, reason, image, digest, record."""
        return self._read("samples.csv")

    def measurements(self) -> pd.DataFrame:
        """One row per measured value: metric, model, prompt, cluster, seed, facets, measure, value."""
        return self._read("measurements.csv")

    def failures(self) -> pd.DataFrame:
        """One row per sample that has no value: metric, model, prompt, seed, missing, reason."""
        return self._read("failures.csv")

    def _read(self, name: str) -> pd.DataFrame:
        """Read a table as it was written: an id `001` stays a text, and only an empty cell is missing."""
        import pandas as pd

        try:
            table = pd.read_csv(self.folder / name, dtype=str, keep_default_na=False, na_values=[""])
        except OSError as error:
            raise BadFolder(
                f"{self.folder / name}: cannot be read ({error.strerror}); was the run finished?"
            ) from error
        if "value" in table:
            table["value"] = table["value"].map(float)
        if "seed" in table:
            table["seed"] = table["seed"].astype("Int64")
        return table


def load_run(folder: str | Path) -> Run:
    """Read a run's folder. Raises BadFolder where it holds no run."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise BadFolder(f"{folder}: holds no run ({MANIFEST} is missing)")
    results = {
        "run": str(folder.absolute()),
        "results": manifest.get("results", []),
        "comparisons": manifest.get("comparisons", []),
    }
    return Run(folder.absolute(), results, manifest, failed=manifest.get("failed"))


def list_runs(folder: str | Path) -> Iterator[Run]:
    """Yield the run that a folder is, or the runs in its direct subfolders, by name.

    One whose run.json is damaged has the status `unreadable` and no results.
    """
    folder = Path(folder)
    for path in [folder, *sorted(p for p in folder.glob("*") if p.is_dir())]:
        if (path / MANIFEST).is_file():
            try:
                yield load_run(path)
            except BadFolder:
                nothing = {"run": str(path.absolute()), "results": [], "comparisons": []}
                yield Run(path.absolute(), nothing, {"status": "unreadable"})


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return a run folder's manifest; None where there is none. Raises BadFolder where it is damaged."""
    try:
        data: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadFolder(
            f"{folder / MANIFEST}: cannot be read ({error}); remove it or name another folder with --out"
        ) from error
    return data
