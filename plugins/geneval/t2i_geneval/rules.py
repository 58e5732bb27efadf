"""The decision whether an image shows what its prompt asks for, and the reasons why not.

References:
    djghosh13/geneval: evaluation/evaluate_images.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Detections
from t2i_core.api.prompt import ObjectClass, Scene, SceneObject
from t2i_torch_support.geneval_records import COUNTING, PREDICATES

from .boxes import find_positions, select_boxes
from .options import GenEvalOptions

ReadColour = Callable[[int, int], str]
"""Returns the colour of an object of a clause, by their numbers; "no colour" if it has none."""

_WORDS = {predicate: word for word, predicate in PREDICATES.items()}


@dataclass(frozen=True)
class Selection:
    """The objects of a class that count for a clause of a prompt.

    Attributes:
        kept: Numbers of all detections of the class that are kept, the most confident first.
        chosen: The first of them, as many as the clause asks for; none if there are fewer.
    """

    kept: NDArray[np.intp]
    chosen: NDArray[np.intp]


def select_objects(scene: Scene, task: str, seen: Detections, options: GenEvalOptions) -> list[Selection]:
    """Return the objects that count for each clause (object of the scene), in their order.

    Args:
        scene: What the prompt asks for.
        task: Its task, on which the confidence depends.
        seen: What was detected.
        options: The thresholds.
    """
    confidence = options.counting_confidence if task == COUNTING else options.confidence
    found = []
    for each in scene.objects:
        own = _find_class(seen, each.cls)
        keep = select_boxes(
            seen.boxes[own], seen.scores[own], confidence, options.max_objects, options.max_overlap
        )
        kept = own[keep]
        found.append(Selection(kept, kept[: each.count] if len(kept) >= each.count else kept[:0]))
    return found


def _find_class(seen: Detections, cls: ObjectClass) -> NDArray[np.intp]:
    """Return the numbers of the detections of a class."""
    present = [number for number in set(seen.classes.tolist()) if seen.labels[number].same_as(cls)]
    if len(present) == 1:
        return np.flatnonzero(seen.classes == present[0])
    return np.flatnonzero(np.isin(seen.classes, present))


@dataclass(frozen=True)
class Decision:
    """The decision about an image.

    Attributes:
        reasons: Why it is wrong; empty if it is correct.
        colours: The colour that each chosen object was read as, by its number among the detections.
    """

    reasons: tuple[str, ...]
    colours: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_correct(self) -> bool:
        """True if the image shows what its prompt asks for."""
        return not self.reasons


def decide(
    scene: Scene, task: str, selections: Sequence[Selection], boxes: NDArray[np.floating], read: ReadColour,
    options: GenEvalOptions,
) -> Decision:  # fmt: skip
    """Decide whether an image is correct: all clauses and relations hold, and for counting nothing is too much.

    Args:
        scene: What the prompt asks for.
        task: Its task.
        selections: The objects that count for each clause.
        boxes: The boxes of all detections, shape (n, 4).
        read: Reads the colour of an object; asked only about clauses with a colour and enough objects.
        options: The thresholds.
    """
    reasons: list[str] = []
    colours: dict[int, str] = {}
    holds = []
    for clause, (asked, selection) in enumerate(zip(scene.objects, selections, strict=True)):
        own = _explain_count(asked, selection, exactly=task == COUNTING)
        if asked.colour is not None:
            read_as = {int(number): read(clause, place) for place, number in enumerate(selection.chosen)}
            colours |= read_as
            wrong = [colour for colour in read_as.values() if colour != asked.colour]
            own += [f"{asked.cls.name} is {colour}, asked {asked.colour}" for colour in dict.fromkeys(wrong)]
        reasons += own
        holds.append(bool(len(selection.chosen)) and not own)
    for relation in scene.relations:
        if not holds[relation.subject]:
            continue  # its clause has failed already
        subject, other = (scene.objects[n].cls.name for n in (relation.subject, relation.object))
        if not holds[relation.object]:
            continue  # so has this one
        pairs = [
            find_positions(boxes[a], boxes[b], options.position_margin)
            for a in selections[relation.subject].chosen
            for b in selections[relation.object].chosen
        ]
        wrong_place = next((found for found in pairs if relation.predicate not in found), None)
        if wrong_place is not None:
            reasons.append(_explain_position(subject, wrong_place, relation.predicate, other))
    return Decision(tuple(reasons), colours)


def _explain_count(asked: SceneObject, selection: Selection, exactly: bool) -> list[str]:
    count = len(selection.kept)
    if count >= asked.count and not (exactly and count > asked.count):
        return []
    if exactly or count or asked.count > 1:
        return [f"counted {count} {asked.cls.name}, asked {asked.count}"]
    return [f"no {asked.cls.name} found"]


def _explain_position(subject: str, found: frozenset[str], asked: str, other: str) -> str:
    where = " and ".join(word for predicate, word in _WORDS.items() if predicate in found)
    return f"{subject} is {where or 'in no clear relation to'} {other}, asked {_WORDS[asked]}"
