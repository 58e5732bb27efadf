"""DrawBench: 200 prompts in eleven categories, from its CSV or TSV.

References:
    Saharia et al.: Photorealistic Text-to-Image Diffusion Models with Deep Language Understanding. NeurIPS 2022.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten

from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import Prompt
from t2i_core.api.text import escape_control_characters
from t2i_core.io.text_file import read_text

_PROMPT = ("prompts", "prompt")
_CATEGORY = ("category", "categories")
_SHOWN = 100
"""Maximum number of characters of a wrong header line that messages show."""


def prompts(file: Path) -> Iterator[Prompt]:
    """Yield the prompts in order, with the category as facet. Raises BadPrompts.

    The ids are numbers, because a text may occur twice, in two categories.
    """
    text = read_text(file, BadPrompts)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in text.partition("\n")[0] else ",")
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        prompt, category = _column(file, header, _PROMPT), _column(file, header, _CATEGORY)
        number = 0
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            number += 1
            if len(row) <= max(prompt, category) or not row[prompt].strip() or not row[category].strip():
                raise BadPrompts(f"{file}, line {rows.line_num}: must have a prompt and a category")
            yield Prompt(f"drawbench-{number:03}", row[prompt].strip(), facets={"category": row[category].strip()})
    except csv.Error as error:
        raise BadPrompts(f"{file}, line {rows.line_num}: not CSV ({error})") from error
    if number == 0:
        raise BadPrompts(f"{file}: holds no prompts")


def _column(file: Path, header: list[str], names: tuple[str, ...]) -> int:
    found = next((n for n, name in enumerate(header) if name in names), None)
    if found is None:
        columns = shorten(escape_control_characters(", ".join(header)), _SHOWN, placeholder=" ...")
        raise BadPrompts(f"{file}, line 1: no column {names[0].capitalize()!r} (columns: {columns})")
    return found
