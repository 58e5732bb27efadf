"""Scenes with questions about each of their facts, and the same scenes with questions that have choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from t2i_core.api.prompt import ObjectClass, Prompt, Relation, Scene, SceneObject
from t2i_core.api.prompt_question import PromptQuestion

from t2i_miniworld.names import plurals
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.statements import reading_of
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS
from t2i_miniworld.wording import TIAM_COMMA, say

KINDS = ("objects", "count", "colour", "relation")
"""Kinds of prompts, in turn: what each is about."""

SCENES = 48
MOST_COUNTED = 4
"""Largest number among the choices of a question about a number."""

_TASKS = {"objects": "numeracy", "count": "numeracy", "colour": "attribute", "relation": "spatial"}
"""T2I-CompBench's task of each kind of prompts."""

_WORDS = ("zero", "one", "two", "three", "four")
_SIDES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}
_SCENE_KINDS = tuple(
    label for label in LABELS if label.name != "human"
)  # people's colours are those of their coats


def prompts() -> Iterator[Prompt]:
    """Yield 48 prompts with yes-no questions, 12 of each kind; every question has a scene.

    A question about an exact number is two: are there at least as many, and are there more? The questions of
    `count` go on with one more that depends on the last (are there yet more?), so that rules of dependencies
    differ.
    """
    for scene, kind in _draw_scenes():
        yield _make_prompt(scene, kind, tuple(_ask(scene, kind)))


def choice_prompts() -> Iterator[Prompt]:
    """Yield the same prompts with questions that have choices: how many, and how many in the colour."""
    for scene, kind in _draw_scenes():
        yield _make_prompt(scene, kind, tuple(_ask_with_choices(scene)))


def _make_prompt(scene: Scene, kind: str, questions: tuple[PromptQuestion, ...]) -> Prompt:
    text = say(reading_of(scene), TIAM_COMMA)
    id = text.removeprefix("a photo of ").replace(" ", "-")
    return Prompt(id, text, scene=scene, facets={"shows": kind, "task": _TASKS[kind]}, questions=questions)


def _draw_scenes() -> Iterator[tuple[Scene, str]]:
    texts: set[str] = set()
    draw = 0
    while len(texts) < SCENES:
        kind = KINDS[len(texts) % len(KINDS)]
        scene = _draw_scene(stream("questions-mini", draw), kind)
        text = say(reading_of(scene), TIAM_COMMA)
        draw += 1
        if text not in texts:
            texts.add(text)
            yield scene, kind


def _draw_scene(rng: np.random.Generator, kind: str) -> Scene:
    first, second = (SceneObject(_SCENE_KINDS[at]) for at in rng.choice(len(_SCENE_KINDS), 2, replace=False))
    count = int(rng.integers(2, 4))
    paints = [tuple(PAINTS)[at] for at in rng.choice(len(PAINTS), 2, replace=False)]
    side = tuple(_SIDES)[int(rng.integers(len(_SIDES)))]
    if kind == "count":
        return Scene((replace(first, count=count),))
    if kind == "colour":
        return Scene((replace(first, colour=paints[0]), replace(second, colour=paints[1])))
    return Scene((first, second), (Relation(0, side, 1),) if kind == "relation" else ())


def _ask(scene: Scene, kind: str) -> Iterator[PromptQuestion]:
    if kind == "count":
        yield from _ask_for_count(scene.objects[0])
        return
    number = 0
    parents = []
    for one in scene.objects:
        number += 1
        parents.append(str(number))
        name = one.cls.name
        yield _question(number, f"Is there {_article(name)} {name}?", "entity", "entity - whole", one.cls)
        if one.colour is not None:
            number += 1
            yield _question(
                number, f"Is the {name} {one.colour}?", "attribute", "attribute - color", one.cls, one.colour,
                parents=(parents[-1],),
            )  # fmt: skip
    for relation in scene.relations:
        subject, other = (scene.objects[at].cls.name for at in (relation.subject, relation.object))
        text = f"Is the {subject} {_SIDES[relation.predicate]} the {other}?"
        number += 1
        yield PromptQuestion(
            str(number),
            text,
            parents=tuple(parents),
            category="relation",
            subcategory="relation - spatial",
            scene=scene,
        )


def _ask_for_count(one: SceneObject) -> Iterator[PromptQuestion]:
    name, many = one.cls.name, plurals(one.cls.name)[0]
    count, more = _WORDS[one.count], _WORDS[one.count + 1]
    yield _question(1, f"Is there {_article(name)} {name}?", "entity", "entity - whole", one.cls)
    yield _count_question(2, f"Are there at least {count} {many}?", one.cls, one.count, "yes")
    yield _count_question(3, f"Are there more than {count} {many}?", one.cls, one.count + 1, "no")
    yield _count_question(4, f"Are there more than {more} {many}?", one.cls, one.count + 2, "no")


def _count_question(number: int, text: str, cls: ObjectClass, count: int, right: str) -> PromptQuestion:
    asked = _question(number, text, "other", "other - count", cls, count=count, parents=(str(number - 1),))
    return replace(asked, answers=(right,))


def _question(
    number: int,
    text: str,
    category: str,
    subcategory: str,
    cls: ObjectClass,
    colour: str | None = None,
    count: int = 1,
    parents: tuple[str, ...] = (),
) -> PromptQuestion:
    scene = Scene((SceneObject(cls, colour, count),))
    return PromptQuestion(
        str(number), text, parents=parents, category=category, subcategory=subcategory, scene=scene
    )


def _ask_with_choices(scene: Scene) -> Iterator[PromptQuestion]:
    numbers = tuple(map(str, range(MOST_COUNTED + 1)))
    for one in scene.objects:
        name, many = one.cls.name, plurals(one.cls.name)[0]
        text = f"How many {many} are there?"
        yield PromptQuestion(name, text, numbers, (str(one.count),), category="counting", subcategory=name)
        if one.colour is not None:
            text = f"How many {one.colour} {many} are there?"
            yield PromptQuestion(
                f"{name}-colour", text, numbers, (str(one.count),), category="color", subcategory=one.colour
            )


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
