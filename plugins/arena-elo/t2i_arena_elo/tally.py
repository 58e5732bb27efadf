"""`t2i arena tally`: ratings from the verdicts of people and models, and the agreement between judges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption
from t2i_core.api.text import escape_control_characters
from t2i_core.io.answers import CANNOT_TELL, NOBODY, HumanAnswer

from .agreement import GivenAnswer, alpha, verdicts
from .battles import DECIDED, VERDICTS, Battle, Battles, split_subsets
from .online import rate_online
from .rating_format import MARK, as_lines, plain
from .ratings import Ratings, Ties, rate
from .sources import VoteSource

PEOPLE, TOGETHER = "people", "together"
NO_WINNER = ("tie", "both-bad")
"""Verdicts that `alpha without ties` leaves out."""


@dataclass(frozen=True)
class SourceTally:
    """Ratings, verdicts and agreement from all sources.

    Attributes:
        ratings: Ratings by people, by each judge model and, if there are several of these, by all together.
        by_subset: The same for each subset, if the battles name several; a battle may be in several subsets.
        online: Online Elo of the same battles, a row for each model; empty unless a K-factor is given.
        verdicts: Outcomes of the battles of each judge.
        agreement: Alpha of people, of people and models, and of each question about images.
        seen: Counts of people's answers about images.
        left_out: Number of answers that do not count, by reason.
    """

    ratings: dict[str, Ratings]
    by_subset: dict[str, dict[str, Ratings]]
    online: dict[str, list[dict[Hashable, Any]]]
    verdicts: list[dict[str, Any]]
    agreement: list[dict[str, Any]]
    seen: list[dict[str, Any]]
    left_out: dict[str, int]

    def plain(self) -> dict[str, Any]:
        """Return the tally as data for JSON."""
        return {
            **vars(self),
            "ratings": {name: plain(ratings) for name, ratings in self.ratings.items()},
            "by_subset": {
                name: {subset: plain(ratings) for subset, ratings in of.items()}
                for name, of in self.by_subset.items()
            },
        }


def tally(
    sources: Sequence[VoteSource],
    ties: Ties = "half",
    rounds: int = 1000,
    order: bool = True,
    k_factor: float | None = None,
) -> SourceTally:
    """Rate models by the battles of all sources, and compute the agreement between judges.

    Args:
        sources: Files and runs.
        ties: How ties count, as in `rate`.
        rounds: Number of bootstrap rounds.
        order: Whether to fit the advantage of being shown first.
        k_factor: K-factor of online Elo; None to leave that out.

    Raises:
        BadOption: If no vote counts.
    """
    battles = _pool(sources)
    answers = list(chain.from_iterable(source.answers for source in sources))
    if not battles and not answers:
        raise BadOption(f"{', '.join(source.name for source in sources)}: no vote that counts")
    people = [battle for battle in battles if battle.human]
    models: dict[str, list[Battle]] = {}
    for battle in battles:
        if not battle.human:
            models.setdefault(_title(battle.judge), []).append(battle)
    parts = {PEOPLE: people, **dict(sorted(models.items()))}
    if sum(map(bool, parts.values())) > 1:
        parts = {TOGETHER: battles, **parts}
    kinds = {"verdicts of people": verdicts(people)}
    if models:
        kinds["verdicts of people and models"] = verdicts(battles)
    for question in dict.fromkeys(answer.question for answer in answers):
        kinds[f"{question}, as people saw it"] = _units(answers, question)
    voted = {name: Battles.of(part) for name, part in parts.items() if part}
    several = len({answer.judge for given in kinds.values() for answer in given}) > 1
    left_out: Counter[str] = Counter()
    for source in sources:
        left_out.update(dict(source.left_out))
    return SourceTally(
        {name: rate(part, ties=ties, order=order, rounds=rounds) for name, part in voted.items()},
        {
            name: {level: rate(own, ties=ties, order=order, rounds=rounds) for level, own in levels.items()}
            for name, part in voted.items()
            if len(levels := split_subsets(part)) > 1
        },
        {}
        if k_factor is None
        else {
            name: rate_online(part, k_factor=k_factor, ties=ties).to_dict("records")
            for name, part in voted.items()
        },
        _verdicts(battles),
        [_agreement(of, given) for of, given in kinds.items() if given and several],
        [
            {"model": model, "question": question, "answer": answer, "count": count}
            for (model, question, answer), count in sorted(
                Counter((a.shown[0].model, a.question, a.answer) for a in answers).items()
            )
        ],
        dict(left_out),
    )


def _pool(sources: Sequence[VoteSource]) -> list[Battle]:
    """Return the battles of all sources; those of people, and of each judge, have mean weight 1 in each source.

    A battle weighs inversely to its propensity. So a source that drew few pairs would outweigh one that drew all.
    Only ratios of propensities count: the largest is 1.
    """
    scaled = [_scale_propensities(source.battles) for source in sources]
    most = max((each.max(initial=0.0) for each in scaled), default=1.0)
    return [
        battle
        for source, own in zip(sources, scaled, strict=True)
        for battle in replace(source.battles, propensity=own / most)
    ]


def _scale_propensities(battles: Battles) -> NDArray[np.float64]:
    """Return propensities, (n,), whose inverse has mean 1 over the battles of people and of each judge."""
    found = battles.propensity.copy()
    whose = np.where(battles.human, -1, battles.judge)
    for each in np.unique(whose):
        own = whose == each
        found[own] *= (1 / found[own]).mean()
    return found.round(12)


def _units(answers: Iterable[HumanAnswer], question: str) -> list[GivenAnswer]:
    """Return the answers to one question; the last counts if several files have one of the same person."""
    last = {
        (answer.shown, answer.prompt, answer.rater): answer.answer
        for answer in answers
        if answer.question == question and answer.answer != CANNOT_TELL
    }
    return [GivenAnswer((shown, prompt), rater, value, prompt) for (shown, prompt, rater), value in last.items()]


def _agreement(of: str, answers: list[GivenAnswer]) -> dict[str, Any]:
    line: dict[str, Any] = {"of": of}
    decided, _ = alpha(answers, NO_WINNER)
    found, units = alpha(answers)
    for name, one in (("alpha", found), ("alpha without ties", decided)):
        ends = {name: one.value, f"{name} low": one.lo, f"{name} high": one.hi}
        line |= {key: None if math.isnan(value) else value for key, value in ends.items()}
    return line | {"units": units, "judges": len({answer.judge for answer in answers})}


def _write_alpha(line: dict[str, Any], name: str) -> str:
    value, low, high = line[name], line[f"{name} low"], line[f"{name} high"]
    if value is None:
        return "none"
    return f"{value:.3f}" if low is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _title(judge: str) -> str:
    """Return the name of a judge model among the ratings."""
    return f"judge {judge}" if judge in (PEOPLE, TOGETHER) else judge or NOBODY


def _verdicts(battles: Iterable[Battle]) -> list[dict[str, Any]]:
    """Count the outcomes of each judge's battles, people first."""
    ended: dict[tuple[bool, str], Counter[str]] = {}
    for battle in battles:
        ended.setdefault((not battle.human, battle.judge), Counter())[battle.verdict] += 1
    return [
        {"judge": judge or NOBODY, "human": not model, "battles": of.total(), **{v: of[v] for v in VERDICTS}}
        for (model, judge), of in sorted(ended.items())
    ]


def as_text(found: SourceTally) -> str:
    """Return a tally as text."""
    parts = [f"ratings, {name}\n{as_lines(ratings)}" for name, ratings in found.ratings.items()]
    for name, levels in found.by_subset.items():
        parts.append(f"ratings by subset, {name}\n{_write_subsets(levels)}")
    for name, lines in found.online.items():
        shown = pd.DataFrame(lines).round(1).rename(columns={"low": "2.5 %", "high": "97.5 %"})
        parts.append(
            f"online Elo, {name}: `rating` in the order of the battles, the rest over shuffled orders\n"
            f"{shown.to_string(index=False)}"
        )
    if found.verdicts:
        rows = [{**row, "human": "yes" if row["human"] else "no"} for row in found.verdicts]
        used = [name for name in rows[0] if name not in VERDICTS[DECIDED:] or any(row[name] for row in rows)]
        parts.append(f"verdicts\n{_table([{name: row[name] for name in used} for row in rows])}")
    if found.seen:
        parts.append(f"seen by people\n{_table(found.seen)}")
    if found.agreement:
        rows = [
            {
                "of": line["of"],
                **{name: _write_alpha(line, name) for name in ("alpha", "alpha without ties")},
                "units": line["units"],
                "judges": line["judges"],
            }
            for line in found.agreement
        ]
        parts.append(
            "Krippendorff's alpha, nominal, over units that two or more judged, with 95 % intervals over prompts, "
            f"for these judges\n{_table(rows)}"
        )
        if not all(row["units"] for row in rows):
            parts[-1] += "\nalpha needs items that two judges have judged; t2i people serve --each 2 collects them"
    if found.left_out:
        why = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
        parts.append(f"answers that do not count: {why}")
    return "\n".join(escape_control_characters(line) for line in "\n\n".join(parts).split("\n"))


def _write_subsets(levels: Mapping[str, Ratings]) -> str:
    """Return a table with a line for each model and a column for each subset, and the notes of each subset."""
    cells: dict[str, dict[str, str]] = {}
    for level, ratings in levels.items():
        for row in ratings.table.to_dict("records"):
            cells.setdefault(row["model"], {})[level] = _write_rating(row)
    lines = [pd.DataFrame.from_dict(cells, orient="index").fillna("").to_string()]
    lines += [f"note on {level}: {note}" for level, ratings in levels.items() for note in ratings.notes]
    return "\n".join(lines)


def _write_rating(row: Mapping[Hashable, Any]) -> str:
    if math.isnan(row["rating"]):
        return ""
    mark = MARK if row["regularised"] else ""
    interval = "" if math.isnan(row["low"]) else f" [{row['low']:.0f}, {row['high']:.0f}]"
    return f"{row['rating']:.0f}{mark}{interval}"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    return pd.DataFrame(rows).to_string(index=False)
