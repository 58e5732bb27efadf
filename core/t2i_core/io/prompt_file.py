"""Prompts from a user's file: text (one prompt a line), CSV or JSON lines, in UTF-8.

A record is one line of text, one row of CSV or one JSON object. Its fields are:

| field             | in CSV and JSON lines                                                                |
|-------------------|--------------------------------------------------------------------------------------|
| prompt, or text   | the text that is sent to the generator; if the file has neither, nor objects, the    |
|                   | field caption, with uid as the id (as in DALL-Eval's uid_caption.csv)                |
| id                | optional; if missing, t2i makes it from the text, the same everywhere                |
| objects           | optional: what the image must show, in short: `["dog", "two red cars"]`, in CSV      |
|                   | `dog; two red cars`; without a prompt, t2i writes the text too                       |
| relations         | optional: relations of these objects: `[["dog", "left of", "car"]]`                  |
| scene             | instead of the two: the scene as `Scene.to_json` writes it (in CSV as JSON)          |
| questions         | optional: questions about the images: `["Is there a dog?", {"text": "Is it red?",     |
|                   | "parents": ["1"]}]` (see `PromptQuestion`); in CSV as JSON, or texts separated by `;` |
| any other         | a facet; blank cells are ignored                                                     |

JSON lines may also have the fields `facets`, `images` (paths relative to the file), `texts`, `answer`, `cluster`
and `references` of `Prompt`. Fields that assign an image to a prompt (`IMAGE_FIELDS`) are ignored here, so that a
folder's table of images can also serve as a list of prompts.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..api.digest import digest_data, encode_canonically
from ..api.errors import BadPrompts
from ..api.prompt import Prompt
from ..files.digest import digest_file
from .prompt_record import ID_LENGTH, TEXT_FIELDS, PromptRecord, map_columns
from .table import parse_json_lines, parse_table
from .text_file import read_text

_CAPTION, _UID = "caption", "uid"
"""Columns of published lists of captions, which are read if a file has no texts under another name."""


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
    _, records = _read_json_lines(path, text)
    return parse_prompts(records)


def write_prompts(prompts: Iterable[Prompt]) -> Iterator[dict[str, Any]]:
    """Yield prompts as the records of a file of JSON lines, each once.

    The images that belong to prompts are left out, because they lie elsewhere. So are prompts without text, and
    those that share their id but differ.
    """
    by_id: dict[str, Prompt | None] = {}
    for prompt in prompts:
        if by_id.setdefault(prompt.id, prompt) != prompt:
            by_id[prompt.id] = None
    yield from (write_prompt(prompt) for prompt in by_id.values() if prompt is not None and prompt.text.strip())


def write_prompt(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt as a record of a file of JSON lines, without its own images."""
    fields = {
        "prompt": prompt.text,
        "id": prompt.id,
        "scene": prompt.scene and prompt.scene.to_json(),
        "facets": dict(prompt.facets),
        "texts": list(prompt.texts),
        "answer": prompt.answer,
        "cluster": prompt.cluster,
        "references": list(prompt.references),
        "questions": [question.to_json() for question in prompt.questions],
    }
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def digest_prompts(prompts: Iterable[Prompt]) -> str:
    """Return the SHA-256 (hex) of what prompts say, expect and show, in whatever order."""
    return digest_data(sorted(map(_encode_prompt, prompts)))


def _encode_prompt(prompt: Prompt) -> str:
    return encode_canonically([write_prompt(prompt), [_digest_image(image) for image in prompt.images]])


def _digest_image(path: str) -> str:
    try:
        return digest_file(Path(path))
    except OSError:
        return "missing"  # such a sample fails, with the reason


def parse_prompts(records: Iterable[PromptRecord]) -> list[Prompt]:
    """Return one prompt per record.

    If prompts without their own ids share the text but expect different things, `-2`, `-3`, ... are added to their
    ids.

    Raises:
        BadPrompts: If two different prompts have the same id, or a field is wrong.
    """
    prompts: list[Prompt] = []
    seen: dict[str, tuple[Prompt, PromptRecord]] = {}
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


def _number(prompt: Prompt, seen: Mapping[str, tuple[Prompt, PromptRecord]], counts: Counter[str]) -> Prompt:
    """Add the next free number to a prompt's id."""
    base = prompt.id
    while prompt.id in seen and seen[prompt.id][0] != prompt:
        counts[base] += 1
        prompt = replace(prompt, id=f"{base}-{counts[base] + 1}")
    return prompt


def _digest_expectation(prompt: Prompt) -> str:
    """Return a digest of everything but id and text, the same for prompts that expect the same."""
    own = [prompt.images, prompt.texts, prompt.answer, prompt.cluster, dict(prompt.facets), prompt.references]
    return digest_data([prompt.scene_digest, own, [question.to_json() for question in prompt.questions]])


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


def read_records(path: str | Path) -> list[PromptRecord]:
    """Return a file's records in their order, without blank lines.

    Raises:
        BadPrompts: If the file is missing, is not UTF-8, does not fit the ending of its name, or is a table
            without a column for prompts.
    """
    names, records = read_table_records(path)
    if _CAPTION in names and not set(names) & {*TEXT_FIELDS, "objects"}:
        ids = {"id": _UID} if _UID in names and "id" not in names else {}
        return map_columns(records, names, Path(path), {"prompt": _CAPTION, **ids})
    if Path(path).suffix.lower() == ".csv" and not set(names) & {*TEXT_FIELDS, "id", "objects"}:
        raise BadPrompts(f"{path}, line 1: no column 'prompt' or 'text' (columns: {', '.join(names)})")
    return records


def read_table_records(path: str | Path) -> tuple[list[str], list[PromptRecord]]:
    """Return the columns of a file and its records, whatever the columns are (see `map_columns`).

    Raises:
        BadPrompts: If the file is missing, is not UTF-8, or does not fit the ending of its name.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BadPrompts(
            f"{path}: the name of a prompt file must end in {', '.join(_READERS)}; prompt sources read other "
            "files (NAME:FILE, see t2i list-plugins --kind prompt_source)"
        )
    return reader(path, read_text(path, BadPrompts))


def _read_text(path: Path, text: str) -> tuple[list[str], list[PromptRecord]]:
    # not str.splitlines, which also splits at form feeds and line separators, which a prompt may contain
    lines = enumerate(io.StringIO(text, newline=None), 1)
    return ["prompt"], [
        PromptRecord(path, number, {"prompt": line.strip()}) for number, line in lines if line.strip()
    ]


def _read_json_lines(path: Path, text: str) -> tuple[list[str], list[PromptRecord]]:
    objects = list(parse_json_lines(path, text, BadPrompts, "a field 'prompt'"))
    records = [
        PromptRecord(path, number, {name: value for name, value in fields.items() if not _is_blank(value)})
        for number, fields in objects
    ]
    return [name for _, fields in objects for name in fields], records


def _read_csv(path: Path, text: str) -> tuple[list[str], list[PromptRecord]]:
    names, rows = parse_table(path, text, BadPrompts)
    return names, [PromptRecord(path, row.line, row.cells) for row in rows]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _shorten(text: str) -> str:
    return repr(text if len(text) <= ID_LENGTH else text[:ID_LENGTH] + "...")


_READERS: dict[str, Callable[[Path, str], tuple[list[str], list[PromptRecord]]]] = {
    ".txt": _read_text,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
}
