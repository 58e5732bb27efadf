"""Scene files of PaintSkills: read, checked scene by scene, and written as they were.

The official form is `json.dumps({"data": [...]}, indent=4)`. A scene has `id`, `scene`, `text`, `skill`, `split`,
`objects`; an object has `id`, `shape`, `color`, `relation`, `scale`, `texture`, `rotation` and `state`. Some files
have these in another order, further fields (`answer`) or no `split`; they are kept as they are.
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
"""The colour of an object that has none of its own."""


@dataclass(frozen=True)
class SceneConfig:
    """One scene, checked.

    item:  what is asked for
    text:  as the file has it
    data:  all that the file says of it
    """

    id: str
    text: str
    item: SkillText
    data: Mapping[str, Any]


@dataclass(frozen=True)
class SceneFile:
    """A scene file.

    data:    all that it says
    indent:  of its form: 4 in the official one, None where all stands in one line
    end:     what follows the last bracket
    """

    scenes: tuple[SceneConfig, ...]
    data: Mapping[str, Any]
    indent: int | None = 4
    end: str = ""

    def to_text(self) -> str:
        """Return the file's text: a file in the official form comes out as it was, byte for byte."""
        return json.dumps(self.data, indent=self.indent) + self.end


def of_scenes(scenes: Sequence[Mapping[str, Any]]) -> SceneFile:
    """A file of these scenes, in the official form. Raises BadPrompts."""
    return _checked("scenes", {"data": list(scenes)}, 4, "")


def read_scenes(path: Path) -> SceneFile:
    """Read a scene file. Raises BadPrompts: which scene and which field is wrong, in one line."""
    text = read_text(path, BadPrompts)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{path}: not JSON ({error})") from error
    if not isinstance(data, dict) or not isinstance(data.get("data"), list):
        raise BadPrompts(f'{path}: want an object with a list of scenes, {{"data": [...]}}')
    stripped = text.rstrip("\r\n")
    return _checked(str(path), data, 4 if "\n" in stripped else None, text[len(stripped) :])


def _checked(where: str, data: Mapping[str, Any], indent: int | None, end: str) -> SceneFile:
    scenes: dict[str, SceneConfig] = {}
    for number, raw in enumerate(data["data"]):
        scene = _Reader(where, number, raw).scene()
        if scene.id in scenes:
            raise BadPrompts(f"{where}: scene {number} ({scene.id!r}): id: another scene has it too")
        scenes[scene.id] = scene
    if not scenes:
        raise BadPrompts(f"{where}: holds no scenes")
    return SceneFile(tuple(scenes.values()), data, indent, end)


@dataclass(frozen=True)
class _Reader:
    """Reads one scene of a file."""

    where: str
    number: int
    raw: Any

    def scene(self) -> SceneConfig:
        if not isinstance(self.raw, dict):
            self.fail("", "want an object")
        text = self.word(self.raw, "text")
        skill = self.one_of(self.raw, "skill", SKILLS)
        self.word(self.raw, "scene")
        if "split" in self.raw:
            self.word(self.raw, "split")
        item = self.item(skill)
        meant = _items().get(text, item)  # words of one's own may say anything
        if meant != item and meant.scene != item.scene:
            self.fail("text", f"want {item.text!r}, as the objects are, not {_shown(text)}")
        return SceneConfig(self.word(self.raw, "id"), text, item, self.raw)

    def item(self, skill: Any) -> SkillText:
        objects = self.raw.get("objects")
        wanted = {"count": range(1, 5), "spatial": (2,)}.get(skill, (1,))
        if not isinstance(objects, list) or len(objects) not in wanted:
            self.fail("objects", f"want a list of {' to '.join(map(str, sorted({*wanted[:1], *wanted[-1:]})))}")
        shapes = tuple(self.thing(one, f"objects[{n}].") for n, one in enumerate(objects))
        if skill == "count" and len(set(shapes)) > 1:
            self.fail("objects[1].shape", f"want {shapes[0]!r}, as the first")
        colour = self.one_of(objects[0], "color", COLOURS, "objects[0].") if skill == "color" else None
        relation = self.relation(objects[1]) if skill == "spatial" else None
        shown = shapes if skill == "spatial" else shapes[:1]
        return SkillText(skill, shown, colour, len(shapes) if skill == "count" else 1, relation)

    def thing(self, data: Any, at: str) -> str:
        """Check one object, and return its shape without the name of a character."""
        if not isinstance(data, dict):
            self.fail(at[:-1], "want an object")
        if not isinstance(data.get("id"), int) or isinstance(data["id"], bool):
            self.fail(f"{at}id", _wanted("a whole number", data, "id"))
        shape = self.word(data, "shape", at)
        shape = "human" if shape.startswith("human") else shape
        if shape not in SHAPES:
            self.fail(f"{at}shape", f"no object {shape!r}{did_you_mean(shape, SHAPES)}")
        self.one_of(data, "color", (PLAIN, *COLOURS), at)
        self.word(data, "texture", at)
        if not _is_number(data.get("scale")) or not data["scale"] > 0:
            self.fail(f"{at}scale", _wanted("a number above 0", data, "scale"))
        rotation = data.get("rotation")
        if rotation is not None and not (
            isinstance(rotation, list) and len(rotation) == 3 and all(map(_is_number, rotation))
        ):
            self.fail(f"{at}rotation", _wanted("null or three numbers", data, "rotation"))
        for name in ("relation", "state"):
            if data.get(name) is not None:
                self.word(data, name, at)
        return shape

    def relation(self, second: Mapping[str, Any]) -> str:
        predicate, _, other = str(second.get("relation")).rpartition("_")
        if predicate not in RELATIONS or other != "0":
            known = ", ".join(f"{name}_0" for name in RELATIONS)
            self.fail("objects[1].relation", _wanted(f"one of {known}", second, "relation"))
        return predicate

    def word(self, data: Mapping[str, Any], name: str, at: str = "") -> str:
        value = data.get(name)
        if not isinstance(value, str) or not value:
            self.fail(at + name, _wanted("text", data, name))
        return value

    def one_of(self, data: Mapping[str, Any], name: str, known: Sequence[str], at: str = "") -> str:
        value = self.word(data, name, at)
        if value not in known:
            self.fail(at + name, f"want one of {', '.join(known)}, not {value!r}")
        return value

    def fail(self, field: str, problem: str) -> NoReturn:
        own = self.raw.get("id") if isinstance(self.raw, dict) else None
        called = f" ({own!r})" if isinstance(own, str) else ""
        raise BadPrompts(": ".join(filter(None, (self.where, f"scene {self.number}{called}", field, problem))))


@cache
def _items() -> dict[str, SkillText]:
    """What each text of the four skills asks for."""
    return {item.text: item for skill in SKILLS for item in items(skill)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def _wanted(what: str, data: Mapping[str, Any], name: str) -> str:
    return f"want {what}, not {_shown(data[name])}" if name in data else "is missing"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
