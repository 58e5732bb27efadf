"""People's answers compared with the judge's: shares, spreads, agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.statistics import mean_interval

from .agreement import agreement, within_prompts
from .analyses import ALL
from .charts import plot_shares
from .groups import PeopleGroup, read_groups
from .options import BiasOptions
from .people import GRID, HUMAN, UNITS, find_not_human, majorities, read_people
from .people_examples import find_examples
from .spread import one_hot, spread

_OF = {True: "votes", False: "images"}


def compare_with_people(study: Study, options: BiasOptions, path: Path) -> Iterator[Analysis]:
    """Yield comparisons of people's answers about prompts or single images with the judge's.

    Args:
        study: The measurements of a run.
        options: Options of the metric.
        path: File of people's answers.

    Raises:
        BadOption: The file is not valid, or is about none of the run's images and groups.
    """
    groups = read_groups(options.groups, options.only)
    found = majorities(read_people(path, groups, find_places(study.samples)), options.majority)
    absent = find_not_human(found)
    both = _join_judge(found, study.table, path)
    counted = both
    if options.not_human == "leave-out":
        counted = both[[unit not in absent for unit in both[UNITS].itertuples(index=False, name=None)]]
    lines, parts = [], []
    for (model, name, grid), asked in both.groupby(["model", "question", "grid"], sort=False):
        own = asked.loc[asked.index.intersection(counted.index)]
        part = _Part(str(model), str(name), _OF[bool(grid)], own[own["majority"] != ""])
        parts.append(part)
        head = {"model": part.model, "group": part.group, "of": part.of}
        left = {"asked": len(asked), "not human": len(asked) - len(own), "unclear": len(own) - len(part.clear)}
        lines.append({**head, **left, "n": len(part.clear), **_compare(part.clear, groups[part.group])})
    summary = (
        f"People's majorities ({_RULES[options.majority]}) and the judge's answers on the same votes or images: "
        "STD and MAD of both, share of equal answers, Cohen's kappa and phi (Gorodkin's R_K for more than two "
        "categories) with 95 % intervals over prompts. If shares are even, STD and MAD are 0; the columns "
        "`one-hot` have their values if one category has all answers (DALL-Eval, Table 9)."
    )
    yield Analysis("people", summary, pd.DataFrame(lines))
    for name in dict.fromkeys(part.group for part in parts if len(part.clear)):
        yield _shares(name, groups[name], [part for part in parts if part.group == name and len(part.clear)])
    yield from find_examples(study, counted, groups)


@dataclass(frozen=True)
class _Part:
    """Answers of people and of the judge about one group, for one model.

    Attributes:
        model: Label of the model.
        group: Name of the group.
        of: Kind of the judged units: votes or images.
        clear: The answers on which people have a majority.
    """

    model: str
    group: str
    of: str
    clear: pd.DataFrame


_RULES = {"most": "the most frequent answer", "half": "the answer of more than half of the people"}
_WHO = {"people": "majority", "judge": "judged"}
"""The columns of people's and the judge's answers."""


def _join_judge(found: pd.DataFrame, table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Join people's majorities with the judge's answers, without those about images that the run does not have."""
    own = found[found["question"] != HUMAN]
    categories = _find_categories(table)
    judged = pd.concat([_judge_answers(table, "vote-share"), _judge_answers(table, "image-share")])
    both = own.merge(judged, on=[*UNITS, "question"], how="inner").assign(
        grid=lambda t: t["seed"] == GRID,
        category=lambda t: t["prompt"].map(lambda prompt: categories.get(prompt, "")),
    )
    if both.empty:
        first = found.iloc[0]
        seed = "" if first["seed"] == GRID else f", seed {first['seed']}"
        raise BadOption(
            f"{path}: none of the answers is about the run's images and groups; the first is about model "
            f"{first['model']!r}, prompt {first['prompt']!r}{seed}"
        )
    return both


def _find_categories(table: pd.DataFrame) -> dict[str, str]:
    """Return the category of each prompt that has one."""
    if "category" not in table:
        return {}
    known = table.dropna(subset="category").drop_duplicates("prompt")
    return dict(zip(known["prompt"].astype(str), known["category"].astype(str), strict=True))


def _judge_answers(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the judge's answers: the category that each prompt votes for, or that each image is nearest to."""
    rows = table[(table["measure"] == measure) & (table["value"] == 1)]
    of_prompts = measure == "vote-share"
    group = rows["group"].astype(str)
    answers = [a.removeprefix(f"{g}: ") for a, g in zip(rows["answer"].astype(str), group, strict=True)]
    return pd.DataFrame(
        {
            "model": rows["model"].astype(str),
            "prompt": rows["prompt"].astype(str),
            "seed": GRID if of_prompts else rows["seed"].astype(int),
            "question": group,
            "judged": answers,
        }
    )


def _compare(clear: pd.DataFrame, group: PeopleGroup) -> dict[str, Any]:
    """Return the spreads of people's and the judge's answers and their agreement; NaN without answers."""
    line: dict[str, Any] = {}
    codes = {who: _codes(clear[column], group) for who, column in _WHO.items()}
    for who, own in codes.items():
        found = spread(np.bincount(own, minlength=len(group.names))) if len(own) else None
        line |= {
            f"std {who}": found.std if found else np.nan,
            f"mad {who}": found.mad if found else np.nan,
            f"mad-n-1 {who}": found.printed if found else np.nan,
            f"mad-per-prompt {who}": within_prompts(own, clear["prompt"], len(group.names)),
        }
    end = one_hot(len(group.names))
    line |= {"std one-hot": end.std, "mad one-hot": end.mad, "mad-n-1 one-hot": end.printed}
    return line | agreement(codes["people"], codes["judge"], clear["prompt"].to_numpy())


def _codes(answers: pd.Series, group: PeopleGroup) -> NDArray[np.intp]:
    return np.array([group.names.index(answer) for answer in answers], np.intp)


def _shares(name: str, group: PeopleGroup, parts: Sequence[_Part]) -> Analysis:
    """Return the shares of people's and the judge's answers for one group, for all prompts and by category.

    References:
        DALL-Eval, Figure 7.
    """
    lines = []
    for part in parts:
        levels = [(ALL, part.clear)]
        if part.clear["category"].any():
            levels += [(str(level), own) for level, own in part.clear.groupby("category", sort=False)]
        for category, own in levels:
            for who, column in _WHO.items():
                for answer in group.names:
                    share = mean_interval(
                        (own[column] == answer).to_numpy(np.float64),
                        own["prompt"].to_numpy(), None, low=0, high=1, strata=own["category"].to_numpy(),
                    )  # fmt: skip
                    head = {"model": part.model, "of": part.of, "category": category, "who": who, "answer": answer}
                    ends = {"share": share.value, "low": share.lo, "high": share.hi, "n": len(own)}
                    lines.append({**head, **ends})
    table = pd.DataFrame(lines)
    several = ("of",) if table["of"].nunique() > 1 else ()
    figure = plot_shares(table, "share of answers", 1 / len(group.names), (*several, "category", "who"))
    summary = (
        f"Shares of answers by {name} for all prompts and for each category of prompts: people's majorities, and "
        "the judge on the same votes or images, which are counted separately (DALL-Eval, Figure 7)."
    )
    return Analysis(f"people {name}", summary, table, figure)
