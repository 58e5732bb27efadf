"""What is kept of a study: who votes, what they are shown, and what they say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Annotator:
    """One who votes. token: the secret of their link."""

    id: int
    name: str
    token: str


@dataclass(frozen=True)
class VoteTask:
    """What an annotator is shown.

    id:           opaque, sent with the answer: whatever is sent twice under it counts once
    place:        its number among the annotator's tasks, from 1
    part:         `training`, `control` (an answer is expected, and not told) or `vote`
    left, right:  the models; one model on both sides, or nothing on the right, where no two are compared
    seeds:        of the images
    left_pictures, right_pictures: opaque ids
    expected:     the right answers, of a training or control task
    why:          what is told after a training task
    """

    id: str
    place: int
    part: str
    prompt: str
    left: str
    right: str
    seeds: tuple[int, ...]
    left_pictures: tuple[str, ...]
    right_pictures: tuple[str, ...]
    expected: dict[str, str] | None = None
    why: str = ""


@dataclass(frozen=True)
class Vote:
    """An answer that stands. seconds: from when the task was first shown."""

    task: VoteTask
    annotator: str
    answers: dict[str, str]
    time: float
    seconds: float
