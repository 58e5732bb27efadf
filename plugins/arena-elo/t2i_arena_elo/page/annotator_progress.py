"""Rules of a study, and the progress and reliability of annotators under them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .records import Annotator, VoteTask
from .store import VotingStore

ROUNDS = 3
"""Number of attempts at training."""

ENOUGH_CONTROLS, ENOUGH_VOTES = 5, 10
"""Number of controls, and of votes, from which an annotator's errors, and speed, are judged."""


@dataclass(frozen=True)
class Rules:
    """Rules for all annotators.

    Attributes:
        tasks: Number of votes per annotator; None: until nothing is left.
        training: Number of training tasks before the first vote; their known answer is shown after each.
        controls: One task in this many is a control, whose known answer is never shown; 0: no controls.
        pass_mark: Share of training tasks that must be right, of controls that must be right, and of votes that
            must not be too fast; from 0 to 1.
        fastest: Seconds below which a vote is too fast and does not count.
        seed: Random seed of sides, order and tasks with a known answer.
    """

    tasks: int | None = None
    training: int = 0
    controls: int = 0
    pass_mark: float = 0.8
    fastest: float = 1.0
    seed: int = 0


End = Literal["done", "untrained", "careless"]
"""Why an annotator gets no more tasks: all are done, training failed too often, or too many controls were wrong or
votes too fast."""


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
    marks = store.marks(annotator.id, rules.fastest)
    controls, right, fast_controls = marks.get("control", (0, 0, 0))
    votes, _, fast_votes = marks.get("vote", (0, 0, 0))
    votes, fast = votes + controls, fast_votes + fast_controls
    training = store.training(annotator.id) if rules.training else []
    rounds = [training[i : i + rules.training] for i in range(0, len(training), rules.training or 1)]
    whole = [sum(right for _, right in one) / rules.training for one in rounds if len(one) == rules.training]
    trained = not rules.training or max(whole, default=0.0) >= rules.pass_mark
    end: End | None = None
    if not trained and len(whole) >= ROUNDS:
        end = "untrained"
    elif (controls >= ENOUGH_CONTROLS and right < rules.pass_mark * controls) or (
        votes >= ENOUGH_VOTES and votes - fast < rules.pass_mark * votes
    ):
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
