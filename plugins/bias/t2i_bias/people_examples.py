"""Prompts on which people agree with each other, or on which people and the judge agree or differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from t2i_core.api.figure import Mosaic
from t2i_core.api.image import Image
from t2i_core.api.study import Analysis, Study

from .groups import PeopleGroup
from .people import GRID

SHOWN = 8
"""Number of agreements, and of disagreements, to show with their images."""
COLUMNS = 9
"""Maximum number of images of each."""
_NAMES = {"question": "group", "majority": "people", "judged": "judge"}


def find_examples(study: Study, both: pd.DataFrame, groups: Mapping[str, PeopleGroup]) -> Iterator[Analysis]:
    """Yield unanimous answers, and the agreements and disagreements with images.

    Args:
        study: The measurements of a run.
        both: People's majorities and the judge's answers, one row for each vote or image and group.
        groups: The groups.
    """
    yield _list_unanimous(both)
    yield _count_unanimous(both, groups)
    clear = both[both["majority"] != ""]
    equal = clear["majority"] == clear["judged"]
    yield _show_examples(study, clear[equal], "agreements", "agree")
    yield _show_examples(study, clear[~equal], "disagreements", "differ")


def _find_unanimous(both: pd.DataFrame) -> pd.DataFrame:
    return both[both["unanimous"] & (both["annotators"] > 1)]


def _list_unanimous(both: pd.DataFrame) -> Analysis:
    """Return the prompts or images for which all annotators give the same answer.

    References:
        DALL-Eval, Table 10.
    """
    own = _find_unanimous(both)
    table = own[["model", "question", "category", "prompt", "seed", "majority", "annotators", "judged"]]
    table = table.assign(seed=_name_seeds(table))
    table = table.sort_values(["model", "question", "category", "majority", "prompt"], kind="stable")
    summary = (
        "Prompts or images for which all annotators, at least two, give the same answer (DALL-Eval, Table 10)."
    )
    return Analysis("unanimous", summary, table.rename(columns=_NAMES))


def _count_unanimous(both: pd.DataFrame, groups: Mapping[str, PeopleGroup]) -> Analysis:
    """Return how often all annotators give the same answer, by category of prompts, each with an example.

    References:
        DALL-Eval, Table 10.
    """
    unanimous = _find_unanimous(both)
    lines = []
    for (model, name, category), asked in both.groupby(["model", "question", "category"], sort=False):
        own = unanimous[(unanimous["model"] == model) & (unanimous["question"] == name)]
        own = own[own["category"] == category]
        for answer in groups[str(name)].names:
            said = own[own["majority"] == answer].sort_values("annotators", ascending=False, kind="stable")
            example = str(said["prompt"].iloc[0]) if len(said) else "-"
            counts = {"unanimous": len(said), "asked": len(asked), "example": example}
            lines.append({"model": model, "group": name, "category": category, "answer": answer, **counts})
    summary = (
        "Number of prompts or images for which all annotators, at least two, give the same answer, by category of "
        "prompts, with an example (DALL-Eval, Table 10; - if no prompt is unanimous)."
    )
    return Analysis("unanimous by category", summary, pd.DataFrame(lines))


def _show_examples(study: Study, own: pd.DataFrame, name: str, verb: str) -> Analysis:
    """Return prompts or images on which people and the judge agree or differ, unanimous people first.

    References:
        DALL-Eval, Figure 8.
    """
    own = own.sort_values(["unanimous", "annotators"], ascending=False, kind="stable")
    several = own["model"].nunique() > 1
    rows = [
        (
            f"{line.prompt}{f' ({line.model})' if several else ''}\n"
            f"{line.question}: people {line.majority}, judge {line.judged}",
            _find_images(study, line)[:COLUMNS],
        )
        for line in own.head(SHOWN).itertuples(index=False)
    ]
    columns = ["model", "question", "category", "prompt", "seed", "majority", "judged", "annotators", "unanimous"]
    table = own[columns].assign(seed=_name_seeds(own))
    summary = (
        f"Prompts or images on which people's majority and the judge {verb}, with images of the first {SHOWN} "
        "(DALL-Eval, Figure 8)."
    )
    return Analysis(name, summary, table.rename(columns=_NAMES), Mosaic(rows, side=96) if rows else None)


def _name_seeds(rows: pd.DataFrame) -> pd.Series:
    return rows["seed"].map(lambda seed: "all" if seed == GRID else seed)


def _find_images(study: Study, line: Any) -> list[Image]:
    """Return the images that an answer is about, sorted by seed."""
    samples = study.samples
    own = samples[
        (samples["model"] == line.model) & (samples["prompt"] == line.prompt) & (samples["status"] == "ok")
    ]
    if line.seed != GRID:
        own = own[own["seed"] == line.seed]
    return list(study.images[own.sort_values("seed").index])
