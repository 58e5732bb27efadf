"""The rules of a study, how far an annotator has come under them, and whether what they say is relied on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .records import Annotator, VoteTask
from .store import VotingStore

ROUNDS = 3
"""So often training may be gone through."""

ENOUGH_CONTROLS, ENOUGH_VOTES = 5, 10
"""From so many on an annotator's controls, and the speed of their votes, are judged."""


@dataclass(frozen=True)
class Rules:
    """What holds for all annotators.

    tasks:     after so many votes one is done; None: when nothing is left
    training:  tasks with a known answer before one begins, told after each
    controls:  one of so many tasks has a known answer that is never told; 0: none has
    pass_mark: share of training that must be right, of controls that must be right, and of votes that must not be
               fast
    fastest:   seconds below which a vote is fast, and does not count
    seed:      of sides, order and known tasks
    """

    tasks: int | None = None
    training: int = 0
    controls: int = 0
    pass_mark: float = 0.8
    fastest: float = 1.0
    seed: int = 0


End = Literal["done", "untrained", "careless"]
"""Why one is shown no more: all is done, training was failed too often, or too many controls were wrong or votes
fast."""


@dataclass(frozen=True)
class AnnotatorProgress:
    """How far an annotator has come.

    votes:   answers that stand, but for those of training
    trained: whether training is passed, or none is wanted
    told:    of the task answered last, if that was training: it, and whether the answer was right
    last:    otherwise that task, whose answer can be taken back
    fast:    whether it was answered too fast to count
    end:     why there is no more, where that is known from what was answered
    """

    votes: int
    trained: bool
    told: tuple[VoteTask, bool] | None = None
    last: VoteTask | None = None
    fast: bool = False
    end: End | None = None


def standing_of(store: VotingStore, annotator: Annotator, rules: Rules) -> AnnotatorProgress:
    """How far an annotator has come, and whether what they say is to be relied on."""
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
