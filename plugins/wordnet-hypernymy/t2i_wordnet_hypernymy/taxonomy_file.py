"""A user's own taxonomy: a file of two columns, a thing and what it is a kind of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from t2i_core.api.errors import BadOption, did_you_mean

from .taxonomy import Taxonomy
from .wordnet import nouns


def read_taxonomy(path: Path) -> Taxonomy:
    """Read a taxonomy: a line for each edge, the narrower name first, a tab or a comma between.

    Names are synsets of WordNet (dog.n.01), which bring their words and definitions, or words of one's own. Empty
    lines and those that begin with # are passed over. Raises BadOption with file, line and fault.
    """
    above: dict[str, dict[str, None]] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t" if "\t" in line else ",")]
        if len(cells) != 2 or not all(cells):
            raise BadOption(f"{path}, line {number}: want two names, a tab or comma between, not {line.strip()!r}")
        for name in cells:
            _check_name(name, f"{path}, line {number}")
            above.setdefault(name, {})
        above[cells[0]][cells[1]] = None
    if not above:
        raise BadOption(f"{path}: the taxonomy is empty; want a line for each edge, the narrower name first")
    _refuse_cycles(above, path)
    number_of = {name: i for i, name in enumerate(above)}
    return Taxonomy(
        tuple(above),
        np.cumsum([0, *map(len, above.values())], dtype=np.int32),
        np.array([number_of[parent] for parents in above.values() for parent in parents], np.int32),
        tuple(_lemmas(name) for name in above),
        tuple(nouns().definition(name) if name in nouns() else "" for name in above),
        path,
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise BadOption(f"{path}: no such file") from None
    except OSError as error:
        raise BadOption(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadOption(f"{path}: not UTF-8 (byte {error.start})") from error


def is_synset(name: str) -> bool:
    """Whether a name is written as WordNet's nouns are: dog.n.01."""
    lemma, _, rest = name.partition(".n.")
    return bool(lemma) and rest.isdigit()


def _check_name(name: str, where: str) -> None:
    if is_synset(name) and name not in nouns():
        near = did_you_mean(name, nouns().near(name))
        raise BadOption(f"{where}: unknown synset, no noun of WordNet 3.0: {name!r}{near}")


def _lemmas(name: str) -> str:
    return nouns().lemma_lines[nouns().number(name)] if name in nouns() else name.replace(" ", "_")


def _refuse_cycles(above: dict[str, dict[str, None]], path: Path) -> None:
    """Take away what has nothing above it, again and again; what is left goes round in a circle or leads there."""
    below: dict[str, list[str]] = {name: [] for name in above}
    for name, parents in above.items():
        for parent in parents:
            below[parent].append(name)
    left = {name: len(parents) for name, parents in above.items()}
    free = [name for name, count in left.items() if not count]
    while free:
        name = free.pop()
        del left[name]
        for child in below[name]:
            left[child] -= 1
            if not left[child]:
                free.append(child)
    if left:
        circle = [next(iter(left))]
        while circle.count(circle[-1]) < 2:
            circle.append(next(parent for parent in above[circle[-1]] if parent in left))
        circle = circle[circle.index(circle[-1]) :]
        raise BadOption(f"{path}: the taxonomy goes in a circle: {' < '.join(circle)}")
