"""Prompts from a user's file: text (one prompt a line), CSV or JSON lines, in UTF-8.

A record is one line of text, one row of CSV or one JSON object. Its fields are:

| field             | in CSV and JSON lines                                                                |
|-------------------|--------------------------------------------------------------------------------------|
| prompt, or text   | the text that is sent to the generator                                               |
| id                | optional; if missing, t2i makes it from the text, the same everywhere                |
| scene             | optional: what the image must show, as `Scene.to_json` writes it (in CSV as JSON)    |
| any other         | a facet; blank cells are ignored                                                     |

JSON lines may also have the fields `facets`, `images` (paths relative to the file), `texts`, `answer` and
`cluster` of `Prompt`. Fields that assign an image to a prompt (`IMAGE_FIELDS`) are ignored here, so that a
folder's table of images can also serve as a list of prompts.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from ..api.digest import digest_data
from ..api.errors import BadPrompts
from ..api.prompt import RESERVED, Prompt, Scene, find_invalid_facet
from .table import parse_json_lines, parse_table
from .text_file import read_text

TEXT_FIELDS = ("prompt", "text")
FILE_FIELDS = ("file", "file_name", "image")
IMAGE_FIELDS = (*FILE_FIELDS, "seed")
_PLAIN = re.compile(r"[a-z0-9]+( [a-z0-9]+)*")
_ID_LENGTH = 60


@dataclass(frozen=True)
class Record:
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
        text = self.text
        if text is None:
            self.fail("prompt", "is missing; add it, or delete the record")
        return Prompt(
            id=self.id or make_id(text),
            text=text,
            scene=self._read_scene(),
            facets=self._read_facets(),
            images=tuple(self._find_image(name) for name in self._read_strings("images")),
            texts=self._read_strings("texts"),
            answer=self._read_answer(),
            cluster=self._read_string("cluster") if "cluster" in self.fields else None,
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

    def _read_scene(self) -> Scene | None:
        data = self.fields.get("scene")
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
        known = (*TEXT_FIELDS, *IMAGE_FIELDS, "id", "scene", "facets", "images", "texts", "answer", "cluster")
        facets = {**{name: v for name, v in self.fields.items() if name not in known}, **facets}
        for name in facets:
            if name in RESERVED:
                self.fail(name, "a facet may not have the name of a column of the measured table; rename it")
        if (strange := find_invalid_facet(facets)) is not None:
            self.fail(strange, "a facet must be a text or a number")
        return facets


def is_prompt_file(spec: str) -> bool:
    """Return whether `--prompts SPEC` names a file, existing or not, rather than a prompt source."""
    path = Path(spec)
    windows_drive = 2
    return (path.suffix != "" and path.is_file()) or (
        path.suffix.lower() in _READERS and ":" not in spec[windows_drive:]
    )


def read_prompts(path: str | Path) -> list[Prompt]:
    """Return a file's prompts in its order, one per record.

    Identical records give equal prompts (see `merge_duplicates`).

    Raises:
        BadPrompts: If the file is not a prompt file, in one line that names file, line and field.
    """
    prompts = parse_prompts(read_records(path))
    if not prompts:
        raise BadPrompts(f"{path}: holds no prompts; write at least one")
    return prompts


def parse_prompt_lines(path: Path, text: str) -> list[Prompt]:
    """Return the prompts in the text of a file of JSON lines, one per record.

    Raises:
        BadPrompts: If the text is not valid, in one line that names file, line and field.
    """
    return parse_prompts(_read_json_lines(path, text))


def write_prompts(prompts: Iterable[Prompt]) -> Iterator[dict[str, Any]]:
    """Yield prompts as the records of a file of JSON lines, each once.

    The images that belong to prompts are left out, because they lie elsewhere. So are prompts without text, and
    those that share their id but differ.
    """
    by_id: dict[str, Prompt | None] = {}
    for prompt in prompts:
        if by_id.setdefault(prompt.id, prompt) != prompt:
            by_id[prompt.id] = None
    yield from (_write_prompt(prompt) for prompt in by_id.values() if prompt is not None and prompt.text.strip())


def _write_prompt(prompt: Prompt) -> dict[str, Any]:
    fields = {
        "prompt": prompt.text,
        "id": prompt.id,
        "scene": prompt.scene and prompt.scene.to_json(),
        "facets": dict(prompt.facets),
        "texts": list(prompt.texts),
        "answer": prompt.answer,
        "cluster": prompt.cluster,
    }
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def parse_prompts(records: Iterable[Record]) -> list[Prompt]:
    """Return one prompt per record.

    If prompts without their own ids share the text but expect different things, `-2`, `-3`, ... are added to their
    ids.

    Raises:
        BadPrompts: If two different prompts have the same id, or a field is wrong.
    """
    prompts: list[Prompt] = []
    seen: dict[str, tuple[Prompt, Record]] = {}
    expecting: dict[str, dict[str, Prompt]] = {}  # by the id made from the text, and by the digest of the rest
    counts: Counter[str] = Counter()
    for record in records:
        prompt = record.prompt()
        if prompt.id in seen and seen[prompt.id][0] != prompt:
            if record.id is not None:
                record.fail("id", f"{prompt.id!r} is also the id of line {seen[prompt.id][1].line}; change one")
            others = expecting.setdefault(prompt.id, {})
            expected = _digest_expectation(prompt)
            if expected not in others:
                others[expected] = _number(prompt, seen, counts)
            prompt = others[expected]
        seen.setdefault(prompt.id, (prompt, record))
        prompts.append(prompt)
    return prompts


def _number(prompt: Prompt, seen: Mapping[str, tuple[Prompt, Record]], counts: Counter[str]) -> Prompt:
    """Add the next free number to a prompt's id."""
    base = prompt.id
    while prompt.id in seen and seen[prompt.id][0] != prompt:
        counts[base] += 1
        prompt = replace(prompt, id=f"{base}-{counts[base] + 1}")
    return prompt


def _digest_expectation(prompt: Prompt) -> str:
    """Return a digest of everything but id and text, the same for prompts that expect the same."""
    own = [prompt.images, prompt.texts, prompt.answer, prompt.cluster, dict(prompt.facets)]
    return digest_data([prompt.scene_digest, own])


def merge_duplicates(prompts: Iterable[Prompt]) -> tuple[list[Prompt], int]:
    """Drop repeated prompts.

    Returns:
        The prompts without repetitions, in their order, and the number of repetitions that were dropped. Prompts
        count as repetitions only if everything is equal, ids and expectations too.

    Raises:
        BadPrompts: If two different prompts have the same id.
    """
    first: dict[str, Prompt] = {}
    count = 0
    for prompt in prompts:
        count += 1
        if first.setdefault(prompt.id, prompt) != prompt:
            raise BadPrompts(
                f"two different prompts have the id {prompt.id!r}: {_shorten(first[prompt.id].text)} and "
                f"{_shorten(prompt.text)}; change one of the ids"
            )
    return list(first.values()), count - len(first)


def make_id(text: str) -> str:
    """Return an id that depends on the text alone, such as `a-photo-of-a-car`.

    If the words joined by hyphens could come from another text too, ten digits of the text's SHA-256 follow.
    """
    if len(text) <= _ID_LENGTH and _PLAIN.fullmatch(text):
        return text.replace(" ", "-")
    words = re.sub(r"\W+", "-", text.lower())[: _ID_LENGTH - 11].strip("-")
    return f"{words}-{digest_data(text)[:10]}".lstrip("-")


def read_records(path: str | Path) -> list[Record]:
    """Return a file's records in their order, without blank lines.

    Raises:
        BadPrompts: If the file is missing, is not UTF-8, or does not fit the ending of its name.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BadPrompts(f"{path}: the name of a prompt file must end in {', '.join(_READERS)}")
    return list(reader(path, read_text(path, BadPrompts)))


def _read_text(path: Path, text: str) -> Iterator[Record]:
    # not str.splitlines, which also splits at form feeds and line separators, which a prompt may contain
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if stripped := line.strip():
            yield Record(path, number, {"prompt": stripped})


def _read_json_lines(path: Path, text: str) -> Iterator[Record]:
    for number, fields in parse_json_lines(path, text, BadPrompts, "a field 'prompt'"):
        yield Record(path, number, {name: value for name, value in fields.items() if not _is_blank(value)})


def _read_csv(path: Path, text: str) -> Iterator[Record]:
    names, rows = parse_table(path, text, BadPrompts)
    if not set(names) & {*TEXT_FIELDS, "id"}:
        raise BadPrompts(f"{path}, line 1: no column 'prompt' or 'text' (columns: {', '.join(names)})")
    for row in rows:
        yield Record(path, row.line, row.cells)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _shorten(text: str) -> str:
    return repr(text if len(text) <= _ID_LENGTH else text[:_ID_LENGTH] + "...")


_READERS: dict[str, Callable[[Path, str], Iterator[Record]]] = {
    ".txt": _read_text,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
}
