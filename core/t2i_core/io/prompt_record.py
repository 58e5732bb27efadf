"""One record of a prompt file: the fields that users write, and the prompt that they mean."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..api.digest import digest_data
from ..api.errors import BadPrompts, did_you_mean
from ..api.prompt import RESERVED, Prompt, Scene, find_invalid_facet
from ..api.prompt_question import PromptQuestion, parse_questions
from .scene_grammar import write_scene
from .short_scene import parse_objects

TEXT_FIELDS = ("prompt", "text")
FILE_FIELDS = ("file", "file_name", "image")
IMAGE_FIELDS = (*FILE_FIELDS, "seed")
KNOWN_FIELDS = (
    *TEXT_FIELDS, *IMAGE_FIELDS, "id", "objects", "relations", "scene", "facets", "images", "texts", "answer",
    "cluster", "references", "questions",
)  # fmt: skip
"""Fields that are not facets."""

ID_LENGTH = 60
"""Maximum number of characters of an id that is made from a text."""

_PLAIN = re.compile(r"[a-z0-9]+( [a-z0-9]+)*")


RecordT = TypeVar("RecordT", bound="PromptRecord")


@dataclass(frozen=True)
class PromptRecord:
    """One entry of a prompt file, not yet checked.

    Attributes:
        path: The file.
        line: The line on which the entry begins, from 1.
        fields: Values by name: texts (CSV) or plain data (JSON lines), without blank ones.
    """

    path: Path
    line: int
    fields: Mapping[str, Any]

    @property
    def where(self) -> str:
        """`FILE, line N`, with which messages begin."""
        return f"{self.path}, line {self.line}"

    def fail(self, field: str, problem: str) -> NoReturn:
        """Raise BadPrompts for one field.

        Args:
            field: The name of the field.
            problem: What is wrong with it and what to do.
        """
        raise BadPrompts(f"{self.where}: {field}: {problem}")

    @property
    def text(self) -> str | None:
        """The prompt's text; None if the record has none. Raises BadPrompts if it is not a text."""
        for name in TEXT_FIELDS:
            if name in self.fields:
                return self._read_string(name)
        return None

    @property
    def id(self) -> str | None:
        """The prompt's id as written; None if the record has none. Raises BadPrompts if it is not a text."""
        value = self.fields.get("id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self._read_string("id") if "id" in self.fields else None

    def prompt(self) -> Prompt:
        """Return the prompt. If the record has no id, it is made from the text.

        Raises:
            BadPrompts: If a field is missing or wrong.
        """
        text, scene = self.text, self._read_scene()
        if text is None and "objects" in self.fields and scene is not None:
            text = self._write_text(scene)
        if text is None:
            self.fail("prompt", "is missing; add it, or delete the record")
        return Prompt(
            id=self.id or make_id(text),
            text=text,
            scene=scene,
            facets=self._read_facets(),
            images=tuple(self._find_image(name) for name in self._read_strings("images")),
            texts=self._read_strings("texts"),
            answer=self._read_answer(),
            cluster=self._read_string("cluster") if "cluster" in self.fields else None,
            references=self._read_references(),
            questions=self._read_questions(),
        )

    def _read_string(self, field: str) -> str:
        value = self.fields[field]
        if not isinstance(value, str):
            self.fail(field, f"must be a text (got {json.dumps(value)})")
        return value

    def _read_strings(self, field: str) -> tuple[str, ...]:
        value = self.fields.get(field, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.fail(field, "must be a list of texts")
        return tuple(value)

    def _read_references(self) -> tuple[str, ...]:
        references = self._read_strings("references")
        if not all(text.strip() for text in references):
            self.fail("references", "must not hold blank texts; delete them")
        return references

    def _read_questions(self) -> tuple[PromptQuestion, ...]:
        data = self.fields.get("questions", [])
        try:
            if isinstance(data, str):
                lists = data.lstrip().startswith("[")
                data = json.loads(data) if lists else [part for part in map(str.strip, data.split(";")) if part]
            return parse_questions(data)
        except (ValueError, RecursionError) as error:
            self.fail("questions", str(error))

    def _find_image(self, name: str) -> str:
        path = self.path.parent / name
        if not path.is_file():
            self.fail("images", f"no such file: {path}")
        return str(path)

    def _read_answer(self) -> int | None:
        answer = self.fields.get("answer")
        if answer is None:
            return None
        texts = self._read_strings("texts")
        if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < len(texts):
            self.fail("answer", f"must be the index of one of the {len(texts)} texts, counted from 0")
        return answer

    def _write_text(self, scene: Scene) -> str:
        try:
            return write_scene(scene)
        except ValueError as error:
            self.fail("prompt", f"is missing, and cannot be written from the objects ({error}); add it")

    def _read_scene(self) -> Scene | None:
        data, objects = self.fields.get("scene"), self.fields.get("objects")
        if data is not None and objects is not None:
            self.fail("objects", "the record has a scene too; delete one of them")
        if objects is not None:
            try:
                return parse_objects(objects, self.fields.get("relations"))
            except ValueError as error:
                self.fail("objects", str(error))
        if "relations" in self.fields:
            self.fail("relations", "needs objects; list them in the field objects")
        if data is None:
            return None
        try:
            scene = Scene.from_json(json.loads(data) if isinstance(data, str) else data)
            for relation in scene.relations:
                if not {relation.subject, relation.object} <= set(range(len(scene.objects))):
                    self.fail(
                        "scene",
                        f"relation {relation.predicate!r} refers to an object that does not exist; "
                        f"the scene has {len(scene.objects)}, counted from 0",
                    )
            return scene
        except json.JSONDecodeError as error:
            self.fail("scene", f"not JSON ({error})")
        except KeyError as error:
            self.fail("scene", f"the field {error} is missing")
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            self.fail("scene", f"not a scene ({error})")

    def _read_facets(self) -> dict[str, str | int | float]:
        facets = self.fields.get("facets", {})
        if not isinstance(facets, dict):
            self.fail("facets", "must be an object with names and values")
        facets = {**{name: v for name, v in self.fields.items() if name not in KNOWN_FIELDS}, **facets}
        for name in facets:
            if name in RESERVED:
                self.fail(name, "a facet may not have the name of a column of the measured table; rename it")
        if (strange := find_invalid_facet(facets)) is not None:
            self.fail(strange, "a facet must be a text or a number")
        return facets


def make_id(text: str) -> str:
    """Return an id that depends on the text alone, such as `a-photo-of-a-car`.

    If the words joined by hyphens could come from another text too, ten digits of the text's SHA-256 follow.
    """
    if len(text) <= ID_LENGTH and _PLAIN.fullmatch(text):
        return text.replace(" ", "-")
    words = re.sub(r"\W+", "-", text.lower())[: ID_LENGTH - 11].strip("-")
    return f"{words}-{digest_data(text)[:10]}".lstrip("-")


def map_columns(
    records: Iterable[RecordT],
    names: Iterable[str],
    path: Path,
    columns: Mapping[str, str],
    facets: Collection[str] | None = None,
) -> list[RecordT]:
    """Return records with their fields under the fields' own names.

    Args:
        records: The records.
        names: All columns of the table.
        path: The table, for messages.
        columns: Names of columns by field.
        facets: Columns that become facets. If None, all columns but the fields.

    Raises:
        BadPrompts: If the table lacks a column.
    """
    names = list(dict.fromkeys(names))
    for what, column in [*columns.items(), *(("a facet", name) for name in facets or ())]:
        if column not in names:
            known = did_you_mean(column, names) or f"; its columns are {', '.join(names)}"
            raise BadPrompts(f"{path}: has no column {column!r} for {what}{known}")
    # another column must not be taken for a field that the user maps
    replaced = {*columns.values(), *columns}
    replaced |= {name for alike in (TEXT_FIELDS, FILE_FIELDS) if columns.keys() & set(alike) for name in alike}
    found = []
    for record in records:
        fields = {
            name: value
            for name, value in record.fields.items()
            if name not in replaced and (facets is None or name in KNOWN_FIELDS or name in facets)
        }
        fields |= {name: record.fields[column] for name, column in columns.items() if column in record.fields}
        fields |= {name: record.fields[name] for name in facets or () if name in record.fields}
        found.append(replace(record, fields=fields))
    return found
