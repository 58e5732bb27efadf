"""Published lists of one caption for each of some COCO images, whose ids name the images.

DALL-Eval's uid_caption.csv has 30,000 captions of val2014, for R-precision and FID: `uid` (`346904_mscoco_0`) and
`caption`. Its karpathy_test_text.json has 5,000 captions of Karpathy's test split, for its captioner: `img_id`
(`COCO_val2014_000000391895`) and `targets`.

References:
    j-min/DallEval, retrieval/README.md, quality/README.md and captioning/README.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadPrompts
from t2i_core.io.table import read_table
from t2i_core.io.text_file import read_text

_UID = re.compile(r"0*([0-9]+)_mscoco_[0-9]+")
_FILE_NAME = re.compile(r"COCO_[A-Za-z]+[0-9]*_0*([0-9]+)")

_BEGINNING = 1024


@dataclass(frozen=True)
class ListedCaption:
    """A caption of a list.

    Attributes:
        id: Its id in the list.
        image: Number of its COCO image.
        text: The caption.
        references: The captions of the image that the list has.
    """

    id: str
    image: int
    text: str
    references: tuple[str, ...]


def read_list(file: Path) -> list[ListedCaption] | None:
    """Return the captions of a list, in its order; None for COCO's own files. Raises BadPrompts."""
    if file.suffix.lower() == ".csv":
        lines = read_table(file, BadPrompts, ["uid", "caption"])
        rows = ((f"line {number}", line.get("uid", ""), line.get("caption", "")) for number, line in lines)
        return _parse(file, rows, "uid", _UID, "346904_mscoco_0")
    if file.suffix.lower() != ".json" or not _begins_with_list(file):
        return None
    try:
        data = json.loads(read_text(file, BadPrompts))
    except (ValueError, RecursionError) as error:
        raise BadPrompts(f"{file}: not JSON ({error})") from error
    return _parse(file, _list_items(file, data), "img_id", _FILE_NAME, "COCO_val2014_000000391895")


def _begins_with_list(file: Path) -> bool:
    """Return whether a file of JSON holds a list; COCO's own files, which are large, hold an object."""
    try:
        with file.open(encoding="utf-8-sig") as text:
            return text.read(_BEGINNING).lstrip().startswith("[")
    except (OSError, UnicodeDecodeError):
        return False  # the reader of COCO's files says what is wrong


def _list_items(file: Path, data: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    for number, item in enumerate(data):
        where = f"item {number + 1}"
        if not isinstance(item, dict) or not {"img_id", "targets"} <= item.keys():
            raise BadPrompts(
                f"{file}: {where}: must have img_id and targets, as DALL-Eval's karpathy_test_text.json"
            )
        yield where, item["img_id"], item["targets"]


def _parse(
    file: Path, rows: Iterable[tuple[str, Any, Any]], name: str, form: re.Pattern[str], example: str
) -> list[ListedCaption]:
    found: dict[str, ListedCaption] = {}
    for where, id, targets in rows:
        if not isinstance(id, str) or (matched := form.fullmatch(id)) is None:
            raise BadPrompts(f"{file}: {where}: {name}: must be like {example} (got {json.dumps(id)[:60]})")
        texts = [targets] if isinstance(targets, str) else targets
        if not isinstance(texts, list) or not texts or not all(isinstance(t, str) and t.strip() for t in texts):
            raise BadPrompts(f"{file}: {where}: the caption of {id} must be a text, or a list of texts")
        if id in found:
            raise BadPrompts(f"{file}: {where}: {name}: {id} appears twice")
        captions = tuple(" ".join(text.split()) for text in texts)
        found[id] = ListedCaption(id, int(matched[1]), captions[0], captions)
    if not found:
        raise BadPrompts(f"{file}: holds no captions")
    return list(found.values())
