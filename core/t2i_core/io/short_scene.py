"""Scenes in short form, as users write them in prompt files: `["dog", "two red cars"]`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..api.prompt import ObjectClass, Relation, Scene, SceneObject
from .scene_grammar import UnreadText, find_predicate, parse_free_phrase
from .vocabulary import Vocabulary, split_words

_FIELDS = ("name", "synset", "colour", "color", "count", "attributes")


def parse_objects(objects: Any, relations: Any = None) -> Scene:
    """Return the scene of the fields `objects` and `relations` of a prompt file.

    Args:
        objects: A list of phrases (`dog`, `two red cars`) and of objects with `name` and, optionally, `synset`,
            `colour`, `count` and `attributes`; or a text, in which semicolons separate phrases.
        relations: A list of `[SUBJECT, RELATION, OBJECT]`, where subject and object are names or numbers of
            objects, counted from 0. Lists may also be JSON texts.

    Raises:
        ValueError: If the fields have another form. The message begins with the item.
    """
    if isinstance(objects, str) and not objects.lstrip().startswith(("[", "{")):
        objects = [part for part in map(str.strip, objects.split(";")) if part]
    objects, relations = _read_list(objects, "objects"), _read_list(relations or [], "relations")
    if not objects:
        raise ValueError("lists no objects")
    things = tuple(_parse_object(each, number) for number, each in enumerate(objects))
    return Scene(things, tuple(_parse_relation(each, number, things) for number, each in enumerate(relations)))


def _read_list(value: Any, name: str) -> Sequence[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} is not JSON ({error})") from error
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list (got {json.dumps(value)})")
    return value


def _parse_object(value: Any, number: int) -> SceneObject:
    if isinstance(value, str):
        try:
            return parse_free_phrase(value)
        except UnreadText as error:
            raise ValueError(f"object {number}: {value!r}: {error}") from error
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str) or not value["name"].strip():
        raise ValueError(f"object {number} must be a text or an object with 'name' (got {json.dumps(value)})")
    if unknown := next((str(key) for key in value if key not in _FIELDS), None):
        raise ValueError(f"object {number}: unknown field {unknown!r}; known are {', '.join(_FIELDS)}")
    count, attributes = value.get("count", 1), value.get("attributes") or {}
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"object {number}: count must be a whole number from 1 (got {json.dumps(count)})")
    if not isinstance(attributes, Mapping) or not all(isinstance(each, str) for each in attributes.values()):
        raise ValueError(
            f"object {number}: attributes must be an object with texts (got {json.dumps(attributes)})"
        )
    texts = {key: value[key] for key in ("synset", "colour", "color") if value.get(key) is not None}
    if wrong := next((key for key, text in texts.items() if not isinstance(text, str)), None):
        raise ValueError(f"object {number}: {wrong} must be a text (got {json.dumps(texts[wrong])})")
    colour = texts.get("colour", texts.get("color"))
    return SceneObject(ObjectClass(value["name"].strip(), texts.get("synset")), colour, count, dict(attributes))


def _parse_relation(value: Any, number: int, objects: Sequence[SceneObject]) -> Relation:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[1], str):
        raise ValueError(f'relation {number} must be ["dog", "left of", "car"] (got {json.dumps(value)})')
    predicate = find_predicate(value[1])
    if predicate is None:
        raise ValueError(
            f"relation {number}: {value[1]!r} is not a relation; write left of, right of, above or below"
        )
    return Relation(_find_object(value[0], number, objects), predicate, _find_object(value[2], number, objects))


def _find_object(value: Any, relation: int, objects: Sequence[SceneObject]) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(objects):
        return value
    meant = parse_free_phrase(value) if isinstance(value, str) and value.strip() else None
    found = [
        number
        for number, each in enumerate(objects)
        if meant and each.cls.name == meant.cls.name and meant.colour in (None, each.colour)
    ]
    if len(found) != 1:
        several = "several objects have this name" if found else "no object has this name or number"
        raise ValueError(f"relation {relation}: {value!r}: {several}; there are {len(objects)}, counted from 0")
    return found[0]


def resolve_classes(scene: Scene, vocabulary: Vocabulary) -> Scene:
    """Return a scene whose classes without a synset are those of a vocabulary, where it has the name."""

    def resolve(thing: SceneObject) -> SceneObject:
        words = split_words(thing.cls.name)
        noun = None if thing.cls.synset else vocabulary.nouns.get(tuple(words))
        return replace(thing, cls=noun.cls) if noun else thing

    return replace(scene, objects=tuple(map(resolve, scene.objects)))
