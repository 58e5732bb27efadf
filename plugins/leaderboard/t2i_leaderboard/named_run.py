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

    @property
    def path(self) -> Path:
        """Its name, which stands for its folder in all messages, because the site is public."""
        return Path(self.name)


def name_folders(folders: Collection[Path]) -> dict[Path, str]:
    """Return the name of each folder, with as many folders above it as tell it from the others: `ann/run`."""
    names: dict[Path, str] = {}
    parts = {folder: folder.relative_to(folder.anchor).parts for folder in folders}
    for length in range(1, max(map(len, parts.values()), default=0) + 1):
        tails = {folder: "/".join(own[-length:]) for folder, own in parts.items()}
        counts = Counter(tails.values())
        names |= {folder: tail for folder, tail in tails.items() if folder not in names and counts[tail] == 1}
    return names
