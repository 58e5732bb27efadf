"""What people say of the images: accuracy by their majority, and how far the metric agrees with it (phi)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis
from t2i_core.io.table import read_table

COLUMNS = ("model", "prompt", "seed", "annotator", "answer")
ANSWERS = {"yes": True, "no": False, "1": True, "0": False}


def read_answers(path: Path) -> pd.DataFrame:
    """Read a CSV file: a line for each person's answer, whether an image shows what its prompt asks for.

    Raises BadOption with file, line and fault.
    """
    rows = read_table(path, BadOption, COLUMNS, escaped=True)
    if not rows:
        raise BadOption(f"{path}: holds no answers")
    seen: set[tuple[str, ...]] = set()
    answers: list[dict[str, Any]] = []
    for row in rows:
        where = f"{path}, line {row.line}"
        said = {name: row.cells.get(name, "") for name in COLUMNS}
        if empty := next((name for name in COLUMNS if not said[name]), None):
            raise BadOption(f"{where}: no {empty}")
        if said["answer"].lower() not in ANSWERS:
            raise BadOption(f"{where}: the answer {said['answer']!r}; want yes or no")
        if not said["seed"].isdecimal():
            raise BadOption(f"{where}: the seed {said['seed']!r}; want a whole number")
        told_apart = tuple(said[name] for name in COLUMNS[:-1])
        if told_apart in seen:
            raise BadOption(f"{where}: {said['annotator']} has answered for this image already")
        seen.add(told_apart)
        answers.append({**said, "seed": int(said["seed"]), "answer": ANSWERS[said["answer"].lower()]})
    return pd.DataFrame(answers)


def majorities(answers: pd.DataFrame) -> pd.DataFrame:
    """What most people say of each image: model, prompt, seed, people, said (1, 0, NaN where it is a tie)."""
    groups = answers.groupby(["model", "prompt", "seed"], as_index=False)["answer"]
    found = groups.agg(people="size", yes="sum")
    share = found["yes"] / found["people"]
    return found.assign(said=np.where(share == 0.5, np.nan, share > 0.5)).drop(columns="yes")


def phi(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The phi coefficient of two lists of 0 and 1; NaN where either is always the same."""
    if len(a) == 0 or a.min() == a.max() or b.min() == b.max():
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def people(path: Path, rows: pd.DataFrame) -> Iterator[Analysis]:
    """Yield for each model and skill how often images are right by people and by the metric, and how they agree.

    rows: decisions, a row for each image
    """
    found = majorities(read_answers(path))
    keys = ["model", "prompt", "seed"]
    own = rows[[*keys, "skill", "value"]].astype({"model": str, "prompt": str, "seed": int, "skill": str})
    both = found.merge(own, on=keys, how="left")
    strange = both[both["value"].isna()]
    if len(strange) == len(both):
        first = strange.iloc[0]
        raise BadOption(
            f"{path}: none of its images is one of the run's; the first is of model {first['model']!r}, prompt "
            f"{first['prompt']!r}, seed {first['seed']}"
        )
    both = both.dropna(subset="value")
    lines = [_line(*names, part) for names, part in both.groupby(["model", "skill"], sort=False)]
    lines.append(_line("all", "all", both))
    table = pd.DataFrame(lines)
    summary = (
        "Accuracy by the majority of people and by the metric on the same images; ties are left out, and so are "
        f"{len(strange)} images that the metric has not decided."
    )
    yield Analysis("people", summary, table, partial(_bars, table))


def _line(model: str, skill: str, part: pd.DataFrame) -> dict[str, Any]:
    clear = part.dropna(subset="said")
    said, value = clear["said"].to_numpy(np.float64), clear["value"].to_numpy(np.float64)
    return {
        "model": model,
        "skill": skill,
        "people": said.mean() if len(clear) else np.nan,
        "metric": value.mean() if len(clear) else np.nan,
        "agreement": (said == value).mean() if len(clear) else np.nan,
        "phi": phi(said, value),
        "images": len(clear),
        "ties": len(part) - len(clear),
        "annotators": part["people"].mean(),
    }


def _bars(table: pd.DataFrame, axes: Any) -> None:
    for i, name in enumerate(("people", "metric")):
        axes.bar([row + i * 0.4 for row in range(len(table))], table[name], 0.4, align="edge", label=name)
    names = [f"{line.model}\n{line.skill}" for line in table.itertuples()]
    axes.set_xticks([row + 0.4 for row in range(len(table))], names, fontsize=7)
    axes.set_ylim(0, 1)
    axes.set_ylabel("accuracy")
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
