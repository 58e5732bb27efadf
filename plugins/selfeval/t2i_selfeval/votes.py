"""People's preferences beside decisions: by task, and where only one of two models is right, as in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import ForestPlot
from t2i_core.api.study import Analysis
from t2i_core.io.answers import LEFT, PREFERENCE, RIGHT, HumanAnswer, locate, read_answers
from t2i_core.io.majority import find_preferred, turn_preference
from t2i_core.statistics import Question, mean_interval, wilson

_SIGNS = {LEFT: 1, RIGHT: -1}
Places = Mapping[str, tuple[str, str, int]]


def compare_with_people(path: Path, pairs: Iterable[tuple[str, str, pd.DataFrame]], places: Places) -> Analysis:
    """Return how often most people prefer the model that alone is right, by pair of models and task.

    Args:
        path: A file of people's answers.
        pairs: Pairs of models with their correctness (`a`, `b`) on each sample, averaged over seeds.
        places: Model, prompt and seed by digest of the image file.

    Raises:
        BadOption: If the file is not valid, or no preference is about two of the run's models and one of its
            samples.
    """
    answers = _read_preferences(path, places)
    lines, found = [], 0
    for a, b, both in pairs:
        sides = both.groupby(["task", "prompt"], sort=False)[["a", "b"]].mean().reset_index()
        voted = sides.merge(_majorities(answers, a, b), on="prompt")
        found += len(voted)
        apart = voted[voted["a"] != voted["b"]]
        parts = [*apart.groupby("task", sort=False), ("all", apart)] if len(apart) else []
        lines += [(a, b, task, *_count_agreement(part)) for task, part in parts]
    if not found:
        raise _refuse_answers(path, answers)
    names = ["agree", "disagree", "ties", "agreement", "low", "high", "votes"]
    summary = (
        "Samples that exactly one of two models gets right: how often most people prefer its image. Ties among "
        "people are left out; Wilson intervals over samples."
    )
    return Analysis("people", summary, pd.DataFrame(lines, columns=["model_a", "model_b", "task", *names]))


def set_beside_people(
    path: Path, models: Iterable[tuple[str, str]], tasks: pd.DataFrame, places: Places, interval: Question
) -> Analysis:
    """Return each task's accuracy minus chance of two models beside people's preferences between them.

    Args:
        path: A file of people's answers.
        models: Pairs of models.
        tasks: The analysis `tasks`: accuracy minus chance by model and task, with the samples of each task in the
            column `prompts`.
        places: Model, prompt and seed by digest of the image file.
        interval: The question of the run's intervals.

    Returns:
        The analysis; without clear preferences, a table without rows and a summary that says so.

    Raises:
        BadOption: If the file is not valid, or no preference is about two of these models and one of the samples.
    """
    answers = _read_preferences(path, places)
    lines, ties = [], 0
    for a, b in models:
        for task, own in tasks.groupby("task", sort=False):
            prompts = frozenset().union(*own["prompts"])
            asked = [
                answer
                for answer in answers
                if answer.prompt in prompts and {side.model for side in answer.shown} == {a, b}
            ]
            wins = [
                (answer.prompt, answer.shown[answer.answer == RIGHT].model)
                for answer in asked
                if answer.answer in _SIGNS
            ]
            ties += len(asked) - len(wins)
            by_model = own.set_index("model")
            for model in (a, b) if wins else ():
                e = mean_interval(
                    [100 * (winner == model) for _, winner in wins],
                    [prompt for prompt, _ in wins],
                    range(len(wins)),
                    interval=interval,
                    low=0,
                    high=100,
                    crossed=False,
                )
                measured = by_model.loc[model, ["above_chance", "low", "high"]]
                lines.append((f"{a}, {b}", task, model, e.value, e.lo, e.hi, *measured, len(wins)))
    if not lines and not ties:
        raise _refuse_answers(path, answers)
    names = ["models", "task", "model", "people", "people low", "people high"]
    found = pd.DataFrame(lines, columns=[*names, "above_chance", "low", "high", "preferences"])
    if found.empty:
        return Analysis("people by task", f"All {ties} preferences between the run's models are ties.", found)
    summary = (
        "Share of people's clear preferences (no ties) between two models' images of the samples' captions, and "
        "accuracy minus chance, in per cent. People's intervals are over captions."
    )
    return Analysis("people by task", summary, found, _plot_both(found))


def _plot_both(found: pd.DataFrame) -> ForestPlot:
    """Draw people's preferences and accuracy minus chance side by side."""
    halves = {
        "people": ("people", "people low", "people high", 50),
        "SelfEval": ("above_chance", "low", "high", 0),
    }
    parts = [
        found[["models", "task", "model"]].assign(
            measure=measure, value=found[value], low=found[low], high=found[high], chance=chance
        )
        for measure, (value, low, high, chance) in halves.items()
    ]
    return ForestPlot(
        label="task",
        value="value",
        colour="model",
        facet=("measure", "models"),
        ticks={"chance": "no difference, or chance"},
        title="per cent",
        shared=False,
        note="People: share of the clear preferences. SelfEval: accuracy minus chance.",
        data=pd.concat(parts, ignore_index=True),
    )


def _read_preferences(path: Path, places: Places) -> list[HumanAnswer]:
    return list(locate(read_answers(path).about(PREFERENCE), places))


def _refuse_answers(path: Path, answers: Sequence[HumanAnswer]) -> BadOption:
    first, second = answers[0].shown
    return BadOption(
        f"{path}: no preference is about two of the run's models and one of its samples (the first is about "
        f"prompt {answers[0].prompt!r}, models {first.model!r} and {second.model!r}); name answers about it"
    )


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
