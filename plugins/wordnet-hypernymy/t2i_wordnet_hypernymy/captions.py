"""How often the words of synsets stand in captions: a text file, streamed, on all cores (the paper's Table 4)."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from t2i_core.errors import BadOption

from .taxonomy import Taxonomy

CHUNK = 4 << 20
"""Bytes that a process reads at a time: memory stays flat however long the file is."""

_WORD = re.compile(r"\w+")
_Rest = dict[str, list[tuple[tuple[str, ...], str]]]


def word_of(lemma: str) -> str:
    """A lemma as it is looked for: words of letters and digits, lower case, a blank between."""
    return " ".join(_WORD.findall(lemma.lower()))


def phrases(words: Iterable[str]) -> _Rest:
    """Words by their first one, with what must follow."""
    found: _Rest = {}
    for word in set(words):
        first, *rest = word.split(" ")
        found.setdefault(first, []).append((tuple(rest), word))
    return found


def count_in(text: str, known: _Rest) -> tuple[Counter[str], int]:
    """Count the captions, one a line, in which each word stands, and the captions; empty lines are none."""
    found: Counter[str] = Counter()
    captions = 0
    for line in text.lower().split("\n"):
        words = _WORD.findall(line)
        captions += bool(words)
        here: set[str] = set()
        for place, word in enumerate(words):
            for rest, phrase in known.get(word, ()):
                if not rest or tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                    here.add(phrase)
        found.update(here)
    return found, captions


_KNOWN: _Rest = {}


def _remember(known: _Rest) -> None:
    _KNOWN.update(known)


def _count_part(part: tuple[Path, int, int]) -> tuple[Counter[str], int]:
    path, start, end = part
    with path.open("rb") as file:
        file.seek(start)
        return count_in(file.read(end - start).decode("utf-8", "replace"), _KNOWN)


def parts_of(path: Path, chunk: int = CHUNK) -> Iterator[tuple[Path, int, int]]:
    """Yield a file's parts, bytes from start to end, each of whole lines. Raises BadOption."""
    try:
        with path.open("rb") as file:
            start, size = 0, os.fstat(file.fileno()).st_size
            while start < size:
                file.seek(min(start + chunk, size))
                file.readline()
                yield path, start, file.tell()
                start = file.tell()
    except OSError as error:
        raise BadOption(f"{path}: cannot be read ({error.strerror})") from error


def count_captions(
    files: Iterable[Path], taxonomy: Taxonomy, workers: int | None = None
) -> tuple[dict[str, int], int]:
    """Return in how many captions each node's first lemma stands, by its name, and how many captions there are.

    Captions are lines. A word stands in one where its words follow each other there, whatever their case and the
    signs between; plurals are other words. All cores work, unless told otherwise.
    """
    words = {name: word_of(taxonomy.lemmas(name)[0]) for name in taxonomy.names}
    known = phrases(word for word in words.values() if word)
    total: Counter[str] = Counter()
    captions = 0
    parts = (part for file in files for part in parts_of(file))
    workers = (
        workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or os.cpu_count()
    )
    with multiprocessing.get_context("spawn").Pool(workers, _remember, (known,)) as pool:
        for found, lines in pool.imap_unordered(_count_part, parts):
            total.update(found)
            captions += lines
    return {name: total[word] for name, word in words.items()}, captions
