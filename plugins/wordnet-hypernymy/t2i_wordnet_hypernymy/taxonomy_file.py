"""A user's own taxonomy: a file of two columns, the narrower and the broader name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.io.text_file import read_text

from .taxonomy import Taxonomy
from .wordnet import wordnet

_SYNSET = re.compile(r".+\.[nv]\.\d+")


def read_taxonomy(path: Path) -> Taxonomy:
    """Read a taxonomy: one line for each edge, the narrower name first, separated by a tab or comma.

    A name is a synset of WordNet (dog.n.01), which brings its lemmas and definition, or any other word. Empty
    lines and lines that begin with # are skipped.

    Raises:
        BadOption: The file is not valid. The message names file, line and problem.
    """
    above: dict[str, dict[str, None]] = {}
    for number, line in enumerate(read_text(path, BadOption).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t" if "\t" in line else ",")]
        if len(cells) != 2 or not all(cells):
            raise BadOption(
                f"{path}, line {number}: the line must be two names, separated by a tab or comma "
                f"(got {line.strip()!r})"
            )
        for name in cells:
            _check_name(name, f"{path}, line {number}")
            above.setdefault(name, {})
        above[cells[0]][cells[1]] = None
    if not above:
        raise BadOption(f"{path}: the taxonomy is empty; write a line for each edge, the narrower name first")
    _check_cycles(above, path)
    number_of = {name: i for i, name in enumerate(above)}
    return Taxonomy(
        tuple(above),
        np.cumsum([0, *map(len, above.values())], dtype=np.int32),
        np.array([number_of[parent] for parents in above.values() for parent in parents], np.int32),
        tuple(_lemmas(name) for name in above),
        tuple(wordnet().definition(name) if name in wordnet() else "" for name in above),
        path,
    )


def is_synset(name: str) -> bool:
    """Return whether a name has the form of WordNet's nouns and verbs: dog.n.01, run.v.01."""
    return _SYNSET.fullmatch(name) is not None


def _check_name(name: str, where: str) -> None:
    if is_synset(name) and name not in wordnet():
        near = did_you_mean(name, wordnet().near(name))
        raise BadOption(f"{where}: {name!r} is not a noun or verb of WordNet 3.0{near}")


def _lemmas(name: str) -> str:
    return wordnet().lemma_lines[wordnet().number(name)] if name in wordnet() else name.replace(" ", "_")


def _check_cycles(above: dict[str, dict[str, None]], path: Path) -> None:
    """Raise BadOption if the graph has a cycle.

    Nodes without parents are removed until none is left; the remaining nodes are on a cycle or below one.
    """
    below: dict[str, list[str]] = {name: [] for name in above}
    for name, parents in above.items():
        for parent in parents:
            below[parent].append(name)
    parents_left = {name: len(parents) for name, parents in above.items()}
    free = [name for name, count in parents_left.items() if not count]
    while free:
        name = free.pop()
        del parents_left[name]
        for child in below[name]:
            parents_left[child] -= 1
            if not parents_left[child]:
                free.append(child)
    if parents_left:
        cycle = [next(iter(parents_left))]
        while cycle.count(cycle[-1]) < 2:
            cycle.append(next(parent for parent in above[cycle[-1]] if parent in parents_left))
        cycle = cycle[cycle.index(cycle[-1]) :]
        raise BadOption(f"{path}: the taxonomy has a cycle: {' < '.join(cycle)}; remove one of these edges")
