"""The progress and reliability of annotators under the rules of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from t2i_core.io.rater_rules import Rules

from .records import Annotator, VoteTask
from .store import VotingStore

ROUNDS = 3
"""Number of attempts at training."""

End = Literal["done", "untrained", "careless"]
"""Reason why an annotator gets no more tasks: all are done, training failed too often, or too many controls were
wrong or votes too fast."""


@dataclass(frozen=True)
class AnnotatorProgress:
    """Progress of an annotator.

    Attributes:
        votes: Number of answers, without training and without undone ones.
        trained: Whether training is passed or not required.
        told: The last answered task if it was a training task, and whether the answer was right.
        last: Otherwise the last answered task, whose answer can be undone.
        fast: Whether that task was answered too fast to count.
        end: The reason for the end, if the answers so far decide it.
    """

    votes: int
    trained: bool
    told: tuple[VoteTask, bool] | None = None
    last: VoteTask | None = None
    fast: bool = False
    end: End | None = None


def standing_of(store: VotingStore, annotator: Annotator, rules: Rules) -> AnnotatorProgress:
    """Return the progress of an annotator."""
    record = store.record(annotator.id, rules)
    votes = record.answers
    training = store.training(annotator.id) if rules.training else []
    rounds = [training[i : i + rules.training] for i in range(0, len(training), rules.training or 1)]
    whole = [sum(right for _, right in one) / rules.training for one in rounds if len(one) == rules.training]
    trained = not rules.training or max(whole, default=0.0) >= rules.pass_mark
    end: End | None = None
    if not trained and len(whole) >= ROUNDS:
        end = "untrained"
    elif record.is_careless(rules):
        end = "careless"
    elif rules.tasks is not None and votes >= rules.tasks:
        end = "done"
    answered = store.last_answered(annotator.id)
    if answered is None:
        return AnnotatorProgress(votes, trained, end=end)
    last, seconds = answered
    if last.part == "training":
        return AnnotatorProgress(votes, trained, told=training[-1] if training else None, end=end)
    return AnnotatorProgress(votes, trained, last=last, fast=seconds < rules.fastest, end=end)
