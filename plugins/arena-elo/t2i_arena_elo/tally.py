"""`t2i arena tally`: people's and models' verdicts rated together, and how far they agree."""

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

from .agreement import Said, alpha, verdicts
from .battles import DECIDED, NOBODY, VERDICTS, Battle, Battles
from .page.questions import UNKNOWN
from .ratings import Ratings, Ties, rate
from .shown import plain, said
from .sources import VoteSource

PEOPLE, TOGETHER = "people", "together"


@dataclass(frozen=True)
class SourceTally:
    """What all sources say.

    ratings:   of people, of each model that judged and, where there are several of these, together
    verdicts:  how each judge's battles ended
    agreement: alpha of people, of people and models, and of each question about images
    seen:      what people saw in images, counted
    left_out:  how many answers do not count, by why
    """

    ratings: dict[str, Ratings]
    verdicts: list[dict[str, Any]]
    agreement: list[dict[str, Any]]
    seen: list[dict[str, Any]]
    left_out: dict[str, int]

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**vars(self), "ratings": {name: plain(ratings) for name, ratings in self.ratings.items()}}


def tally(
    sources: Sequence[VoteSource], ties: Ties = "half", rounds: int = 1000, order: bool = True
) -> SourceTally:
    """Rate models by all battles of all sources, and say how far judges agree, where there are two or more.

    order: fit what it is worth to be shown first

    Raises BadOption where no vote counts.
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
    for question in dict.fromkeys(answer[3] for answer in answers):
        kinds[f"{question}, as people saw it"] = _units(answers, question)
    several = len({judge for said in kinds.values() for _, judge, _ in said}) > 1
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
        [_agreement(of, said) for of, said in kinds.items() if said and several],
        [
            {"model": model, "question": question, "answer": answer, "count": count}
            for (model, question, answer), count in sorted(Counter((a[0], a[3], a[4]) for a in answers).items())
        ],
        dict(left_out),
    )


def _units(answers: Iterable[tuple[str, str, str, str, str]], wanted: str) -> list[Said]:
    return [
        ((model, prompt), annotator, answer)
        for model, prompt, annotator, question, answer in answers
        if question == wanted and answer != UNKNOWN.value
    ]


def _agreement(of: str, said: list[Said]) -> dict[str, Any]:
    value, units = alpha(said)
    judges = len({judge for _, judge, _ in said})
    return {"of": of, "alpha": None if math.isnan(value) else value, "units": units, "judges": judges}


def _title(judge: str) -> str:
    """What a model that judged is called among the ratings."""
    return f"judge {judge}" if judge in (PEOPLE, TOGETHER) else judge or NOBODY


def _verdicts(battles: Iterable[Battle]) -> list[dict[str, Any]]:
    """How each judge's battles ended, people first."""
    ended: dict[tuple[bool, str], Counter[str]] = {}
    for battle in battles:
        ended.setdefault((not battle.human, battle.judge), Counter())[battle.verdict] += 1
    return [
        {"judge": judge or NOBODY, "human": not model, "battles": of.total(), **{v: of[v] for v in VERDICTS}}
        for (model, judge), of in sorted(ended.items())
    ]


def as_text(found: SourceTally) -> str:
    """A tally for a reader."""
    parts = [f"ratings, {name}\n{said(ratings)}" for name, ratings in found.ratings.items()]
    if found.verdicts:
        rows = [{**row, "human": "yes" if row["human"] else "no"} for row in found.verdicts]
        used = [name for name in rows[0] if name not in VERDICTS[DECIDED:] or any(row[name] for row in rows)]
        parts.append(f"verdicts\n{_table([{name: row[name] for name in used} for row in rows])}")
    if found.seen:
        parts.append(f"seen by people\n{_table(found.seen)}")
    if found.agreement:
        rows = [
            {**row, "alpha": "none" if row["alpha"] is None else f"{row['alpha']:.3f}"} for row in found.agreement
        ]
        parts.append(f"Krippendorff's alpha, nominal, over units that two or more judged\n{_table(rows)}")
        if not all(row["units"] for row in rows):
            parts[-1] += "\nwhere no two judged the same there is none: t2i arena serve --each 2 has them do"
    if found.left_out:
        why = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
        parts.append(f"answers that do not count: {why}")
    return "\n".join(escape_control_characters(line) for line in "\n\n".join(parts).split("\n"))


def _table(rows: Sequence[dict[str, Any]]) -> str:
    return pd.DataFrame(rows).to_string(index=False)
