"""Questions about an image, asked in place of a detection, and PaintSkills' decisions from the answers."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.api import Query, QuestionAnswer, Relation, Sample, Scene, SceneObject, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.io.component_answers import Combination, mean_both, mean_number, mean_object, mean_relation

from .skills import Skill

PRESENCE = "Is there at least one {object} in this image?"
QUESTIONS: dict[Skill, str] = {
    "object": PRESENCE,
    "count": "Are there exactly {count} {objects} in this image?",
    "color": PRESENCE,
    "spatial": "Is there a {object} {place} a {object_2} in this image?",
}
"""The question of each skill, for plans and documents."""

PLACES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}

Decisions = dict[str, bool]


def write_questions(skill: Skill, scene: Scene) -> list[VisualQuestion]:
    """Return the questions about one image whose answers decide a skill.

    Args:
        skill: The skill.
        scene: The scene that the prompt describes.
    """
    if skill == "spatial":
        (relation,) = scene.relations
        return [*_ask_for_both(scene, relation), _ask_for_relation(scene, relation)]
    (wanted,) = scene.objects
    if skill == "count":
        return [_ask_for_number(wanted.cls.name, wanted.count)]
    colours = (None, wanted.colour) if skill == "color" else (None,)
    return [_ask_for_one(SceneObject(wanted.cls, colour)) for colour in colours]


def decide_by_answers(skill: Skill, answers: Sequence[QuestionAnswer]) -> Decisions:
    """Return the decisions on one image: the skill itself under "", and the parts of its decision by name.

    Args:
        skill: The skill.
        answers: The answers to `write_questions`, each of them a choice.
    """
    yes = [answer.choice == "yes" for answer in answers]
    match skill:
        case "color":
            return {"": all(yes), "object": yes[0]}
        case "spatial":
            return {"": all(yes), "objects": all(yes[:-1])}
    return {"": all(yes)}


def ask(skill: Skill, sample: Sample) -> list[Query]:
    """Return the queries about one image."""
    assert sample.image is not None
    assert sample.prompt.scene is not None  # because the metric's `check` rejects prompts without a scene
    return [question.about(sample.image) for question in write_questions(skill, sample.prompt.scene)]


def _ask_for_one(wanted: SceneObject) -> VisualQuestion:
    name = f"{wanted.colour} {wanted.cls.name}" if wanted.colour else wanted.cls.name
    means = _mean_yes(mean_object(wanted.cls.name, wanted.colour))
    return VisualQuestion(PRESENCE.format(object=name), YES_NO, scene=Scene((wanted,)), meant_by=means)


def _ask_for_number(name: str, count: int) -> VisualQuestion:
    # no scene, because a scene may be exceeded
    things = f"is there exactly 1 {name}" if count == 1 else f"are there exactly {count} {_pluralise(name)}"
    means = _mean_yes(mean_number(name, count))
    return VisualQuestion(f"{things[0].upper()}{things[1:]} in this image?", YES_NO, meant_by=means)


def _ask_for_both(scene: Scene, relation: Relation) -> list[VisualQuestion]:
    a, b = scene.objects[relation.object], scene.objects[relation.subject]
    if a.cls.same_as(b.cls):
        two = Scene((SceneObject(a.cls, count=2),))
        text = f"Are there at least 2 {_pluralise(a.cls.name)} in this image?"
        return [VisualQuestion(text, YES_NO, scene=two, meant_by=_mean_yes(mean_both(a.cls.name, a.cls.name)))]
    return [_ask_for_one(SceneObject(each.cls)) for each in (a, b)]


def _ask_for_relation(scene: Scene, relation: Relation) -> VisualQuestion:
    a, b = scene.objects[relation.object].cls.name, scene.objects[relation.subject].cls.name
    other = f"another {a}" if a == b else f"{_find_article(a)} {a}"
    return VisualQuestion(
        f"Is there {_find_article(b)} {b} {PLACES[relation.predicate]} {other} in this image?",
        YES_NO,
        scene=scene,
        meant_by=_mean_yes(mean_relation(a, b, relation.predicate)),
    )


def _mean_yes(combinations: Sequence[Combination]) -> dict[str, Sequence[Combination]]:
    """Return which of people's component answers mean yes; all others mean no."""
    return {"yes": combinations, "no": ()}


def _find_article(name: str) -> str:
    return "an" if name[0].lower() in "aeiou" else "a"


def _pluralise(name: str) -> str:
    return f"{name}es" if name.endswith(("s", "x", "z", "ch", "sh")) else f"{name}s"
