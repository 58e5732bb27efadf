"""`t2i arena tally`: ratings from the verdicts of people and models, and the agreement between judges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.text import escape_control_characters
from t2i_core.io.answers import CANNOT_TELL, NOBODY, HumanAnswer

from .agreement import GivenAnswer, alpha, verdicts
from .battles import DECIDED, VERDICTS, Battle, Battles
from .rating_format import as_lines, plain
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
        verdicts: Outcomes of the battles of each judge.
        agreement: Alpha of people, of people and models, and of each question about images.
        seen: Counts of people's answers about images.
        left_out: Number of answers that do not count, by reason.
    """

    ratings: dict[str, Ratings]
    verdicts: list[dict[str, Any]]
    agreement: list[dict[str, Any]]
    seen: list[dict[str, Any]]
    left_out: dict[str, int]

    def plain(self) -> dict[str, Any]:
        """Return the tally as data for JSON."""
        return {**vars(self), "ratings": {name: plain(ratings) for name, ratings in self.ratings.items()}}


def tally(
    sources: Sequence[VoteSource], ties: Ties = "half", rounds: int = 1000, order: bool = True
) -> SourceTally:
    """Rate models by the battles of all sources, and compute the agreement between judges.

    Args:
        sources: Files and runs.
        ties: How ties count, as in `rate`.
        rounds: Number of bootstrap rounds.
        order: Whether to fit the advantage of being shown first.

    Raises:
        BadOption: If no vote counts.
    """
    battles = list(chain.from_iterable(source.battles for source in sources))
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
    several = len({answer.judge for given in kinds.values() for answer in given}) > 1
    left_out: Counter[str] = Counter()
    for source in sources:
        left_out.update(dict(source.left_out))
    return SourceTally(
        {
            name: rate(Battles.of(part), ties=ties, order=order, rounds=rounds)
            for name, part in parts.items()
            if part
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


def _table(rows: Sequence[dict[str, Any]]) -> str:
    return pd.DataFrame(rows).to_string(index=False)
