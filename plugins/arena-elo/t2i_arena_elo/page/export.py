"""Export of people's votes: battles, or the human answers that the metric `bias` reads."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from t2i_core.files.atomic_write import replace_file
from t2i_core.files.spreadsheet import escape

from ..battles import Battle, Verdict
from .annotator_progress import Rules, standing_of
from .questions import VERDICT
from .records import Vote
from .store import VotingStore

ANSWER_COLUMNS = ("model", "prompt", "annotator", "question", "answer")


@dataclass(frozen=True)
class Votes:
    """Votes of a study.

    Attributes:
        pairs: Whether annotators compared two models.
        kept: Votes that count.
        left_out: Number of answers that do not count, by reason.
        prompts: Text and subset of each prompt, by id.
    """

    pairs: bool
    kept: tuple[Vote, ...]
    left_out: dict[str, int]
    prompts: dict[str, tuple[str, str]]

    def battles(self) -> Iterator[Battle]:
        """Yield the votes on two models' images."""
        for vote in self.kept:
            task = vote.task
            yield Battle(
                prompt=task.prompt,
                left=task.left,
                right=task.right,
                verdict=cast(Verdict, vote.answers[VERDICT]),
                subset=self.prompts[task.prompt][1],
                judge=vote.annotator,
                human=True,
                seed=task.seeds[0] if len(task.seeds) == 1 else None,
                time=round(vote.time, 3),
            )

    def answers(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield the answers about one model's images: model, prompt, annotator, question, answer."""
        for vote in self.kept:
            for question, answer in vote.answers.items():
                yield vote.task.left, vote.task.prompt, vote.annotator, question, answer


def read_votes(path: Path) -> Votes:
    """Read a study's votes.

    Training tasks, controls, fast answers and all answers of careless annotators do not count.

    Raises:
        BadFolder: If the file does not exist or is not a file of votes.
    """
    store = VotingStore(path, must_exist=True)
    try:
        study = store.study()
        rules = Rules(**study.get("rules", {}))
        careless = {a.name for a in store.annotators() if standing_of(store, a, rules).end == "careless"}
        kept, left_out = [], Counter[str]()
        for vote in store.votes():
            if vote.task.part != "vote":
                left_out[f"of {vote.task.part}"] += 1
            elif vote.annotator in careless:
                left_out["of careless annotators"] += 1
            elif vote.seconds < rules.fastest:
                left_out["too fast"] += 1
            else:
                kept.append(vote)
        return Votes(not study.get("groups"), tuple(kept), dict(left_out), store.prompts())
    finally:
        store.close()


def write_answers(path: Path, votes: Votes) -> None:
    """Write answers as CSV: a line for each annotator's answer to a question about a model's images."""
    with replace_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(ANSWER_COLUMNS)
        writer.writerows(map(escape, answer) for answer in votes.answers())
