"""CLEVR: what is true of its scenes, and what is not, as captions; or its questions, each with an answer.

Johnson et al.: CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning. CVPR 2017.
How the paper made captions of it is not known. Here each caption says one thing that the scene's annotations hold
true, and each wrong one differs in one fact and is not true of any object.
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
from .fields import TaskEntry, folder_of, listed
from .picking import Draft, drawn, samples
from .words import NUMBERS

T = TypeVar("T")

COLOURS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
SHAPES = ("cube", "sphere", "cylinder")
_SIDES = {"left": "to the left of", "right": "to the right of"}
_DEPTHS = {"front": "in front of", "behind": "behind"}
_QUERIES = {"query_color": "colour", "count": "count", "query_shape": "shape"}


@dataclass(frozen=True)
class ClevrScene:
    """What CLEVR says of one image.

    things:     colour and shape of each object
    relations:  for left, right, front and behind, for each object those that lie so of it
    """

    image: Path
    things: tuple[tuple[str, str], ...]
    relations: dict[str, list[list[int]]]


@dataclass(frozen=True)
class SceneCaptions:
    """What can be said of a scene: the right description, and wrong ones; the answer as drafts have it."""

    right: str
    wrong: list[str]
    answer: str


def prompts(setup: Setup[ClevrOptions]) -> Iterator[Prompt]:
    """Yield the samples. Raises BadPrompts."""
    folder, options = folder_of(setup.argument, "clevr"), setup.options
    kind = "scenes" if options.captions == "described" else "questions"
    file = folder / kind / f"CLEVR_{options.split}_{kind}.json"
    images = folder / "images" / options.split
    drafts = (_described if options.captions == "described" else _answered)(listed(file, kind), images, options)
    return samples(drafts, "clevr", str(file), options.limit, options.seed)


def _shuffled(items: list[T], rng: Random) -> list[T]:
    return rng.sample(items, len(items))


def _described(entries: list[TaskEntry], images: Path, options: ClevrOptions) -> Iterator[Draft]:
    for number, entry in enumerate(entries):
        scene = _scene(entry, images)
        for task in options.tasks:
            rng = drawn(options.seed, "clevr", task, scene.image.name)
            if (said := _SAYING[task](scene, rng)) is not None:
                right, *wrong = (options.template.format(text) for text in (said.right, *said.wrong))
                id = f"clevr-{task}-{options.split}-{number}"
                yield Draft(id, scene.image, right, tuple(wrong), task, said.answer)


def _scene(entry: TaskEntry, images: Path) -> ClevrScene:
    things = tuple((one.one_of("color", COLOURS), one.one_of("shape", SHAPES)) for one in entry.entries("objects"))
    relations = {name: _related(entry, name, len(things)) for name in (*_SIDES, *_DEPTHS)}
    return ClevrScene(images / entry.text("image_filename"), things, relations)


def _related(entry: TaskEntry, name: str, count: int) -> list[list[int]]:
    """For each of so many objects those that lie so of it."""
    relations = entry.data.get("relationships")
    lists = relations.get(name) if isinstance(relations, dict) else None
    if not isinstance(lists, list) or len(lists) != count:
        entry.fail(f"relationships.{name}", f"want a list for each of the {count} objects")
    for others in lists:
        if not isinstance(others, list) or not all(type(i) is int and 0 <= i < count for i in others):
            entry.fail(f"relationships.{name}", "want lists of the objects' numbers")
    return lists


def _colour(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """The colour of an object, among colours that nothing of its shape has."""
    for colour, shape in _shuffled(sorted(set(scene.things)), rng):
        others = [one for one in COLOURS if (one, shape) not in scene.things]
        if len(others) >= 3:
            wrong = [f"a {one} {shape}" for one in rng.sample(others, 3)]
            return SceneCaptions(f"a {colour} {shape}", wrong, colour)
    return None


def _shape(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """The shape of an object, where nothing of its colour has another."""
    for colour, shape in _shuffled(sorted(set(scene.things)), rng):
        if all((colour, other) not in scene.things for other in SHAPES if other != shape):
            return SceneCaptions(
                f"a {colour} {shape}", [f"a {colour} {other}" for other in SHAPES if other != shape], shape
            )
    return None


def _count(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """How many objects of a shape there are, one to four."""
    numbers = Counter(shape for _, shape in scene.things)
    for shape in _shuffled([shape for shape in SHAPES if 1 <= numbers[shape] <= 4], rng):
        said = [f"{NUMBERS[n]} {shape}{'s' if n > 1 else ''}" for n in range(1, 5)]
        right = said.pop(numbers[shape] - 1)
        return SceneCaptions(right, said, str(numbers[shape]))
    return None


def _binding(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Two objects of two colours and shapes; wrong is the exchange of their colours, of which nothing is there."""
    for (one, shape), (other, second) in _shuffled(list(permutations(sorted(set(scene.things)), 2)), rng):
        exchanged = {(other, shape), (one, second)}
        if one != other and shape != second and not exchanged & set(scene.things):
            return SceneCaptions(
                f"a {one} {shape} and a {other} {second}", [f"a {other} {shape} and a {one} {second}"], ""
            )
    return None


def _spatial(scene: ClevrScene, rng: Random) -> SceneCaptions | None:
    """Where one object stands to another, left or right and before or behind: of four captions one is true.

    Left and right alone leave two captions to choose from, and of all four relations alone two are true.
    """
    single = [i for i, thing in enumerate(scene.things) if scene.things.count(thing) == 1]
    for i, j in _shuffled(list(permutations(single, 2)), rng):
        held = [name for name in (*_SIDES, *_DEPTHS) if i in scene.relations[name][j]]
        if len(held) == 2 and held[0] in _SIDES and held[1] in _DEPTHS:
            one, other = (" ".join(scene.things[at]) for at in (i, j))
            said = {
                (side, depth): f"a {one} {_SIDES[side]} and {_DEPTHS[depth]} a {other}"
                for side in _SIDES
                for depth in _DEPTHS
            }
            right = said.pop((held[0], held[1]))
            return SceneCaptions(right, list(said.values()), " ".join(held))
    return None


_SAYING: dict[str, Callable[[ClevrScene, Random], SceneCaptions | None]] = {
    "attribute-binding": _binding,
    "colour": _colour,
    "count": _count,
    "shape": _shape,
    "spatial": _spatial,
}


def _answered(entries: list[TaskEntry], images: Path, options: ClevrOptions) -> Iterator[Draft]:
    """CLEVR's questions about colours, numbers and shapes, with the right answer after them, or a wrong one."""
    for number, entry in enumerate(entries):
        program = entry.entries("program")
        if not program:
            entry.fail("program", "is empty")
        task = _QUERIES.get(program[-1].text("function"))
        if task not in options.tasks:
            continue
        question, answer = entry.text("question"), entry.text("answer")
        wrong = _others(entry, task, answer, drawn(options.seed, "clevr", "answers", number))
        yield Draft(
            id=f"clevr-question-{options.split}-{number}",
            image=images / entry.text("image_filename"),
            right=f"{question} {answer}",
            wrong=tuple(f"{question} {one}" for one in wrong),
            task=task,
            answer=answer,
        )


def _others(entry: TaskEntry, task: str, answer: str, rng: Random) -> list[str]:
    """Three wrong answers (two of shapes): colours at random, numbers next to the right one."""
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
