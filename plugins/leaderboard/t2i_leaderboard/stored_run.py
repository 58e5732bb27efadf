"""A run of a leaderboard, with a name that no other run of it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from t2i_core.api.prompt import Prompt
from t2i_core.results.run import Run


@dataclass(frozen=True)
class StoredRun(Run):
    """A run whose files are read once.

    Attributes:
        name: Its name on the site.
    """

    name: str = ""

    @cached_property
    def _measured(self) -> pd.DataFrame:
        return super().measurements()

    @cached_property
    def _sampled(self) -> pd.DataFrame:
        return super().samples()

    @cached_property
    def _lost(self) -> pd.DataFrame:
        return super().failures()

    @cached_property
    def _asked(self) -> list[Prompt]:
        return super().prompts()

    def measurements(self) -> pd.DataFrame:
        """Return one row per measured value. See `Run.measurements`."""
        return self._measured

    def samples(self) -> pd.DataFrame:
        """Return one row per image. See `Run.samples`."""
        return self._sampled

    def failures(self) -> pd.DataFrame:
        """Return one row per sample without a value. See `Run.failures`."""
        return self._lost

    def prompts(self) -> list[Prompt]:
        """Return the prompts, without their own images. See `Run.prompts`."""
        return self._asked


def name_folders(folders: Collection[Path]) -> dict[Path, str]:
    """Return the name of each folder, with as many folders above it as tell it from the others: `ann/run`."""
    names: dict[Path, str] = {}
    for length in range(1, max((len(folder.parts) for folder in folders), default=0) + 1):
        tails = {folder: "/".join(folder.parts[-length:]) for folder in folders}
        counts = Counter(tails.values())
        names |= {folder: tail for folder, tail in tails.items() if folder not in names and counts[tail] == 1}
    return names
