"""A run of a leaderboard, with a name that no other run of it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from t2i_core.results.run import Run


@dataclass(frozen=True)
class NamedRun(Run):
    """A run with its name on the site.

    Attributes:
        name: The name.
    """

    name: str = ""


def name_folders(folders: Collection[Path]) -> dict[Path, str]:
    """Return the name of each folder, with as many folders above it as tell it from the others: `ann/run`."""
    names: dict[Path, str] = {}
    for length in range(1, max((len(folder.parts) for folder in folders), default=0) + 1):
        tails = {folder: "/".join(folder.parts[-length:]) for folder in folders}
        counts = Counter(tails.values())
        names |= {folder: tail for folder, tail in tails.items() if folder not in names and counts[tail] == 1}
    return names
