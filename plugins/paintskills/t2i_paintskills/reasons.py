"""Reasons why an image fails its skill, in words and as parts of the image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from t2i_core.api import Detections, Evidence, QuestionAnswer, Scene

from . import decisions
from .options import ColorOptions, CountOptions, PaintSkillsOptions, SkillOptions
from .skills import COLOURS, Skill

PLACES = {"left": "left of", "right": "right of", "above": "above", "below": "below"}


def explain(
    skill: Skill, scene: Scene, found: Detections, options: SkillOptions, correct: Mapping[str, bool]
) -> tuple[dict[str, str], tuple[Evidence, ...]]:
    """Return why each part of a decision is wrong, and the detections that decided; nothing if all is right.

    Args:
        skill: The skill.
        scene: The scene that the prompt describes.
        found: The judge's detections, with class probabilities.
        options: Options of the metric.
        correct: The decisions on the skill itself, under "", and on its parts.
    """
    if all(correct.values()):
        return {}, ()
    probs = found.class_probs
    assert probs is not None  # the decision needed them
    names = _name_classes(found, scene)
    best = decisions.most_confident(probs, 2 if skill == "spatial" else 1).tolist()
    seen = [names[code] for code in decisions.classes(probs[best]).tolist() if code >= 0]
    if skill == "spatial":
        whole = _explain_pair(scene, found, best, seen)
        reasons = {"": whole, "objects": whole}
    elif skill == "count":
        assert isinstance(options, CountOptions | PaintSkillsOptions)
        (wanted,) = scene.objects
        rule = options.rule, options.threshold, options.clamp
        name = wanted.cls.name
        target = names.index(name) if name in names else None
        best = [] if target is None else decisions.list_counted(probs, target, wanted.count, *rule).tolist()
        number = decisions.confident(probs, options.threshold)
        reasons = {"": f"counted {len(best)} {name}, asked {wanted.count}"}
        reasons["number"] = f"counted {number} objects, asked {wanted.count}"
    else:
        (wanted,) = scene.objects
        name = wanted.cls.name
        reasons = {"object": _explain_object(name, seen)}
        if skill == "color":
            read = _read_colour(found, best, str(wanted.colour), options)
            reasons["colour"] = f"{name} is {read or 'of no colour'}, not {wanted.colour}"
        wrong = [part for part in reasons if not correct.get(part, correct[""])]
        reasons[""] = reasons[wrong[0]] if wrong else ""
    return {part: "" if right else reasons[part] for part, right in correct.items()}, _show(found, names, best)


def _name_classes(found: Detections, scene: Scene) -> list[str]:
    """Return a name for each class of the judge: the prompt's, if it asks for the class."""
    asked = [each.cls for each in scene.objects]
    return [next((cls.name for cls in asked if label.same_as(cls)), label.name) for label in found.labels]


def _explain_object(name: str, seen: Sequence[str]) -> str:
    if not seen:
        return f"{name} not found"
    return f"{seen[0]} found, not {name}" if seen[0] != name else f"{name} not found with enough confidence"


def _read_colour(found: Detections, best: Sequence[int], wanted: str, options: SkillOptions) -> str:
    """Return the colour of the most confident detection, among those that the decision compares; empty if none."""
    assert isinstance(options, ColorOptions | PaintSkillsOptions)
    assert found.colours is not None  # the decision needed them
    if not best:
        return ""
    among = {*COLOURS, wanted} if options.colours == "skill" else set(found.colour_names)
    own = dict(zip(found.colour_names, found.colours[best[0]].tolist(), strict=True))
    read = max((name for name in own if name in among), key=own.__getitem__)
    return read if own[read] > 0 else ""


def _explain_pair(scene: Scene, found: Detections, best: Sequence[int], seen: Sequence[str]) -> str:
    """Return which of two objects is not found, or else where the second one is."""
    (relation,) = scene.relations
    a, b = (scene.objects[end].cls.name for end in (relation.object, relation.subject))
    if sorted(seen) != sorted((a, b)):
        return _explain_absent((a, b), seen)
    centres = (found.boxes[:, :2] + found.boxes[:, 2:]).astype(np.float64) / 2
    first, second = best
    place = decisions.relation_between(centres[second], centres[first])
    if a != b and seen[0] == b:
        place = decisions.OPPOSITE[place]
    return _explain_place(a, b, place, relation.predicate)


def _explain_absent(names: Sequence[str], found: Sequence[str]) -> str:
    """Return which of two objects is not among the two most confident detections."""
    if names[0] == names[1] and names[0] in found:
        return f"only one {names[0]} found"
    return "; ".join(f"{name} not found" for name in dict.fromkeys(names) if name not in found)


def _explain_place(a: str, b: str, place: str, wanted: str) -> str:
    """Return that `b` is in another relation to `a`; of two objects of one class, that the axis is wrong."""
    if a == b:
        axes = ["one above the other", "side by side"]
        first, second = axes if wanted in decisions.HORIZONTAL else axes[::-1]
        return f"two {a} are {first}, not {second}"
    return f"{b} is {PLACES[place]} {a}, not {PLACES[wanted]}"


def explain_answers(skill: Skill, scene: Scene, answers: Sequence[QuestionAnswer]) -> str:
    """Return why an image is wrong, from a judge's answers to the questions of the skill."""
    yes = [answer.choice == "yes" for answer in answers]
    if skill == "spatial":
        (relation,) = scene.relations
        a, b = (scene.objects[end].cls.name for end in (relation.object, relation.subject))
        if a == b and not yes[0]:
            return f"fewer than 2 {a} found"
        absent = [name for name, there in zip((a, b), yes[:-1], strict=False) if not there]
        return "; ".join(f"{name} not found" for name in absent) or f"{b} is not {PLACES[relation.predicate]} {a}"
    (wanted,) = scene.objects
    if skill == "count":
        return f"not exactly {wanted.count} {wanted.cls.name}"
    return f"{wanted.cls.name} not found" if not yes[0] else f"{wanted.cls.name} found, not {wanted.colour}"


def _show(found: Detections, names: Sequence[str], numbers: Sequence[int]) -> tuple[Evidence, ...]:
    """Return the boxes of detections, with the colour that each was read as, if the judge gives one.

    Args:
        found: The judge's detections.
        names: The name of each class of the judge.
        numbers: The detections to show.
    """
    shown = []
    for number in numbers:
        assert found.class_probs is not None  # the metrics require them
        label = names[int(found.class_probs[number].argmax())]
        if found.colours is not None and found.colours[number].any():
            label += f", {found.colour_names[int(np.argmax(found.colours[number]))]}"
        x0, y0, x1, y1 = found.boxes[number].tolist()
        shown.append(Evidence(label, (x0, y0, x1, y1)))
    return tuple(shown)
