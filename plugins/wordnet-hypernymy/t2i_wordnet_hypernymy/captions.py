"""How often the words of synsets stand in captions: a text file, streamed, on all cores (the paper's Table 4)."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from t2i_core.api.errors import BadOption

from .taxonomy import Taxonomy

CHUNK = 4 << 20
"""Bytes that a process reads at a time: memory stays flat however long the file is."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class CaptionWords:
    """What is looked for, so that a caption is met by operations on whole sets.

    single:  words of one part
    longer:  those of several, by their first two
    """

    single: frozenset[str]
    longer: Mapping[tuple[str, str], Sequence[str]]

    @classmethod
    def of(cls, words: Iterable[str]) -> CaptionWords:
        """Sort words, as `word_of` writes them."""
        longer: dict[tuple[str, str], list[str]] = {}
        for word in set(words):
            if " " in word:
                first, second, *_ = word.split(" ")
                longer.setdefault((first, second), []).append(word)
        return cls(frozenset(word for word in words if " " not in word), longer)


def word_of(lemma: str) -> str:
    """A lemma as it is looked for: words of letters and digits, lower case, a blank between."""
    return " ".join(_WORD.findall(lemma.lower()))


def count_in(text: str, words: CaptionWords) -> tuple[Counter[str], int]:
    """Count the captions, one a line, in which each word stands, and the captions; empty lines are none."""
    found: Counter[str] = Counter()
    captions = 0
    for line in text.lower().split("\n"):
        said = _WORD.findall(line)
        captions += bool(said)
        found.update(words.single.intersection(said))
        for pair in words.longer.keys() & set(pairwise(said)):
            whole = f" {' '.join(said)} "
            found.update(word for word in words.longer[pair] if f" {word} " in whole)
    return found, captions


_ASKED: list[CaptionWords] = []
"""What this process looks for."""


def _remember(words: CaptionWords) -> None:
    _ASKED[:] = [words]


def _count_part(part: tuple[Path, int, int]) -> tuple[Counter[str], int]:
    path, start, end = part
    with path.open("rb") as file:
        file.seek(start)
        return count_in(file.read(end - start).decode("utf-8", "replace"), _ASKED[0])


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
    files: Sequence[Path], taxonomy: Taxonomy, workers: int | None = None
) -> tuple[dict[str, int], int]:
    """Return in how many captions each node's first lemma stands, by its name, and how many captions there are.

    Captions are lines. A word stands in one where its words follow each other there, whatever their case and the
    signs between; plurals are other words. All cores work, unless told otherwise. Raises BadOption for files that
    cannot be read or hold no captions.
    """
    words = {name: word_of(taxonomy.lemmas(name)[0]) for name in taxonomy.names}
    asked = CaptionWords.of([word for word in words.values() if word])
    total: Counter[str] = Counter()
    captions = 0
    parts = (part for file in files for part in parts_of(file))
    workers = (
        workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or os.cpu_count()
    )
    with multiprocessing.get_context("spawn").Pool(workers, _remember, (asked,)) as pool:
        for found, lines in pool.imap_unordered(_count_part, parts):
            total.update(found)
            captions += lines
    if not captions:
        raise BadOption(f"{', '.join(map(str, files))}: no captions there; want text with a caption on each line")
    return {name: total[word] for name, word in words.items()}, captions
