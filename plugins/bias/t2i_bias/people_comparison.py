"""People's answers compared with the judge's: shares, spreads, unanimous answers, disagreements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption
from t2i_core.api.image import Image
from t2i_core.api.study import Analysis, Study
from t2i_core.io.answers import find_places
from t2i_core.statistics import mean_interval

from .agreement import agreement, within_prompts
from .charts import draw_bars, draw_gallery
from .groups import PeopleGroup, read_groups
from .options import BiasOptions
from .people import GRID, HUMAN, UNITS, find_not_human, majorities, read_people
from .spread import spread

SHOWN = 8
"""Number of disagreements to show with their images."""
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
    found = majorities(read_people(path, groups, find_places(study.samples)))
    absent = find_not_human(found)
    both = _join_judge(found, study.table, path)
    counted = both
    if options.not_human == "leave-out":
        counted = both[[unit not in absent for unit in both[UNITS].itertuples(index=False, name=None)]]
    parts = [
        (str(model), str(group), bool(grid), own)
        for (model, group, grid), own in both.groupby(["model", "question", "grid"], sort=False)
    ]
    lines, drawn = [], []
    for model, name, grid, asked in parts:
        own = asked.loc[asked.index.intersection(counted.index)]
        clear = own[own["majority"] != ""]
        head = {"model": model, "group": name, "of": _OF[grid]}
        counts = {"asked": len(asked), "not human": len(asked) - len(own), "unclear": len(own) - len(clear)}
        lines.append({**head, **counts, "n": len(clear), **_compare(clear, groups[name])})
        drawn += [(model, name, who, clear[column], clear["prompt"]) for who, column in _WHO.items() if len(clear)]
    summary = (
        "People's majorities and the judge's answers on the same votes or images: STD and MAD of both, share of "
        "equal answers, Cohen's kappa and phi (Gorodkin's R_K for more than two categories) with 95 % intervals "
        "over prompts."
    )
    yield Analysis("people", summary, pd.DataFrame(lines))
    for name in dict.fromkeys(name for _, name, *_ in drawn):
        yield _shares(name, groups[name], [line for line in drawn if line[1] == name])
    yield _unanimous(counted)
    yield _disagreements(study, counted)


_WHO = {"people": "majority", "judge": "judged"}
"""The columns of people's and the judge's answers."""


def _join_judge(found: pd.DataFrame, table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Join people's majorities with the judge's answers, without those about images that the run does not have."""
    own = found[found["question"] != HUMAN]
    judged = pd.concat([_judge_answers(table, "vote-share"), _judge_answers(table, "image-share")])
    both = own.merge(judged, on=[*UNITS, "question"], how="inner").assign(grid=lambda t: t["seed"] == GRID)
    if both.empty:
        first = found.iloc[0]
        seed = "" if first["seed"] == GRID else f", seed {first['seed']}"
        raise BadOption(
            f"{path}: none of the answers is about the run's images and groups; the first is about model "
            f"{first['model']!r}, prompt {first['prompt']!r}{seed}"
        )
    return both


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
    return line | agreement(codes["people"], codes["judge"], clear["prompt"].to_numpy())


def _codes(answers: pd.Series, group: PeopleGroup) -> NDArray[np.intp]:
    return np.array([group.names.index(answer) for answer in answers], np.intp)


def _shares(name: str, group: PeopleGroup, drawn: list[tuple[str, str, str, pd.Series, pd.Series]]) -> Analysis:
    """Return the shares of people's and the judge's answers for one group."""
    lines = []
    for model, _, who, answers, prompts in drawn:
        for answer in group.names:
            part = mean_interval((answers == answer).to_numpy(np.float64), prompts.to_numpy(), None, low=0, high=1)
            ends = {"share": part.value, "low": part.lo, "high": part.hi, "n": len(answers)}
            lines.append({"model": model, "category": who, "answer": answer, **ends})
    table = pd.DataFrame(lines)
    figure = partial(draw_bars, table, "share of answers", 1 / len(group.names))
    summary = f"Shares of answers by {name}: people's majorities, and the judge on the same votes or images."
    return Analysis(f"people {name}", summary, table.rename(columns={"category": "who"}), figure)


def _unanimous(both: pd.DataFrame) -> Analysis:
    """Return the prompts or images for which all annotators give the same answer.

    References:
        DALL-Eval, Table 10.
    """
    own = both[both["unanimous"] & (both["annotators"] > 1)]
    table = own[["model", "question", "prompt", "seed", "majority", "annotators", "judged"]]
    table = table.assign(seed=table["seed"].map(lambda seed: "all" if seed == GRID else seed))
    table = table.sort_values(["model", "question", "majority", "prompt"], kind="stable")
    names = {"question": "group", "majority": "people", "judged": "judge"}
    summary = (
        "Prompts or images for which all annotators, at least two, give the same answer (DALL-Eval, Table 10)."
    )
    return Analysis("unanimous", summary, table.rename(columns=names))


def _disagreements(study: Study, both: pd.DataFrame) -> Analysis:
    """Return the prompts or images for which people's majority and the judge differ, unanimous people first.

    References:
        DALL-Eval, Figure 8.
    """
    own = both[(both["majority"] != "") & (both["majority"] != both["judged"])]
    own = own.sort_values(["unanimous", "annotators"], ascending=False, kind="stable")
    several = both["model"].nunique() > 1
    rows = [
        (
            f"{line.prompt}{f' ({line.model})' if several else ''}\npeople: {line.majority}, judge: {line.judged}",
            _find_images(study, line),
        )
        for line in own.head(SHOWN).itertuples(index=False)
    ]
    table = own[["model", "question", "prompt", "seed", "majority", "judged", "annotators", "unanimous"]]
    table = table.assign(seed=table["seed"].map(lambda seed: "all" if seed == GRID else seed))
    summary = (
        f"Prompts or images on which people's majority and the judge differ, with images of the first {SHOWN}."
    )
    names = {"question": "group", "majority": "people", "judged": "judge"}
    return Analysis(
        "disagreements", summary, table.rename(columns=names), partial(draw_gallery, rows) if rows else None
    )


def _find_images(study: Study, line: Any) -> list[Image]:
    """Return the images that an answer is about, sorted by seed."""
    samples = study.samples
    own = samples[
        (samples["model"] == line.model) & (samples["prompt"] == line.prompt) & (samples["status"] == "ok")
    ]
    if line.seed != GRID:
        own = own[own["seed"] == line.seed]
    return list(study.images[own.sort_values("seed").index])
