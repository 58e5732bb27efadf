"""TIFA's captions with their questions (`tifa-v1:FILES`).

References:
    Yushi-Hu/tifa: tifa_v1.0/tifa_v1.0_text_inputs.json, tifa_v1.0_question_answers.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from t2i_core.api import Prompt, PromptQuestion, Setup
from t2i_core.api.errors import BadPrompts

from ..options import TifaPromptOptions
from .records import SourceRecord, read_records

TEXTS, QUESTIONS = "tifa_v1.0_text_inputs.json", "tifa_v1.0_question_answers.json"
_QUESTION = ("id", "caption", "question", "choices", "answer")


def read_tifa(setup: Setup[TifaPromptOptions]) -> Iterator[Prompt]:
    """Yield the captions with their questions, in the order of the captions.

    The argument is a folder with both files, the file of captions, or the file of questions alone.
    """
    place = Path(setup.argument or "").expanduser()
    captions = place / TEXTS if place.is_dir() else place
    if place.is_dir() and not captions.is_file():
        captions = place / QUESTIONS
    records = read_records(captions, ("id", "caption"))
    if "question" in records[0].fields:
        asked = _group_questions(records)
        listed = {id: rows[0] for id, rows in asked.items()}
    else:
        asked = _group_questions(read_records(_find_questions(captions, setup.options), _QUESTION))
        listed = _index_captions(records)
    for id, record in listed.items():
        if id not in asked:
            record.fail(f"the file of questions has none for {id!r}")
        questions = tuple(_read_question(row, number) for number, row in enumerate(asked[id], 1))
        yield Prompt(id, record.text("caption"), facets={"source": _find_source(record)}, questions=questions)


def _find_questions(captions: Path, options: TifaPromptOptions) -> Path:
    found = options.questions or captions.with_name(QUESTIONS)
    if not found.is_file():
        raise BadPrompts(f"{found}: no such file; name the file of questions with -o tifa-v1.questions=FILE")
    return found


def _index_captions(records: list[SourceRecord]) -> dict[str, SourceRecord]:
    found: dict[str, SourceRecord] = {}
    for record in records:
        if found.setdefault(id := record.text("id"), record) is not record:
            record.fail(f"id: {id!r} appears twice")
    return found


def _group_questions(records: list[SourceRecord]) -> Mapping[str, list[SourceRecord]]:
    found: dict[str, list[SourceRecord]] = {}
    for record in records:
        found.setdefault(record.text("id"), []).append(record)
    return found


def _read_question(row: SourceRecord, number: int) -> PromptQuestion:
    choices = row.fields.get("choices")
    if not isinstance(choices, list) or not all(isinstance(each, str) for each in choices):
        row.fail("choices: must be a list of texts")
    try:
        return PromptQuestion(
            str(number),
            row.text("question"),
            tuple(dict.fromkeys(choices)),
            (row.text("answer"),),
            category=row.optional_text("element_type"),
            subcategory=row.optional_text("element"),
        )
    except (TypeError, ValueError) as error:
        row.fail(str(error))


def _find_source(record: SourceRecord) -> str:
    """Return where a caption is from: the beginning of its id (`coco_301091`, `drawbench_52`)."""
    return record.text("id").partition("_")[0]
