"""The battles of other runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadFolder
from t2i_core.results.run import load_run

from .battles import Battles
from .rows import battles_of


def battles_of_run(folder: Path) -> Battles:
    """Read the battles of a run of `elo`, each with its judge. Raises BadFolder for a folder that is none."""
    run = load_run(folder)
    table = run.measurements()
    own = table[table["metric"].str.rpartition("/")[2] == "elo"].dropna(axis="columns", how="all")
    if own.empty:
        raise BadFolder(f"{folder}: has no battles; want a run of the metric elo")
    asked = own["metric"].map({r.metric: r.judge.name if r.judge else "" for r in run.results})
    # battles of files say themselves who judged
    said = own.get("judge", pd.Series("", index=own.index)).astype(object).fillna("")
    return battles_of(own.assign(judge=said.where(said != "", asked)))
