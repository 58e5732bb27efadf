"""`t2i arena tally`: people's and models' verdicts rated together, and how far they agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.errors import BadFolder, BadOption
from t2i_core.runs import load_run
from t2i_core.texts import visible

from .agreement import alpha, verdicts
from .battles import VERDICTS, Battle, Battles, read_battles
from .page.export import read_votes
from .ratings import Ratings, Ties, rate
from .rows import battles_of

PEOPLE, TOGETHER = "people", "together"


@dataclass(frozen=True)
class Source:
    """What one file or folder brings.

    battles:  verdicts on two models' images, each with its judge
    answers:  what people saw in one model's images: model, prompt, annotator, question, answer
    left_out: how many answers do not count, by why
    """

    name: str
    battles: tuple[Battle, ...] = ()
    answers: tuple[tuple[str, str, str, str, str], ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def read_source(path: Path) -> Source:
    """Read votes of the page, a file of battles, or a run of `elo`. Raises BadFolder or BadOption."""
    if path.is_dir():
        return Source(str(path), tuple(_of_run(path)))
    if path.suffix.lower() in (".csv", ".jsonl"):
        return Source(str(path), tuple(read_battles(path)))
    votes = read_votes(path)
    out = tuple(sorted(votes.left_out.items()))
    if votes.pairs:
        return Source(str(path), battles=tuple(votes.battles()), left_out=out)
    return Source(str(path), answers=tuple(votes.answers()), left_out=out)


def _of_run(folder: Path) -> Iterable[Battle]:
    run = load_run(folder)
    table = run.measurements()
    judges = {r["metric"]: (r["judge"] or {}).get("name") for r in run.results["results"]}
    found = False
    for metric, own in table.groupby("metric", sort=False):
        if {"verdict", "shown", "model_a"} <= set(own.dropna(axis=1, how="all").columns):
            found = True
            judge = judges.get(metric) or "judge"
            for battle in battles_of(own):
                yield battle if battle.judge else replace(battle, judge=judge)
    if not found:
        raise BadFolder(f"{folder}: has no battles; want a run of the metric elo")


def tally(sources: Sequence[Source], ties: Ties = "half", rounds: int = 1000) -> dict[str, Any]:
    """Return what all sources say, as plain data: `ratings` (of people, of each model that judged, and together),
    `verdicts` by judge, `agreement` (alpha of people, and of all), `seen` (what people saw in images), `left_out`.
    """
    battles = list(chain.from_iterable(source.battles for source in sources))
    answers = list(chain.from_iterable(source.answers for source in sources))
    if not battles and not answers:
        raise BadOption(f"{', '.join(source.name for source in sources)}: no vote that counts")
    people = [battle for battle in battles if battle.human]
    judges = sorted({battle.judge for battle in battles if not battle.human})
    parts = {TOGETHER: battles, PEOPLE: people}
    parts |= {judge: [b for b in battles if not b.human and b.judge == judge] for judge in judges}
    agreement = [
        _agreement("verdicts of people", verdicts(people)),
        _agreement("verdicts of people and models", verdicts(battles)) if judges else None,
        *(
            _agreement(f"{question}, as people saw it", _units(answers, question))
            for question in dict.fromkeys(said[3] for said in answers)
        ),
    ]
    left_out: Counter[str] = Counter()
    for source in sources:
        left_out.update(dict(source.left_out))
    return {
        "ratings": {
            name: _rated(rate(Battles.of(part), ties=ties, rounds=rounds)) for name, part in parts.items() if part
        },
        "verdicts": [_verdicts(judge, human, battles) for human, judge in _judges(battles)],
        "agreement": [line for line in agreement if line is not None and line["judges"]],
        "seen": [
            {"model": model, "question": question, "answer": answer, "count": count}
            for (model, question, answer), count in sorted(Counter((a[0], a[3], a[4]) for a in answers).items())
        ],
        "left_out": dict(left_out),
    }


def _units(answers: Iterable[tuple[str, str, str, str, str]], wanted: str) -> list[tuple[Any, str, str]]:
    return [
        ((model, prompt), annotator, answer)
        for model, prompt, annotator, question, answer in answers
        if question == wanted
    ]


def _agreement(of: str, said: list[tuple[Any, str, str]]) -> dict[str, Any]:
    value, units = alpha(said)
    judges = len({judge for _, judge, _ in said})
    return {"of": of, "alpha": None if math.isnan(value) else value, "units": units, "judges": judges}


def _judges(battles: Iterable[Battle]) -> list[tuple[bool, str]]:
    return sorted({(battle.human, battle.judge) for battle in battles}, key=lambda j: (not j[0], j[1]))


def _verdicts(judge: str, human: bool, battles: Iterable[Battle]) -> dict[str, Any]:
    ended = Counter(b.verdict for b in battles if b.judge == judge and b.human == human)
    return {"judge": judge, "human": human, "battles": ended.total(), **{v: ended[v] for v in VERDICTS}}


def _rated(ratings: Ratings) -> dict[str, Any]:
    table = ratings.table.astype(object).where(ratings.table.notna(), None)
    position = ratings.position
    return {
        "models": table.to_dict("records"),
        "position": None if position is None else {"points": position.points, "ci": [position.low, position.high]},
        "resampled": ratings.clusters,
        "notes": list(ratings.notes),
    }


def as_text(found: dict[str, Any]) -> str:
    """Write a tally for people."""
    parts = []
    for name, said in found["ratings"].items():
        lines = [
            {
                "model": m["model"],
                "rating": _number(m["rating"], 0),
                "95 % interval": f"{_number(m['low'], 0)} to {_number(m['high'], 0)}",
                "rank": f"{m['rank_low']} to {m['rank_high']}" if m["rank"] is not None else "-",
                "battles": m["battles"],
            }
            for m in said["models"]
        ]
        resampled = f", resampled: {said['resampled']}" if said["resampled"] else ""
        parts.append(f"ratings, {name}{resampled}\n{_table(lines)}")
        if position := said["position"]:
            low, high = position["ci"]
            shown = f"shown on the left: {position['points']:+.0f} points"
            parts[-1] += f"\n{shown} ({_number(low, 0)} to {_number(high, 0)})"
        parts[-1] += "".join(f"\n{note}" for note in said["notes"])
    if found["verdicts"]:
        rows = [
            {k: ("yes" if v else "no") if k == "human" else v for k, v in row.items()} for row in found["verdicts"]
        ]
        used = [k for k in rows[0] if k not in VERDICTS[4:] or any(row[k] for row in rows)]
        parts.append(f"verdicts\n{_table([{k: row[k] for k in used} for row in rows])}")
    if found["seen"]:
        parts.append(f"seen by people\n{_table(found['seen'])}")
    if found["agreement"]:
        rows = [{**row, "alpha": _number(row["alpha"], 3)} for row in found["agreement"]]
        parts.append(f"Krippendorff's alpha, nominal; units that two or more judged\n{_table(rows)}")
    if found["left_out"]:
        said = ", ".join(f"{count} {why}" for why, count in found["left_out"].items())
        parts.append(f"answers that do not count: {said}")
    return visible_lines("\n\n".join(parts))


def visible_lines(text: str) -> str:
    """A text whose lines steer no terminal."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    return pd.DataFrame(rows).to_string(index=False)
