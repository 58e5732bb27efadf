"""Do people prefer the images of the model that is right? The paper's agreement with pairwise human votes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis
from t2i_core.io.table import parse_table
from t2i_core.io.text_file import read_text
from t2i_core.statistics import wilson

COLUMNS = ("prompt", "left", "right", "verdict", "judge")
"""Of a table of battles, as `t2i arena export` writes people's votes. If there, `seed` tells images apart, and
`human` people from other judges.
"""

VERDICTS = {"left": 1, "right": -1, "tie": 0, "both-bad": 0, "unparsable": None, "refused": None, "failed": None}
"""Whom a battle's verdict prefers, if it says anything."""


def read_votes(path: Path) -> pd.DataFrame:
    """Read a CSV file of battles: people's votes, which of two models' images shows a caption better.

    Raises BadOption with file, line and fault.
    """
    seen: set[tuple[str, ...]] = set()
    votes: list[dict[str, Any]] = []
    names, rows = parse_table(path, read_text(path, BadOption), BadOption, COLUMNS, escaped=True)
    for row in rows:
        where = f"{path}, line {row.line}"
        if empty := next((name for name in COLUMNS if name not in row.cells), None):
            raise BadOption(f"{where}: no {empty}")
        prompt, left, right, verdict, judge = (row.cells[name] for name in COLUMNS)
        if verdict not in VERDICTS:
            raise BadOption(f"{where}: the verdict {verdict!r}; want left, right, tie or both-bad")
        if left == right:
            raise BadOption(f"{where}: {left!r} is compared with itself")
        vote, person = VERDICTS[verdict], "human" not in names or row.cells.get("human") == "yes"
        if vote is None or not person:
            continue
        told_apart = (prompt, row.cells.get("seed", ""), *sorted((left, right)), judge)
        if told_apart in seen:
            raise BadOption(f"{where}: {judge} has voted on these images already")
        seen.add(told_apart)
        votes.append({"prompt": prompt, "left": left, "right": right, "vote": vote})
    if not votes:
        raise BadOption(f"{path}: holds no person's votes")
    return pd.DataFrame(votes)


def people(path: Path, pairs: Iterable[tuple[str, str, pd.DataFrame]]) -> Analysis:
    """How often most people prefer the model that alone is right, by two models and task.

    pairs: two models, and how right both are (`a`, `b`) on each sample; of several seeds the mean counts

    Raises BadOption where no vote is on two of the run's models and one of its samples.
    """
    votes = read_votes(path)
    lines, found = [], 0
    for a, b, both in pairs:
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
            f"{first['prompt']!r}, models {first['left']!r} and {first['right']!r}"
        )
    names = ["agree", "disagree", "ties", "agreement", "low", "high", "votes"]
    summary = (
        "Samples on which one of two models alone is right: how often most people prefer its image. Ties among "
        "people are left out; Wilson's intervals over samples."
    )
    return Analysis("people", summary, pd.DataFrame(lines, columns=["model_a", "model_b", "task", *names]))


def _majorities(votes: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """What most people say of a's and b's images of each prompt: 1 for a, -1 for b, 0 a tie."""
    way = ((votes["left"] == a) & (votes["right"] == b)).astype(int)
    back = ((votes["left"] == b) & (votes["right"] == a)).astype(int)
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
