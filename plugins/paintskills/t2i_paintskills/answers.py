"""People's answers about the images: accuracy by their majority, and the metric's agreement with it (phi)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis
from t2i_core.io.table import read_table
from t2i_core.statistics import phi

COLUMNS = ("model", "prompt", "seed", "annotator", "answer")
ANSWERS = {"yes": True, "no": False, "1": True, "0": False}


def read_answers(path: Path) -> pd.DataFrame:
    """Read a CSV file of people's answers whether an image shows what its prompt asks for, one line per answer.

    Returns:
        Columns model, prompt, seed, annotator and answer (a boolean).

    Raises:
        BadOption: The file is not valid. The message names file, line and problem.
    """
    rows = read_table(path, BadOption, COLUMNS, escaped=True)
    if not rows:
        raise BadOption(f"{path}: no answers; the file must have a line for each answer")
    seen: set[tuple[str, ...]] = set()
    answers: list[dict[str, Any]] = []
    for row in rows:
        where = f"{path}, line {row.line}"
        cells = {name: row.cells.get(name, "") for name in COLUMNS}
        if empty := next((name for name in COLUMNS if not cells[name]), None):
            raise BadOption(f"{where}: column '{empty}' is empty; fill it in or delete the line")
        if cells["answer"].lower() not in ANSWERS:
            raise BadOption(f"{where}: answer must be yes or no (got {cells['answer']!r})")
        if not cells["seed"].isdecimal():
            raise BadOption(f"{where}: seed must be a whole number (got {cells['seed']!r})")
        key = tuple(cells[name] for name in COLUMNS[:-1])
        if key in seen:
            raise BadOption(f"{where}: {cells['annotator']} answers twice for this image; delete one of the lines")
        seen.add(key)
        answers.append({**cells, "seed": int(cells["seed"]), "answer": ANSWERS[cells["answer"].lower()]})
    return pd.DataFrame(answers)


def majorities(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answer of most people for each image.

    Returns:
        Columns model, prompt, seed, people (their number) and majority (1 for yes, 0 for no, NaN for a tie).
    """
    groups = answers.groupby(["model", "prompt", "seed"], as_index=False)["answer"]
    found = groups.agg(people="size", yes="sum")
    share = found["yes"] / found["people"]
    return found.assign(majority=np.where(share == 0.5, np.nan, share > 0.5)).drop(columns="yes")


def compare_with_people(path: Path, rows: pd.DataFrame) -> Iterator[Analysis]:
    """Yield accuracy by people and by the metric for each model and skill, and their agreement.

    Args:
        path: File of people's answers.
        rows: The metric's decisions, one row for each image.

    Raises:
        BadOption: The file is not valid, or is about none of the run's images.
    """
    found = majorities(read_answers(path))
    keys = ["model", "prompt", "seed"]
    own = rows[[*keys, "skill", "value"]].astype({"model": str, "prompt": str, "seed": int, "skill": str})
    both = found.merge(own, on=keys, how="left")
    undecided = both[both["value"].isna()]
    if len(undecided) == len(both):
        first = undecided.iloc[0]
        raise BadOption(
            f"{path}: none of the answers is about an image of the run; the first is about model "
            f"{first['model']!r}, prompt {first['prompt']!r}, seed {first['seed']}"
        )
    both = both.dropna(subset="value")
    lines = [_line(*names, part) for names, part in both.groupby(["model", "skill"], sort=False)]
    lines.append(_line("all", "all", both))
    table = pd.DataFrame(lines)
    summary = (
        "Accuracy by the majority of people and by the metric on the same images, without ties and without "
        f"{len(undecided)} images for which the metric has no decision. phi has a 95 % interval over prompts."
    )
    kept = ["model", "skill", "images"]
    long = table.melt(kept, ["people", "metric"], var_name="judged by", value_name="accuracy")
    figure = BarChart(
        label=("model", "skill"), value="accuracy", colour="judged by", range=(0, 1), data=long, hover=["images"]
    )
    yield Analysis("people", summary, table, figure)


def _line(model: str, skill: str, part: pd.DataFrame) -> dict[str, Any]:
    clear = part.dropna(subset="majority")
    majority, value = clear["majority"].to_numpy(np.float64), clear["value"].to_numpy(np.float64)
    agreed = phi(majority, value, clear["prompt"])
    return {
        "model": model,
        "skill": skill,
        "people": majority.mean() if len(clear) else np.nan,
        "metric": value.mean() if len(clear) else np.nan,
        "agreement": (majority == value).mean() if len(clear) else np.nan,
        "phi": agreed.value,
        "phi low": agreed.lo,
        "phi high": agreed.hi,
        "images": len(clear),
        "ties": len(part) - len(clear),
        "annotators": part["people"].mean(),
    }
