"""How near WordNet puts two labels of the paper's study: a table that ships with the package."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def similarities() -> dict[frozenset[str], float]:
    """Return Wu and Palmer's similarity, above 0 to 1, by the two labels' names."""
    text = files("t2i_tiam").joinpath("data", "wu-palmer.csv").read_text("utf-8")
    return {
        frozenset((line["a"], line["b"])): float(line["similarity"]) for line in csv.DictReader(text.splitlines())
    }
