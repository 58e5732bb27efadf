"""Records of a study: annotators and tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Annotator:
    """A person who votes.

    Attributes:
        id: Number in the file of votes.
        name: Name.
        token: Secret of their personal link.
    """

    id: int
    name: str
    token: str


@dataclass(frozen=True)
class VoteTask:
    """A task that an annotator is shown.

    Attributes:
        id: Opaque id, sent with the answer; answers sent twice with it count once.
        place: Number among the annotator's tasks, from 1.
        part: `training`, `control` (a hidden check with a known answer) or `vote`.
        prompt: Id of the prompt.
        left: Model on the left.
        right: Model on the right; the same as `left`, or empty, if no two models are compared.
        seeds: Seeds of the images.
        left_pictures: Opaque ids of the images on the left.
        right_pictures: Opaque ids of the images on the right.
        expected: The right answers, of a training or control task; several that are right are joined by ` | `.
        why: Explanation shown after a training task.
        asked: Questions in words, by name, if they are this task's own; None if they are the study's.
        probability: Probability with which the images were drawn to be asked about; None if they were not drawn.
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
    asked: dict[str, str] | None = None
    probability: float | None = None
