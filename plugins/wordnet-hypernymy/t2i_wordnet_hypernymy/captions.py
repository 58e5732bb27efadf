"""Counts of captions that contain the words of synsets, from text files that are streamed on all cores.

References:
    Hypernymy paper, Table 4.
"""

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
"""Number of bytes that a process reads at a time, so that memory does not grow with the file."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class CaptionWords:
    """Words to look for, arranged so that set operations find them in a caption.

    Attributes:
        single: Words of one part.
        longer: Words of several parts, by their first two parts.
    """

    single: frozenset[str]
    longer: Mapping[tuple[str, str], Sequence[str]]

    @classmethod
    def of(cls, words: Iterable[str]) -> CaptionWords:
        """Arrange words, each written as `word_of` writes it."""
        longer: dict[tuple[str, str], list[str]] = {}
        for word in set(words):
            if " " in word:
                first, second, *_ = word.split(" ")
                longer.setdefault((first, second), []).append(word)
        return cls(frozenset(word for word in words if " " not in word), longer)


def word_of(lemma: str) -> str:
    """Return a lemma in lower case, its parts of letters and digits separated by single spaces."""
    return " ".join(_WORD.findall(lemma.lower()))


def count_in(text: str, words: CaptionWords) -> tuple[Counter[str], int]:
    """Return the number of captions that contain each word, and the number of captions.

    Args:
        text: Captions, one per line; empty lines are skipped.
        words: The words to look for.
    """
    found: Counter[str] = Counter()
    captions = 0
    for line in text.lower().split("\n"):
        caption = _WORD.findall(line)
        captions += bool(caption)
        found.update(words.single.intersection(caption))
        for pair in words.longer.keys() & set(pairwise(caption)):
            whole = f" {' '.join(caption)} "
            found.update(word for word in words.longer[pair] if f" {word} " in whole)
    return found, captions


_PROCESS_WORDS: list[CaptionWords] = []
"""The words that this worker process looks for."""


def _set_words(words: CaptionWords) -> None:
    _PROCESS_WORDS[:] = [words]


def _count_part(part: tuple[Path, int, int]) -> tuple[Counter[str], int]:
    path, start, end = part
    with path.open("rb") as file:
        file.seek(start)
        return count_in(file.read(end - start).decode("utf-8", "replace"), _PROCESS_WORDS[0])


def parts_of(path: Path, chunk: int = CHUNK) -> Iterator[tuple[Path, int, int]]:
    """Yield the parts of a file, each of whole lines, as path, first byte and end.

    Raises:
        BadOption: The file cannot be read.
    """
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
    """Count the captions that contain each node's first lemma.

    A caption contains a lemma if the lemma's parts follow each other there, whatever their case and the characters
    between them. Plurals count as other words.

    Args:
        files: Text files with one caption per line.
        taxonomy: The nodes to count.
        workers: Number of processes; all cores if None.

    Returns:
        The number of captions for each node's name, and the number of all captions.

    Raises:
        BadOption: A file cannot be read, or the files contain no captions.
    """
    words = {name: word_of(taxonomy.lemmas(name)[0]) for name in taxonomy.names}
    wanted = CaptionWords.of([word for word in words.values() if word])
    total: Counter[str] = Counter()
    captions = 0
    parts = (part for file in files for part in parts_of(file))
    workers = (
        workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or os.cpu_count()
    )
    with multiprocessing.get_context("spawn").Pool(workers, _set_words, (wanted,)) as pool:
        for found, lines in pool.imap_unordered(_count_part, parts):
            total.update(found)
            captions += lines
    if not captions:
        raise BadOption(f"{', '.join(map(str, files))}: no captions; the file must have one caption per line")
    return {name: total[word] for name, word in words.items()}, captions
