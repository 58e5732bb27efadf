"""GenEval 2's prompts with their questions (`geneval2:FILE`).

References:
    facebookresearch/GenEval2, geneval2_data.jsonl (CC BY-NC 4.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from t2i_core.api import Prompt, PromptQuestion, Setup
from t2i_core.api.prompt_question import YES_OR_NO
from t2i_core.io.prompt_record import make_id
from t2i_core.io.vocabulary import NUMBERS

from .records import SourceRecord, read_records

COUNTS = tuple(str(number) for number in range(11))
"""Choices of a question about a number."""


def read_geneval2(setup: Setup[Any]) -> Iterator[Prompt]:
    """Yield the prompts; the categories of their questions are the skills."""
    seen: dict[str, int] = {}
    for record in read_records(Path(setup.argument or "").expanduser(), ("prompt", "vqa_list", "skills")):
        text = record.text("prompt")
        id = make_id(text)
        seen[id] = seen.get(id, 0) + 1
        atoms = record.fields.get("atom_count")
        facets: dict[str, str | int | float] = {"atoms": atoms} if isinstance(atoms, int) else {}
        yield Prompt(
            id if seen[id] == 1 else f"{id}-{seen[id]}", text, facets=facets, questions=_read_questions(record)
        )


def _read_questions(record: SourceRecord) -> tuple[PromptQuestion, ...]:
    pairs, skills = record.fields["vqa_list"], record.fields["skills"]
    if not isinstance(pairs, list) or not isinstance(skills, list) or len(pairs) != len(skills) or not pairs:
        record.fail("vqa_list and skills: must be lists of the same length")
    found = []
    for number, (pair, skill) in enumerate(zip(pairs, skills, strict=True), 1):
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(each, str) for each in (*pair, skill))
        ):
            record.fail(f"vqa_list: entry {number} must be a question with its answer, and its skill a text")
        question, answer = pair
        choices, right = _find_choices(answer)
        if right not in choices:
            record.fail(
                f"vqa_list: entry {number}: the answer must be yes, no or a number up to 10 (got {answer!r})"
            )
        found.append(PromptQuestion(str(number), question, choices, (right,), category=skill))
    return tuple(found)


def _find_choices(answer: str) -> tuple[tuple[str, ...], str]:
    """Return the choices of a question with this answer, and the answer as one of them."""
    said = answer.strip().lower()
    if said in YES_OR_NO:
        return YES_OR_NO, said
    return COUNTS, str(NUMBERS.get(said, said))
