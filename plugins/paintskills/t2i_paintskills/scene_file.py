"""Scene files of PaintSkills: reading with a check of every scene, and writing without changes.

The official format is `json.dumps({"data": [...]}, indent=4)`. A scene has `id`, `scene`, `text`, `skill`, `split`
and `objects`. An object has `id`, `shape`, `color`, `relation`, `scale`, `texture`, `rotation` and `state`. Some
files have these in another order, have further fields (`answer`), or lack `split`; their data stays unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from sys import float_info
from typing import Any, NoReturn

from t2i_core.api.errors import BadPrompts, did_you_mean
from t2i_core.io.text_file import read_text

from .skills import COLOURS, RELATIONS, SHAPES, SKILLS, SkillText, items

PLAIN = "plain"
"""The colour of objects without a particular colour."""


@dataclass(frozen=True)
class SceneConfig:
    """One scene that passed all checks.

    Attributes:
        id: Identifier of the scene.
        text: The text in the file.
        item: The text of a skill that the objects correspond to.
        data: All fields of the scene in the file.
    """

    id: str
    text: str
    item: SkillText
    data: Mapping[str, Any]


@dataclass(frozen=True)
class SceneFile:
    """A scene file.

    Attributes:
        scenes: The scenes.
        data: The whole content of the file.
        indent: Indentation of the JSON: 4 in the official format, None if the file is a single line.
        end: Characters after the last bracket.
    """

    scenes: tuple[SceneConfig, ...]
    data: Mapping[str, Any]
    indent: int | None = 4
    end: str = ""

    def to_text(self) -> str:
        """Return the text of the file; for a file in the official format it is the same byte for byte."""
        return json.dumps(self.data, indent=self.indent) + self.end


def of_scenes(scenes: Sequence[Mapping[str, Any]]) -> SceneFile:
    """Return a file of these scenes, in the official format.

    Raises:
        BadPrompts: A scene is not valid. The message names scene, field and problem.
    """
    return _check_file("scenes", {"data": list(scenes)}, 4, "")


def read_scenes(path: Path) -> SceneFile:
    """Read a scene file.

    Raises:
        BadPrompts: The file is not valid. The message names file, scene, field and problem.
    """
    text = read_text(path, BadPrompts)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{path}: not JSON ({error})") from error
    if not isinstance(data, dict) or not isinstance(data.get("data"), list):
        raise BadPrompts(f'{path}: must be an object with a list of scenes, {{"data": [...]}}')
    stripped = text.rstrip("\r\n")
    return _check_file(str(path), data, 4 if "\n" in stripped else None, text[len(stripped) :])


def _check_file(where: str, data: Mapping[str, Any], indent: int | None, end: str) -> SceneFile:
    scenes: dict[str, SceneConfig] = {}
    for number, raw in enumerate(data["data"]):
        scene = _SceneReader(where, number, raw).read_scene()
        if scene.id in scenes:
            raise BadPrompts(f"{where}: scene {number} ({scene.id!r}): id: another scene has the same id")
        scenes[scene.id] = scene
    if not scenes:
        raise BadPrompts(f"{where}: no scenes; the list data must not be empty")
    return SceneFile(tuple(scenes.values()), data, indent, end)


@dataclass(frozen=True)
class _SceneReader:
    """Reader of one scene of a file.

    Attributes:
        where: Name of the file.
        number: Index of the scene.
        raw: Data of the scene.
    """

    where: str
    number: int
    raw: Any

    def read_scene(self) -> SceneConfig:
        if not isinstance(self.raw, dict):
            self.fail("", "must be an object")
        text = self.read_text(self.raw, "text")
        skill = self.read_choice(self.raw, "skill", SKILLS)
        self.read_text(self.raw, "scene")
        if "split" in self.raw:
            self.read_text(self.raw, "split")
        item = self.read_item(skill)
        expected = _texts_of_skills().get(text, item)  # a text of no skill may say anything
        if expected != item and expected.scene != item.scene:
            self.fail("text", f"must be {item.text!r}, to match the objects (got {_shorten(text)})")
        return SceneConfig(self.read_text(self.raw, "id"), text, item, self.raw)

    def read_item(self, skill: Any) -> SkillText:
        objects = self.raw.get("objects")
        wanted = {"count": range(1, 5), "spatial": (2,)}.get(skill, (1,))
        if not isinstance(objects, list) or len(objects) not in wanted:
            number = " to ".join(map(str, sorted({*wanted[:1], *wanted[-1:]})))
            self.fail("objects", f"must be a list with {number} elements")
        shapes = tuple(self.read_object(one, f"objects[{n}].") for n, one in enumerate(objects))
        if skill == "count" and len(set(shapes)) > 1:
            self.fail("objects[1].shape", f"must be {shapes[0]!r}, the shape of the first object")
        colour = self.read_choice(objects[0], "color", COLOURS, "objects[0].") if skill == "color" else None
        relation = self.read_relation(objects[1]) if skill == "spatial" else None
        shown = shapes if skill == "spatial" else shapes[:1]
        return SkillText(skill, shown, colour, len(shapes) if skill == "count" else 1, relation)

    def read_object(self, data: Any, at: str) -> str:
        """Check one object, and return its shape; all human characters have the shape `human`."""
        if not isinstance(data, dict):
            self.fail(at[:-1], "must be an object")
        if not isinstance(data.get("id"), int) or isinstance(data["id"], bool):
            self.fail(f"{at}id", _describe_mismatch("a whole number", data, "id"))
        shape = self.read_text(data, "shape", at)
        shape = "human" if shape.startswith("human") else shape
        if shape not in SHAPES:
            self.fail(f"{at}shape", f"PaintSkills has no {shape!r}{did_you_mean(shape, SHAPES)}")
        self.read_choice(data, "color", (PLAIN, *COLOURS), at)
        self.read_text(data, "texture", at)
        if not _is_number(data.get("scale")) or not data["scale"] > 0:
            self.fail(f"{at}scale", _describe_mismatch("a number above 0", data, "scale"))
        rotation = data.get("rotation")
        if rotation is not None and not (
            isinstance(rotation, list) and len(rotation) == 3 and all(map(_is_number, rotation))
        ):
            self.fail(f"{at}rotation", _describe_mismatch("null or three numbers", data, "rotation"))
        for name in ("relation", "state"):
            if data.get(name) is not None:
                self.read_text(data, name, at)
        return shape

    def read_relation(self, second: Mapping[str, Any]) -> str:
        predicate, _, other = str(second.get("relation")).rpartition("_")
        if predicate not in RELATIONS or other != "0":
            known = ", ".join(f"{name}_0" for name in RELATIONS)
            self.fail("objects[1].relation", _describe_mismatch(f"one of {known}", second, "relation"))
        return predicate

    def read_text(self, data: Mapping[str, Any], name: str, at: str = "") -> str:
        value = data.get(name)
        if not isinstance(value, str) or not value:
            self.fail(at + name, _describe_mismatch("text", data, name))
        return value

    def read_choice(self, data: Mapping[str, Any], name: str, known: Sequence[str], at: str = "") -> str:
        value = self.read_text(data, name, at)
        if value not in known:
            self.fail(at + name, f"must be one of {', '.join(known)} (got {value!r})")
        return value

    def fail(self, field: str, problem: str) -> NoReturn:
        scene_id = self.raw.get("id") if isinstance(self.raw, dict) else None
        label = f" ({scene_id!r})" if isinstance(scene_id, str) else ""
        raise BadPrompts(": ".join(filter(None, (self.where, f"scene {self.number}{label}", field, problem))))


@cache
def _texts_of_skills() -> dict[str, SkillText]:
    """Return all texts of the four skills."""
    return {item.text: item for skill in SKILLS for item in items(skill)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def _describe_mismatch(what: str, data: Mapping[str, Any], name: str) -> str:
    return f"must be {what} (got {_shorten(data[name])})" if name in data else "is missing"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
