"""Write the part of docs/validation.md about questions: ``python docs/validation_questions.py OUT``.

Each prompt of `questions-mini` is about one thing: two objects, a number of one kind, two colours, or a relation.
The truth is the mean over the run's prompts of what follows from the faults for each kind. The judges are the
oracle and the trained `mini-vqa`, whose truth follows from its own rates.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from validation_lines import Line, mixed
from validation_page import write_lines
from validation_runs import FEW, enough

DROP, OTHER = 0.4, 0.3
"""Rates of lost objects, and of each other fault."""

LIMIT, SEEDS = 12, 2
"""Number of prompts, three of each kind, and of images of each."""

HEAD = """
## Questions about images

Each prompt of `questions-mini` is about one thing: two objects, a number n of one kind, two colours, or a
relation. Its questions follow from its scene. The number is asked in four questions (one? at least n? more than n?
more than n + 1?), each the parent of the next, and the right answer to the last two is no. If one is lost, only
the second answer is wrong, so the rules differ: DSG loses the third, because the original answer to its parent is
wrong, and keeps the fourth; DPG-Bench's rule in its variant `corrected` loses both; without dependencies both
count. The oracle gives probabilities of 0 and 1, so `vqascore` is the share of images that show the whole scene,
and Soft-TIFA's geometric mean the share of images without a wrong answer.

The trained judge is `mini-vqa`. The expected score with its errors follows from its own scores on other images
without the fault, with it at half the rate, and with it everywhere. How often it answers as the oracle
does is on its [model card](../plugins/miniworld/training/mini-detector.md#mini-vqa).

d: rate of lost objects, for each after the first. q = 1 - (1 - d)^(n - 1): rate of images with too few. e: rate
of an object too many. s: rate of exchanged colours. w: rate of wrong colours. f: rate of flipped relations.
Shares of right answers by what prompts are about: [objects, number, colours, relation]. Each row is simulated
{salts} times; at least {enough} of {salts} intervals must contain the truth. Intervals of 24 images are wide, so
compare the mean with the truth, too.

    python docs/validation_questions.py OUT

| simulated faults | score | judge | truth | mean | off | intervals that contain it | images |
|---|---|---|---|---|---|---|---|
"""

Values = Callable[[float, int], tuple[float, float, float, float]]
"""The expected values for prompts about objects, a number n, colours and a relation, given the rate and n."""

KINDS = ("objects", "count", "colour", "relation")


def average(values: Values, rate: float, table: pd.DataFrame) -> float:
    """Return the mean over the prompts of a table of an ideal judge's values at a rate of the fault."""
    shows = table.groupby("prompt", observed=True)["shows"].first()
    own = [values(rate, 3 if str(id).startswith("three") else 2)[KINDS.index(kind)] for id, kind in shows.items()]
    return float(np.mean(own))


def too_few(drop: float, count: int) -> float:
    """Return the probability that one of the things after the first is lost."""
    return 1 - (1 - drop) ** (count - 1)


def _line(name: str, metric: str, measure: str, fault: str, values: Values) -> Line:
    """Return a line about a fault, of which a picture may have two, each by itself."""
    rate = DROP if fault == "drop" else OTHER
    prompts = "tifa-mini" if metric == "tifa" else "questions-mini"
    return Line(
        name, metric, measure, prompts, {fault: rate}, mixed(rate),
        wrong=lambda table: average(values, 1.0, table), halfway=lambda table: average(values, 0.5, table),
        trained="mini-vqa", fault=fault, limit=LIMIT, seeds=SEEDS,
    )  # fmt: skip


def _lose(metric: str, measure: str, name: str, values: Values) -> Line:
    return _line(f"objects lost: {name}", metric, measure, "drop", values)


def _err(name: str, metric: str, fault: str, values: Values) -> Line:
    return _line(name, metric, metric, fault, values)


_LINES = (
    _lose("dsg", "dsg", "[1 - d/2, 1 - q/2, 1 - d/2, 1 - 2d/3]",
          lambda d, n: (1 - d / 2, 1 - too_few(d, n) / 2, 1 - d / 2, 1 - 2 * d / 3)),
    _lose("dsg", "dsg-without-dependency", "[1 - d/2, 1 - q/4, 1 - d/2, 1 - 2d/3]",
          lambda d, n: (1 - d / 2, 1 - too_few(d, n) / 4, 1 - d / 2, 1 - 2 * d / 3)),
    _lose("dpg-bench", "dpg-bench", "[1 - d/2, 1 - 3q/4, 1 - d/2, 1 - 2d/3]",
          lambda d, n: (1 - d / 2, 1 - 3 * too_few(d, n) / 4, 1 - d / 2, 1 - 2 * d / 3)),
    _lose("vqascore", "vqascore", "[1 - d, 1 - q, 1 - d, 1 - d]",
          lambda d, n: (1 - d, 1 - too_few(d, n), 1 - d, 1 - d)),
    _lose("soft-tifa", "soft-tifa-gm", "[1 - d, 1 - q, 1 - d, 1 - d]",
          lambda d, n: (1 - d, 1 - too_few(d, n), 1 - d, 1 - d)),
    _lose("tifa", "tifa", "[1 - d/2, 1 - q, 1 - d/2, 1 - d/2]",
          lambda d, n: (1 - d / 2, 1 - too_few(d, n), 1 - d / 2, 1 - d / 2)),
    _lose("t2i-compbench", "t2i-compbench", "[1 - d/2, 1 - q/2, 1 - d, 1 - d]",
          lambda d, n: (1 - d / 2, 1 - too_few(d, n) / 2, 1 - d, 1 - d)),
    _err("one too many: [1, 1 - e/2, 1, 1]", "dsg", "extra", lambda e, n: (1, 1 - e / 2, 1, 1)),
    _err("colours exchanged: [1, 1, 1 - s/2, 1]", "dsg", "swap_colors", lambda s, n: (1, 1, 1 - s / 2, 1)),
    _err("wrong colours: [1, 1, 1 - w/2, 1]", "dsg", "wrong_color", lambda w, n: (1, 1, 1 - w / 2, 1)),
    _err("relations flipped: [1, 1, 1, 1 - f/3]", "dsg", "flip_relation", lambda f, n: (1, 1, 1, 1 - f / 3)),
    _err("relations flipped: [1, 1, 1, 1 - f/2]", "t2i-compbench", "flip_relation",
         lambda f, n: (1, 1, 1, 1 - f / 2)),
)  # fmt: skip

QUICK = tuple(replace(line, quick=True) for line in _LINES[:3])
LINES = (*QUICK, *_LINES[3:])


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    write_lines(Path(__file__).name, HEAD.format(salts=FEW, enough=enough(FEW)), LINES, out, FEW)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
