"""Similarity of the study's labels in WordNet, from a table that ships with the package."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def load_similarities() -> dict[frozenset[str], float]:
    """Return Wu and Palmer's similarity, in (0, 1], by the two labels' names."""
    text = files("t2i_tiam").joinpath("data", "wu-palmer.csv").read_text("utf-8")
    return {
        frozenset((line["a"], line["b"])): float(line["similarity"]) for line in csv.DictReader(text.splitlines())
    }
