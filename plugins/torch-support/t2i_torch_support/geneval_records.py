"""Records of GenEval's prompts: one JSON object for each, with the objects that its image must show.

    {"tag": "counting", "include": [{"class": "clock", "count": 2}], "exclude": [{"class": "clock", "count": 3}],
     "prompt": "a photo of two clocks"}

GenEval has COCO's classes, three of them under other names. It uses `exclude` for exact numbers: no further object
of the class may appear. A scene's count says the same for the tag `counting`; other uses of `exclude` are refused.

References:
    Ghosh, Hajishirzi, Schmidt: GenEval. NeurIPS 2023, arXiv:2310.11513.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from t2i_core.api.prompt import ObjectClass, Prompt, Relation, Scene, SceneObject

from .coco_classes import CLASSES

COUNTING = "counting"
"""The tag of prompts whose numbers are exact."""
OWN_NAMES = {"mouse": "computer mouse", "remote": "tv remote", "keyboard": "computer keyboard"}
"""GenEval's names of three of COCO's classes."""
PREDICATES = {"left of": "left", "right of": "right", "above": "above", "below": "below"}
"""The relation of a scene for each of GenEval's positions."""

_COCO = {own: name for name, own in OWN_NAMES.items()}


def find_class(name: str) -> ObjectClass:
    """Return the class of a name of GenEval, under that name; without synset if COCO does not have it."""
    known = CLASSES.get(_COCO.get(name, name))
    return ObjectClass(name, known.synset if known else None)


def make_prompt(id: str, record: Any, find: Callable[[str], ObjectClass] = find_class) -> Prompt:
    """Return the prompt of a record, with its tag as facet.

    Args:
        id: The prompt's id.
        record: The record, as JSON has it.
        find: Returns the class of a name.

    Raises:
        ValueError: If it is not as GenEval writes it; the message says what is wrong.
    """
    if not isinstance(record, Mapping) or not isinstance(record.get("prompt"), str):
        raise ValueError("must be one JSON object with a field 'prompt'")
    if not record["prompt"].strip():
        raise ValueError("prompt: is blank; write a text")
    tag = record.get("tag")
    facets = {"tag": tag} if isinstance(tag, str) else {}
    try:
        scene = _read_scene(record["include"], find) if record.get("include") not in (None, []) else None
    except ValueError as error:
        raise ValueError(f"include: not as GenEval writes it: {error}") from error
    _refuse_other_limits(record, tag, scene)
    return Prompt(id, record["prompt"], scene, facets)


def _read_scene(include: Any, find: Callable[[str], ObjectClass]) -> Scene:
    """Return the required objects as a scene. Raises ValueError with the expected form."""
    if not isinstance(include, list) or not all(isinstance(each, Mapping) for each in include):
        raise ValueError("must be a list of objects, each {'class': 'dog', 'count': 1}")
    objects, relations = [], []
    for number, each in enumerate(include):
        count = each.get("count", 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"object {number}: count must be a whole number above 0 (got {count!r})")
        colour = each.get("color")
        if colour is not None and not _is_word(colour):
            raise ValueError(f"object {number}: color must be a word (got {colour!r})")
        if not _is_word(each.get("class")):
            raise ValueError(f"object {number}: class must be a name (got {each.get('class')!r})")
        objects.append(SceneObject(find(each["class"]), colour, count))
        if each.get("position"):
            relations.append(_read_relation(number, each["position"], len(include)))
    return Scene(tuple(objects), tuple(relations))


def _is_word(value: Any) -> bool:
    """Return whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def _read_relation(number: int, position: Any, count: int) -> Relation:
    """Return the relation of an object to one of `count` objects. Raises ValueError with the expected form."""
    match position:
        case [_, bool()]:
            pass
        case [str(where), int(other)] if where in PREDICATES and 0 <= other < count and other != number:
            return Relation(number, PREDICATES[where], other)
    raise ValueError(
        f"object {number}: position must be one of {', '.join(PREDICATES)} and the number of another of {count} "
        f"objects, counted from 0 (['left of', 0]), not {position!r}"
    )


def _refuse_other_limits(record: Mapping[str, Any], tag: Any, scene: Scene | None) -> None:
    """Refuse an `exclude` that does not just make the numbers of a counting prompt exact.

    Raises:
        ValueError: If it says something else, or a counting prompt lacks it for one of its classes.
    """
    exclude = record.get("exclude")
    exclude = [] if exclude is None else exclude
    if not isinstance(exclude, list):
        raise ValueError(
            f"exclude: must be a list of objects, each {{'class': 'dog', 'count': 2}} (got {exclude!r})"
        )
    given = [(e.get("class"), e.get("count")) if isinstance(e, Mapping) else (None, None) for e in exclude]
    objects = scene.objects if scene else ()
    exact = [(each.cls.name, each.count + 1) for each in objects] if tag == COUNTING else []
    if sorted(map(str, given)) != sorted(map(str, exact)):
        wanted = [{"class": name, "count": count} for name, count in exact]
        raise ValueError(
            f"exclude: only exact numbers are supported, with the tag {COUNTING!r}: one more than the count of "
            f"each class of include, here {wanted} (got {exclude!r})"
        )
