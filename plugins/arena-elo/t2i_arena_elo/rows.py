"""Conversion of battles to rows of the table of measurements, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import Evidence, Row
from t2i_core.statistics import Estimate, Question, mean_interval

from .battles import VERDICTS, Battle, Battles, Codes, Verdict

WIN = "win"
NONE = "no-verdict"
LOOK = "look"
"""Facet of rows: share of the prompts up to the end of the battle's round, if pairs are drawn in rounds."""
PROPENSITY = "propensity"
"""Facet of rows: probability with which the pair of images was drawn, in rounds or by what a file says."""
POINTS = {"left": 1.0, "right": 0.0, "tie": 0.5, "both-bad": 0.5}
"""Points of the left model, by verdict."""


def row_of(battle: Battle, first: str, number: int | None = None, judge: str = "") -> Row:
    """Return the row of a battle.

    Args:
        battle: The battle.
        first: The first model of the unit, whose points the row holds.
        number: Distinguishes battles that are equal in everything else.
        judge: Judge of the battles that do not name one.

    Returns:
        A row of the measure `win`, or of `no-verdict` if the battle is not decided.
    """
    turned = battle.left != first
    facets: dict[str, str | int | float] = {
        "verdict": battle.verdict,
        "shown": "second" if turned else "first",
        "rater" if battle.human else "judge": battle.judge,
        "human": "yes" if battle.human else "no",
    }
    if number is not None:
        facets["number"] = number
    if battle.propensity != 1:
        facets[PROPENSITY] = battle.propensity
    if battle.verdict not in POINTS:
        return Row(NONE, 1.0, facets)
    got = POINTS[battle.verdict]
    return Row(WIN, 1 - got if turned else got, facets, _explain(battle), tuple(_show_verdict(battle, judge)))


def _explain(battle: Battle) -> str:
    """Return who won against whom; empty if neither did."""
    if battle.verdict not in ("left", "right"):
        return ""
    winner, loser = (battle.left, battle.right) if battle.verdict == "left" else (battle.right, battle.left)
    return f"{winner} better than {loser}"


def _show_verdict(battle: Battle, judge: str) -> Iterator[Evidence]:
    """Yield for each of the two images the verdict on it, the other model, and who judged."""
    words = {"left": ("better than", "worse than"), "right": ("worse than", "better than")}
    equal = {"tie": "as good as", "both-bad": "bad, as is"}.get(battle.verdict, "")
    who = judge if battle.human else battle.judge or judge  # not the names of people, on pages that are shared
    by = f" ({who})" if who else ""
    left, right = words.get(battle.verdict, (equal, equal))
    yield Evidence(f"{left} {battle.right}{by}", model=battle.left)
    yield Evidence(f"{right} {battle.left}{by}", model=battle.right)


def battles_of(table: pd.DataFrame, *, prompt: str = "prompt", subset: str = "subset") -> Battles:
    """Return the battles of a table of measurements of one metric `elo`, one for each row, in the same order.

    Args:
        table: The rows.
        prompt: Column with the prompt; `cluster` to resample related prompts together.
        subset: Facet of prompts with their category.
    """
    models = _Codes()
    a, b = models.of(table["model_a"]), models.of(table["model_b"])
    turned = (table["shown"].astype(str) == "second").to_numpy()
    texts = {name: _Codes() for name in ("prompt", "subset", "judge")}
    columns = {"prompt": table[prompt], "subset": table.get(subset), "judge": _list_judges(table)}
    blank = pd.Series("", index=table.index)
    codes = {name: texts[name].of(blank if column is None else column) for name, column in columns.items()}
    places = {verdict: code for code, verdict in enumerate(VERDICTS)}
    verdict = table["verdict"].astype(str).map(places).to_numpy(np.int8)
    seed: pd.Series = (
        table["seed"].astype(object).astype("Int64") if "seed" in table else pd.Series(-1, index=table.index)
    )
    human = table["human"].astype(str) == "yes" if "human" in table else pd.Series(False, index=table.index)
    return Battles(
        models=tuple(models.known),
        prompts=tuple(texts["prompt"].known),
        subsets=tuple(texts["subset"].known),
        judges=tuple(texts["judge"].known),
        left=np.where(turned, b, a).astype(np.int32),
        right=np.where(turned, a, b).astype(np.int32),
        verdict=verdict,
        human=human.to_numpy(bool),
        seed=seed.fillna(-1).to_numpy(np.int64),
        time=np.full(len(table), np.nan),
        propensity=_list_propensities(table),
        **codes,
    )


def _list_propensities(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return the probability with which each battle was drawn; 1 if it is unknown."""
    if PROPENSITY not in table:
        return np.ones(len(table))
    return np.asarray(table[PROPENSITY].astype(np.float64).fillna(1.0), np.float64)


def _list_judges(table: pd.DataFrame) -> pd.Series | None:
    """Return who gave each verdict: the person (rater), or the judge; earlier versions had one column for both."""
    judges, raters = table.get("judge"), table.get("rater")
    if raters is None or judges is None:
        return judges if raters is None else raters
    return raters.astype(object).where(raters.notna(), judges.astype(object))


class _Codes:
    """Integer codes of distinct texts, shared by all columns that are encoded with it."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, column: pd.Series) -> Codes:
        codes, distinct = pd.factorize(column.astype(object).fillna("").astype(str))
        own = np.array([self.known.setdefault(text, len(self.known)) for text in distinct], np.int32)
        return own[codes] if len(own) else np.empty(0, np.int32)


def battles_by_pair(battles: Battles) -> Mapping[tuple[str, frozenset[str]], list[Battle]]:
    """Group battles by prompt and pair of models."""
    found: dict[tuple[str, frozenset[str]], list[Battle]] = {}
    for battle in battles:
        found.setdefault((battle.prompt, frozenset((battle.left, battle.right))), []).append(battle)
    return found


def rows_of_unit(battles: list[Battle], first: str, judge: str = "") -> Iterator[Row]:
    """Yield the rows of one unit's battles. Battles that are equal in everything else are numbered."""
    seen: dict[tuple[str, str, Verdict, bool], int] = {}
    for battle in battles:
        alike = (battle.left, battle.judge, battle.verdict, battle.human)
        count = seen[alike] = seen.get(alike, 0) + 1
        yield row_of(battle, first, count if count > 1 else None, judge)


def turn_verdict(verdict: Verdict) -> Verdict:
    """Return the verdict on two images in the other order."""
    turned: dict[Verdict, Verdict] = {"left": "right", "right": "left"}
    return turned.get(verdict, verdict)


def verdict_of(answer: str) -> Verdict:
    """Return the verdict of a battle for a judge's answer. The first image counts as the left one."""
    words = {"first": "left", "second": "right", "both_bad": "both-bad"}
    return cast(Verdict, words.get(answer, answer))


def estimate_mean(rows: pd.DataFrame, question: Question) -> Estimate:
    """Return the mean of one measure of one model, with the interval of a run: over prompts crossed with seeds.

    Args:
        rows: The rows.
        question: What the interval answers.
    """
    seeds = rows["seed"].astype(str) if "seed" in rows and rows["seed"].notna().all() else None
    return mean_interval(rows["value"].to_numpy(np.float64), rows["cluster"].astype(str), seeds, interval=question)
