"""Do people prefer the images of the model that is right? The paper's agreement with pairwise human votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.errors import BadOption
from t2i_core.metrics import Analysis
from t2i_core.statistics import wilson
from t2i_core.tables import read_table

from .analyses import pairs

COLUMNS = ("prompt", "model_a", "model_b", "annotator", "vote")
VOTES = {"a": 1, "b": -1, "tie": 0}


def read_votes(path: Path) -> pd.DataFrame:
    """Read a CSV file: a line for each person's vote, which of two models' images shows a caption better.

    Raises BadOption with file, line and fault.
    """
    rows = read_table(path, BadOption, COLUMNS)
    if not rows:
        raise BadOption(f"{path}: holds no votes")
    seen: set[tuple[str, ...]] = set()
    votes: list[dict[str, Any]] = []
    for row in rows:
        where = f"{path}, line {row.line}"
        said = {name: row.cells.get(name, "") for name in COLUMNS}
        if empty := next((name for name in COLUMNS if not said[name]), None):
            raise BadOption(f"{where}: no {empty}")
        vote = VOTES.get(said["vote"].lower())
        if vote is None:
            raise BadOption(f"{where}: the vote {said['vote']!r}; want a, b or tie")
        if said["model_a"] == said["model_b"]:
            raise BadOption(f"{where}: {said['model_a']!r} is compared with itself")
        told_apart = (said["prompt"], *sorted((said["model_a"], said["model_b"])), said["annotator"])
        if told_apart in seen:
            raise BadOption(f"{where}: {said['annotator']} has voted on these images already")
        seen.add(told_apart)
        votes.append({**said, "vote": vote})
    return pd.DataFrame(votes)


def people(path: Path, right: pd.DataFrame) -> Analysis:
    """How often most people prefer the model that alone is right, by two models and task.

    right: decisions, how right each model is on each sample; of several seeds the mean counts

    Raises BadOption where no vote is on two of the run's models and one of its samples.
    """
    votes = read_votes(path)
    lines, found = [], 0
    for a, b, both in pairs(right):
        sides = both.groupby(["task", "prompt"], sort=False)[["a", "b"]].mean().reset_index()
        most = _majorities(votes, a, b)
        voted = sides.merge(most, on="prompt")
        found += len(voted)
        apart = voted[voted["a"] != voted["b"]]
        parts = [*apart.groupby("task", sort=False), ("all", apart)] if len(apart) else []
        lines += [(a, b, task, *_counted(part)) for task, part in parts]
    if not found:
        first = votes.iloc[0]
        raise BadOption(
            f"{path}: no vote is on two of the run's models and one of its samples; the first is on prompt "
            f"{first['prompt']!r}, models {first['model_a']!r} and {first['model_b']!r}"
        )
    names = ["agree", "disagree", "ties", "agreement", "low", "high", "votes"]
    summary = (
        "Samples on which one of two models alone is right: how often most people prefer its image. Ties among "
        "people are left out; Wilson's intervals over samples."
    )
    return Analysis("people", summary, pd.DataFrame(lines, columns=["model_a", "model_b", "task", *names]))


def _majorities(votes: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """What most people say of a's and b's images of each prompt: 1 for a, -1 for b, 0 a tie."""
    way = ((votes["model_a"] == a) & (votes["model_b"] == b)).astype(int)
    back = ((votes["model_a"] == b) & (votes["model_b"] == a)).astype(int)
    own = votes.assign(vote=votes["vote"] * (way - back))[way + back > 0]
    groups = own.groupby("prompt")["vote"]
    return pd.DataFrame({"most": groups.sum().clip(-1, 1), "votes": groups.size()}).reset_index()


def _counted(part: pd.DataFrame) -> tuple[Any, ...]:
    metric = (part["a"] > part["b"]).map({True: 1, False: -1})
    agree, ties = int((metric == part["most"]).sum()), int((part["most"] == 0).sum())
    clear = len(part) - ties
    low, high = wilson(agree, clear) if clear else (float("nan"), float("nan"))
    share = agree / clear if clear else float("nan")
    return agree, clear - agree, ties, share, low, high, int(part["votes"].sum())
