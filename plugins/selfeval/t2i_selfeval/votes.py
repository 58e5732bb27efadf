"""Agreement of decisions with pairwise human votes, as in the paper."""

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
"""Required columns of a table of battles, as `t2i arena export` writes it.

The optional column `seed` distinguishes images of one prompt. If there is a column `human`, only its rows with
`yes` are read.
"""

VERDICTS = {"left": 1, "right": -1, "tie": 0, "both-bad": 0, "unparsable": None, "refused": None, "failed": None}
"""The side that each verdict prefers: left (1), right (-1) or none (0); None if the battle has no verdict."""


def read_votes(path: Path) -> pd.DataFrame:
    """Read people's votes on which of two models' images shows a caption better.

    Args:
        path: A CSV file of battles.

    Returns:
        One row per vote: prompt, left and right (labels of models), vote (1: left, -1: right, 0: tie).

    Raises:
        BadOption: If the file is not valid; the message names the file, the line and the fault.
    """
    seen: set[tuple[str, ...]] = set()
    votes: list[dict[str, Any]] = []
    names, rows = parse_table(path, read_text(path, BadOption), BadOption, COLUMNS, escaped=True)
    for row in rows:
        where = f"{path}, line {row.line}"
        if empty := next((name for name in COLUMNS if name not in row.cells), None):
            raise BadOption(f"{where}: column {empty!r} is empty; fill it in or delete the line")
        prompt, left, right, verdict, judge = (row.cells[name] for name in COLUMNS)
        if verdict not in VERDICTS:
            raise BadOption(f"{where}: verdict must be left, right, tie or both-bad (got {verdict!r})")
        if left == right:
            raise BadOption(f"{where}: left and right must be two different models (got {left!r} twice)")
        vote, person = VERDICTS[verdict], "human" not in names or row.cells.get("human") == "yes"
        if vote is None or not person:
            continue
        key = (prompt, row.cells.get("seed", ""), *sorted((left, right)), judge)
        if key in seen:
            raise BadOption(f"{where}: {judge} voted on these images in an earlier line; delete one of the lines")
        seen.add(key)
        votes.append({"prompt": prompt, "left": left, "right": right, "vote": vote})
    if not votes:
        raise BadOption(f"{path}: has no votes by people; export them with `t2i arena export`")
    return pd.DataFrame(votes)


def compare_with_people(path: Path, pairs: Iterable[tuple[str, str, pd.DataFrame]]) -> Analysis:
    """Return how often most people prefer the model that alone is right, by pair of models and task.

    Args:
        path: A CSV file of people's votes.
        pairs: Pairs of models with their correctness (`a`, `b`) on each sample, averaged over seeds.

    Raises:
        BadOption: If the votes are not valid, or none is about two of the run's models and one of its samples.
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
        lines += [(a, b, task, *_count_agreement(part)) for task, part in parts]
    if not found:
        first = votes.iloc[0]
        raise BadOption(
            f"{path}: no vote is about two of the run's models and one of its samples (the first is about prompt "
            f"{first['prompt']!r}, models {first['left']!r} and {first['right']!r}); use votes on this run"
        )
    names = ["agree", "disagree", "ties", "agreement", "low", "high", "votes"]
    summary = (
        "Samples that exactly one of two models gets right: how often most people prefer its image. Ties among "
        "people are left out; Wilson intervals over samples."
    )
    return Analysis("people", summary, pd.DataFrame(lines, columns=["model_a", "model_b", "task", *names]))


def _majorities(votes: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Return the majority vote between a and b for each prompt: 1 for a, -1 for b, 0 for a tie."""
    way = ((votes["left"] == a) & (votes["right"] == b)).astype(int)
    back = ((votes["left"] == b) & (votes["right"] == a)).astype(int)
    own = votes.assign(vote=votes["vote"] * (way - back))[way + back > 0]
    groups = own.groupby("prompt")["vote"]
    return pd.DataFrame({"most": groups.sum().clip(-1, 1), "votes": groups.size()}).reset_index()


def _count_agreement(part: pd.DataFrame) -> tuple[Any, ...]:
    metric = (part["a"] > part["b"]).map({True: 1, False: -1})
    agree, ties = int((metric == part["most"]).sum()), int((part["most"] == 0).sum())
    clear = len(part) - ties
    low, high = wilson(agree, clear) if clear else (float("nan"), float("nan"))
    share = agree / clear if clear else float("nan")
    return agree, clear - agree, ties, share, low, high, int(part["votes"].sum())
