"""Counts of captions that contain the words of synsets, in files that are streamed on all cores.

References:
    Hypernymy paper, Table 4.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from t2i_core.api.errors import BadOption

from .base_forms import inflect
from .caption_files import CaptionPart, find_column, list_files, list_parts, read_part
from .taxonomy import Taxonomy

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class CaptionWords:
    """Words to look for, arranged so that set operations find their forms in a caption.

    Attributes:
        single: Base forms of each form that is one part.
        longer: Forms of several parts with their base forms, by their first two parts.
    """

    single: Mapping[str, Sequence[str]]
    longer: Mapping[tuple[str, str], Sequence[tuple[str, str]]]

    @classmethod
    def of(cls, words: Iterable[str]) -> CaptionWords:
        """Arrange words and their inflected forms; words are written as `word_of` writes them."""
        single: dict[str, Sequence[str]] = {}
        longer: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for form, bases in inflect(words).items():
            if " " not in form:
                single[form] = bases
                continue
            first, second, *_ = form.split(" ")
            longer.setdefault((first, second), []).extend((f" {form} ", base) for base in bases)
        return cls(single, longer)


@dataclass(frozen=True)
class CorpusCounts:
    """Counts of one corpus.

    Attributes:
        counts: Number of captions for each node's name.
        captions: Number of all captions.
    """

    counts: Mapping[str, int]
    captions: int


def word_of(lemma: str) -> str:
    """Return a lemma in lower case, its parts of letters and digits separated by single spaces."""
    return " ".join(_WORD.findall(lemma.lower()))


def count_in(captions: Iterable[str], words: CaptionWords) -> tuple[Counter[str], int]:
    """Return the number of captions that contain a form of each word, and the number of captions.

    Args:
        captions: Captions; those without a letter or digit are skipped.
        words: The words to look for.
    """
    found: Counter[str] = Counter()
    total = 0
    forms, bases_of = frozenset(words.single), words.single.__getitem__
    pairs = words.longer.keys()
    for text in captions:
        caption = _WORD.findall(text.lower())
        if not caption:
            continue
        total += 1
        bases: set[str] = set().union(*map(bases_of, forms.intersection(caption)))
        if matching := pairs & set(pairwise(caption)):
            whole = f" {' '.join(caption)} "
            bases.update(base for pair in matching for form, base in words.longer[pair] if form in whole)
        found.update(bases)
    return found, total


_PROCESS_WORDS: list[CaptionWords] = []
"""The words that this worker process looks for."""


def _start_process(words: CaptionWords) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process alone answers Ctrl-C
    _PROCESS_WORDS[:] = [words]


def _count_part(part: tuple[str, CaptionPart]) -> tuple[str, Counter[str], int, int]:
    corpus, own = part
    found, captions = count_in(read_part(own), _PROCESS_WORDS[0])
    return corpus, found, captions, own.size


def count_captions(
    corpora: Mapping[str, Sequence[Path]],
    taxonomy: Taxonomy,
    workers: int | None = None,
    column: str | None = None,
    report: Callable[[int, float], None] = lambda captions, share: None,
) -> dict[str, CorpusCounts]:
    """Count the captions of each corpus that contain each node's first lemma.

    A caption contains a lemma if the parts of one of its forms (`base_forms.inflect`) follow each other there,
    whatever their case and the characters between them.

    Args:
        corpora: Files and folders of each corpus, by name.
        taxonomy: The nodes to count.
        workers: Number of processes; all cores if None.
        column: Column of tables that has the captions; if None, it is found by its name.
        report: Receives the number of captions so far, and the share of all bytes that is done.

    Raises:
        BadOption: A file cannot be read, a corpus contains no captions, or a column is named and no file is
            a table.
    """
    words = {name: word_of(taxonomy.lemmas(name)[0]) for name in taxonomy.names}
    wanted = CaptionWords.of(word for word in words.values() if word)
    columns = {
        corpus: {path: find_column(path, column) for path in list_files(paths)}
        for corpus, paths in corpora.items()
    }
    if column is not None and not any(name for own in columns.values() for name in own.values()):
        raise BadOption(f"--column {column}: no file is a table (CSV, TSV or Parquet); leave the option out")
    size = sum(path.stat().st_size for own in columns.values() for path in own)
    found: dict[str, Counter[str]] = {corpus: Counter() for corpus in corpora}
    captions: Counter[str] = Counter()
    done = 0
    parts = (
        (corpus, part)
        for corpus, own in columns.items()
        for path, name in own.items()
        for part in list_parts(path, name)
    )
    with multiprocessing.get_context("spawn").Pool(workers or _count_cores(), _start_process, (wanted,)) as pool:
        for corpus, counts, count, read in pool.imap_unordered(_count_part, parts):
            found[corpus].update(counts)
            captions[corpus] += count
            done += read
            report(captions.total(), done / size)
    for corpus, paths in corpora.items():
        if not captions[corpus]:
            raise BadOption(f"{', '.join(map(str, paths))}: no captions; a text file must have one per line")
    return {
        corpus: CorpusCounts({name: own[word] for name, word in words.items()}, captions[corpus])
        for corpus, own in found.items()
    }


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
