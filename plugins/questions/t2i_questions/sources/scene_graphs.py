"""Prompts with questions of DSG (`dsg:FILE`) and DPG-Bench (`dpg-bench:FILE`), which have the same columns."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from t2i_core.api import Prompt, PromptQuestion, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.io.text_file import read_text

from ..options import LOST_QUESTION
from ..scene_graph_text import (
    find_broad_category,
    find_tuple_category,
    has_other_than_numbers,
    read_number,
    read_parents,
)
from .records import SourceRecord, is_on_hub, read_records, read_source

_log = logging.getLogger(__name__)

COLUMNS = ("item_id", "text", "proposition_id", "dependency", "tuple", "question_natural_language")
DPG_FILE, DPG_PROMPTS = "dpg_bench.csv", "prompts"

SOURCES = {
    "tifa": "tifa", "stanford": "paragraph", "localized": "paragraph", "diffusion": "real_user",
    "midjourney": "real_user", "countbench": "count", "vrd": "relation", "posescript": "pose",
    "whoops": "defying", "drawtext": "text",
}  # fmt: skip
"""DSG's categories of prompts by the beginning of their ids."""


def read_dsg(setup: Setup[Any]) -> Iterator[Prompt]:
    """Yield DSG's prompts. If a dependency of an item is not a number, the item has none, as in the original."""
    for item, rows in _group_items(read_source(setup, COLUMNS)):
        odd = next((row for row in rows if _has_words(row)), None)
        if odd is not None:
            _log.warning(
                "%s: dependency: %r is not a list of numbers, so the item %s has no dependencies, as in the "
                "published code",
                odd.where, odd.text("dependency"), item,
            )  # fmt: skip
        source = next((kind for start, kind in SOURCES.items() if item.startswith(start)), None)
        yield Prompt(
            item,
            _find_text(rows),
            facets={} if source is None else {"source": source},
            questions=_read_questions(rows, with_parents=odd is None, broad=True),
        )


def read_dpg(setup: Setup[Any]) -> Iterator[Prompt]:
    """Yield DPG-Bench's prompts, from its CSV file or from a folder with it and the texts of the prompts.

    The facet `lost_question` of the first prompt names the question that the published code does not read.
    """
    place = Path(setup.argument or "").expanduser()
    folder = place if place.is_dir() and not is_on_hub(setup.argument or "") else None
    records = read_source(setup, COLUMNS) if folder is None else read_records(folder / DPG_FILE, COLUMNS)
    for number, (item, rows) in enumerate(_group_items(records)):
        if (odd := next(filter(_has_words, rows), None)) is not None:
            odd.fail(
                f"dependency: {odd.text('dependency')!r} is not a list of numbers; write those of the questions "
                "on which it depends (1, 3), or 0"
            )
        text = _find_text(rows) if folder is None else _read_prompt_file(folder, item, rows)
        # the published code does not read the first row, unless a later row has the same number
        lost = _read_id(rows[0]) if number == 0 and _read_id(rows[0]) not in map(_read_id, rows[1:]) else None
        yield Prompt(
            item,
            text,
            facets={} if lost is None else {LOST_QUESTION: lost},
            questions=_read_questions(rows, with_parents=True, broad=False),
        )


def _has_words(row: SourceRecord) -> bool:
    return has_other_than_numbers(row.optional_text("dependency") or "0")


def _read_id(row: SourceRecord) -> str:
    """Return the number of a question as its parents are written: 2 of 2.0."""
    written = row.text("proposition_id")
    number = read_number(written)
    return written if number is None else str(number)


def _group_items(records: Iterable[SourceRecord]) -> list[tuple[str, list[SourceRecord]]]:
    """Return the rows of each item, items in the order of their first rows."""
    found: dict[str, list[SourceRecord]] = {}
    for record in records:
        found.setdefault(record.text("item_id"), []).append(record)
    return list(found.items())


def _find_text(rows: list[SourceRecord]) -> str:
    """Return the text of an item, from the first of its rows that has one."""
    with_text = next((row for row in rows if row.optional_text("text")), None)
    if with_text is None:
        rows[0].fail("text: is empty in all rows of the item")
    return with_text.text("text")


def _read_prompt_file(folder: Path, item: str, rows: list[SourceRecord]) -> str:
    file = folder / DPG_PROMPTS / f"{item}.txt"
    if not file.is_file():
        return _find_text(rows)
    text = read_text(file, BadPrompts).strip()
    if not text:
        raise BadPrompts(f"{file}: is empty; write the prompt into it")
    return text


def _read_questions(rows: list[SourceRecord], with_parents: bool, broad: bool) -> tuple[PromptQuestion, ...]:
    """Return the questions of an item; of two with the same number the later one counts, as in the original."""
    found: dict[str, PromptQuestion] = {}
    for row in rows:
        number = _read_id(row)
        if number in found:
            _log.warning("%s: the item has question %s twice; the later one counts", row.where, number)
        parents = read_parents(row.optional_text("dependency")) if with_parents else ()
        detailed = _find_category(row)
        try:
            found[number] = PromptQuestion(
                number,
                row.text("question_natural_language"),
                # a question that depends on itself loses nothing by it
                parents=tuple(parent for parent in parents if parent != number),
                category=find_broad_category(detailed) if broad else detailed.partition("-")[0].strip(),
                subcategory=detailed,
            )
        except (TypeError, ValueError) as error:
            row.fail(str(error))
    return tuple(found.values())


def _find_category(row: SourceRecord) -> str:
    """Return the text of the tuple before its bracket, or else what the columns of categories say."""
    if written := row.optional_text("tuple"):
        return find_tuple_category(written)
    return " - ".join(filter(None, map(row.optional_text, ("category_broad", "category_detailed"))))
