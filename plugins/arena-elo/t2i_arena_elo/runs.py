"""Battles of stored runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadFolder
from t2i_core.results.run import load_run

from .battles import Battles
from .rows import battles_of


def battles_of_run(folder: Path) -> Battles:
    """Read the battles of a run of `elo`, each with its judge.

    Raises:
        BadFolder: If the folder is not a run, or the run has no battles.
    """
    run = load_run(folder)
    table = run.measurements()
    own = table[table["metric"].str.rpartition("/")[2] == "elo"].dropna(axis="columns", how="all")
    if own.empty:
        raise BadFolder(f"{folder}: has no battles; name a run of the metric elo")
    judges = {(r.metric, r.by or ""): r.judge.name if r.judge else "" for r in run.results}
    by = own["by"].fillna("") if "by" in own else pd.Series("", index=own.index)
    judge_of_run = pd.Series(list(zip(own["metric"], by, strict=True)), index=own.index).map(judges)
    # battles that came from files name their judge themselves
    judge_of_row = own.get("judge", pd.Series("", index=own.index)).astype(object).fillna("")
    return battles_of(own.assign(judge=judge_of_row.where(judge_of_row != "", judge_of_run)))
