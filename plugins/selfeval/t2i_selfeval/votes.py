"""Agreement of decisions with people's preferences, as in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis
from t2i_core.io.answers import LEFT, PREFERENCE, RIGHT, HumanAnswer, locate, read_answers
from t2i_core.io.majority import find_preferred, turn_preference
from t2i_core.statistics import wilson

_SIGNS = {LEFT: 1, RIGHT: -1}


def compare_with_people(
    path: Path, pairs: Iterable[tuple[str, str, pd.DataFrame]], places: Mapping[str, tuple[str, str, int]]
) -> Analysis:
    """Return how often most people prefer the model that alone is right, by pair of models and task.

    Args:
        path: A file of people's answers.
        pairs: Pairs of models with their correctness (`a`, `b`) on each sample, averaged over seeds.
        places: Model, prompt and seed by digest of the image file.

    Raises:
        BadOption: If the file is not valid, or no preference is about two of the run's models and one of its
            samples.
    """
    answers = list(locate(read_answers(path).about(PREFERENCE), places))
    lines, found = [], 0
    for a, b, both in pairs:
        sides = both.groupby(["task", "prompt"], sort=False)[["a", "b"]].mean().reset_index()
        voted = sides.merge(_majorities(answers, a, b), on="prompt")
        found += len(voted)
        apart = voted[voted["a"] != voted["b"]]
        parts = [*apart.groupby("task", sort=False), ("all", apart)] if len(apart) else []
        lines += [(a, b, task, *_count_agreement(part)) for task, part in parts]
    if not found:
        first, second = answers[0].shown
        raise BadOption(
            f"{path}: no preference is about two of the run's models and one of its samples (the first is about "
            f"prompt {answers[0].prompt!r}, models {first.model!r} and {second.model!r}); name answers about it"
        )
    names = ["agree", "disagree", "ties", "agreement", "low", "high", "votes"]
    summary = (
        "Samples that exactly one of two models gets right: how often most people prefer its image. Ties among "
        "people are left out; Wilson intervals over samples."
    )
    return Analysis("people", summary, pd.DataFrame(lines, columns=["model_a", "model_b", "task", *names]))


def _majorities(answers: Sequence[HumanAnswer], a: str, b: str) -> pd.DataFrame:
    """Return what most people prefer for each prompt: 1 for a, -1 for b, 0 for a tie."""
    by_prompt: dict[str, list[str]] = {}
    for answer in answers:
        sides = tuple(side.model for side in answer.shown)
        if sides in ((a, b), (b, a)):
            said = answer.answer if sides == (a, b) else turn_preference(answer.answer)
            by_prompt.setdefault(answer.prompt, []).append(said)
    lines = [(prompt, _SIGNS.get(find_preferred(own)[0], 0), len(own)) for prompt, own in by_prompt.items()]
    return pd.DataFrame(lines, columns=["prompt", "most", "votes"]).astype({"prompt": object})


def _count_agreement(part: pd.DataFrame) -> tuple[Any, ...]:
    metric = (part["a"] > part["b"]).map({True: 1, False: -1})
    agree, ties = int((metric == part["most"]).sum()), int((part["most"] == 0).sum())
    clear = len(part) - ties
    low, high = wilson(agree, clear) if clear else (float("nan"), float("nan"))
    share = agree / clear if clear else float("nan")
    return agree, clear - agree, ties, share, low, high, int(part["votes"].sum())
