"""CLEVR: true and false descriptions of its scenes, or its questions followed by an answer.

SelfEval's paper does not describe its captions of CLEVR. Here, each right caption describes one fact of the
scene's annotations. Each wrong caption differs in one fact and is true of no object in the scene.

References:
    Johnson et al.: CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning. CVPR
    2017.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from random import Random
from typing import TypeVar

from t2i_core.api import Prompt, Setup

from ..task_options import ClevrOptions
from .fields import TaskEntry, find_folder, read_list
from .selection import Draft, build_samples, derive_rng
from .words import NUMBERS

T = TypeVar("T")

COLOURS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
SHAPES = ("cube", "sphere", "cylinder")
_SIDES = {"left": "to the left of", "right": "to the right of"}
_DEPTHS = {"front": "in front of", "behind": "behind"}
_QUERIES = {"query_color": "colour", "count": "count", "query_shape": "shape"}


@dataclass(frozen=True)
class ClevrScene:
    """CLEVR's annotations of one image.

    Attributes:
        image: Path of the image.
        things: Colour and shape of each object.
        relations: By left, right, front and behind: for each object, the objects that lie on this side of it.
    """

    image: Path
    things: tuple[tuple[str, str], ...]
    relations: dict[str, list[list[int]]]


@dataclass(frozen=True)
class SceneCaptions:
    """Descriptions of one fact of a scene.

    Attributes:
        right: The right description.
        wrong: The wrong descriptions.
        answer: The right answer, as in `Draft`.
    """

    right: str
    wrong: list[str]
    answer: str


def prompts(setup: Setup[ClevrOptions]) -> Iterator[Prompt]:
    """Yield the samples.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
    """
    folder, options = find_folder(setup.argument, "clevr"), setup.options
    kind = "scenes" if options.captions == "described" else "questions"
    file = folder / kind / f"CLEVR_{options.split}_{kind}.json"
    images = folder / "images" / options.split
    drafts = (_describe_scenes if options.captions == "described" else _answer_questions)(
        read_list(file, kind), images, options
    )
    return build_samples(drafts, "clevr", str(file), options.limit, options.seed)


def _shuffle(items: list[T], rng: Random) -> list[T]:
    return rng.sample(items, len(items))


def _describe_scenes(entries: list[TaskEntry], images: Path, options: ClevrOptions) -> Iterator[Draft]:
    for number, entry in enumerate(entries):
        scene = _read_scene(entry, images)
        for task in options.tasks:
            rng = derive_rng(options.seed, "clevr", task, scene.image.name)
            if (captions := _DESCRIBE[task](scene, rng)) is not None:
                right, *wrong = (options.template.format(text) for text in (captions.right, *captions.wrong))
                id = f"clevr-{task}-{options.split}-{number}"
                yield Draft(id, scene.image, right, tuple(wrong), task, captions.answer)


def _read_scene(entry: TaskEntry, images: Path) -> ClevrScene:
    things = tuple((one.one_of("color", COLOURS), one.one_of("shape", SHAPES)) for one in entry.entries("objects"))
    relations = {name: _read_relation(entry, name, len(things)) for name in (*_SIDES, *_DEPTHS)}
    return ClevrScene(images / entry.text("image_filename"), things, relations)


def _read_relation(entry: TaskEntry, name: str, count: int) -> list[list[int]]:
    """Return one relation of a scene: for each object, the objects that lie on this side of it."""
    relations = entry.data.get("relationships")
    lists = relations.get(name) if isinstance(relations, dict) else None
    if not isinstance(lists, list) or len(lists) != count:
        entry.fail(f"relationships.{name}", f"must be a list for each of the {count} objects")
    for others in lists:
        if not isinstance(others, list) or not all(type(i) is int and 0 <= i < count for i in others):
            entry.fail(f"relationships.{name}", f"must be lists of objects' numbers, 0 to {count - 1}")
    return lists


def _describe_colour(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Describe the colour of an object; no object of its shape has one of the wrong colours."""
    for colour, shape in _shuffle(sorted(set(scene.things)), rng):
        others = [one for one in COLOURS if (one, shape) not in scene.things]
        if len(others) >= 3:
            wrong = [f"a {one} {shape}" for one in rng.sample(others, 3)]
            return SceneCaptions(f"a {colour} {shape}", wrong, colour)
    return None


def _describe_shape(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Describe the shape of an object; no object of its colour has one of the wrong shapes."""
    for colour, shape in _shuffle(sorted(set(scene.things)), rng):
        if all((colour, other) not in scene.things for other in SHAPES if other != shape):
            return SceneCaptions(
                f"a {colour} {shape}", [f"a {colour} {other}" for other in SHAPES if other != shape], shape
            )
    return None


def _describe_count(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Describe the number of objects of a shape, one to four."""
    numbers = Counter(shape for _, shape in scene.things)
    for shape in _shuffle([shape for shape in SHAPES if 1 <= numbers[shape] <= 4], rng):
        captions = [f"{NUMBERS[n]} {shape}{'s' if n > 1 else ''}" for n in range(1, 5)]
        right = captions.pop(numbers[shape] - 1)
        return SceneCaptions(right, captions, str(numbers[shape]))
    return None


def _describe_binding(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Describe two objects of different colours and shapes; the wrong caption exchanges their colours."""
    for (one, shape), (other, second) in _shuffle(list(permutations(sorted(set(scene.things)), 2)), rng):
        exchanged = {(other, shape), (one, second)}
        if one != other and shape != second and not exchanged & set(scene.things):
            return SceneCaptions(
                f"a {one} {shape} and a {other} {second}", [f"a {other} {shape} and a {one} {second}"], ""
            )
    return None


def _describe_spatial(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Describe the position of one object relative to another by both axes; one of the four captions is true.

    One axis alone would give two captions, and of the four single relations two would be true.
    """
    single = [i for i, thing in enumerate(scene.things) if scene.things.count(thing) == 1]
    for i, j in _shuffle(list(permutations(single, 2)), rng):
        held = [name for name in (*_SIDES, *_DEPTHS) if i in scene.relations[name][j]]
        if len(held) == 2 and held[0] in _SIDES and held[1] in _DEPTHS:
            one, other = (" ".join(scene.things[index]) for index in (i, j))
            captions = {
                (side, depth): f"a {one} {_SIDES[side]} and {_DEPTHS[depth]} a {other}"
                for side in _SIDES
                for depth in _DEPTHS
            }
            right = captions.pop((held[0], held[1]))
            return SceneCaptions(right, list(captions.values()), " ".join(held))
    return None


_DESCRIBE: dict[str, Callable[[ClevrScene, Random], SceneCaptions | None]] = {
    "attribute-binding": _describe_binding,
    "colour": _describe_colour,
    "count": _describe_count,
    "shape": _describe_shape,
    "spatial": _describe_spatial,
}


def _answer_questions(entries: list[TaskEntry], images: Path, options: ClevrOptions) -> Iterator[Draft]:
    """Yield CLEVR's questions about colour, count and shape, followed by right and wrong answers."""
    for number, entry in enumerate(entries):
        program = entry.entries("program")
        if not program:
            entry.fail("program", "must not be empty")
        task = _QUERIES.get(program[-1].text("function"))
        if task not in options.tasks:
            continue
        question, answer = entry.text("question"), entry.text("answer")
        wrong = _wrong_answers(entry, task, answer, derive_rng(options.seed, "clevr", "answers", number))
        yield Draft(
            id=f"clevr-question-{options.split}-{number}",
            image=images / entry.text("image_filename"),
            right=f"{question} {answer}",
            wrong=tuple(f"{question} {one}" for one in wrong),
            task=task,
            answer=answer,
        )


def _wrong_answers(entry: TaskEntry, task: str, answer: str, rng: Random) -> list[str]:
    """Return the wrong answers: three random colours, three adjacent numbers, or the two other shapes."""
    if task == "colour":
        entry.one_of("answer", COLOURS)
        return rng.sample([one for one in COLOURS if one != answer], 3)
    if task == "shape":
        entry.one_of("answer", SHAPES)
        return [one for one in SHAPES if one != answer]
    numbers = [str(n) for n in range(11)]
    at = numbers.index(entry.one_of("answer", numbers))
    first = rng.choice([n for n in range(len(numbers) - 3) if n <= at < n + 4])
    return [one for one in numbers[first : first + 4] if one != answer]
