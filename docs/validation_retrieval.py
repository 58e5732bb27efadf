"""Write docs/validation.md's part on CLIPScore and R-precision: ``python docs/validation_retrieval.py OUT``.

Prompts name one object with a colour; the simulator gives objects another paint at a known rate. The judge is the
oracle, whose cosines are known: SHARED for a picture of which nothing in the text is true, and a formula of the
concept's weight for a picture of one thing of which it is true (see `t2i_miniworld.oracle_embedding`).
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from t2i_miniworld.oracle_embedding import SHARED, Concept, length, weight
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import read
from validation_lines import Line, Rates
from validation_page import write_part, write_row
from validation_runs import SALTS, Said, say

RATES = (0.0, 0.3, 0.7)
"""Rates of wrong colours."""
CANDIDATES = 4
"""Number of captions among which R-precision looks for the image's own."""

HEAD = """
## Similarity of image and text

Prompts name one object and its colour ("a photo of a red car"); objects get another of the {paints}
paints at the rate w. The judge is the oracle, whose cosine is known: SHARED = {shared} if nothing in
the text is true of the image, and c = {shared} + {rest} v / √L if all is, where v is the concept's
weight and L the length of the embedding. CLIPScore must be 100 times the mixture of both. R-precision
looks for the own caption among {candidates} captions, and it is the nearest to an image in the right
colour. An image in a wrong colour is nearest to the caption of that colour, if that is one of the other
{others}; otherwise all are equally near, which counts as 1/{candidates}. n of the other N - 1 captions
are about the same object.

    python docs/validation_retrieval.py OUT

| simulated faults | metric | judge | truth | mean | off | intervals that contain it | images |
|---|---|---|---|---|---|---|---|
"""


def score_true_captions(table: pd.DataFrame) -> float:
    """Return CLIPScore where every text is true, from the formula of the ideal judge."""
    cosines = [SHARED + (1 - SHARED) * weight(concept) / math.sqrt(length()) for concept in _list_concepts(table)]
    return 100 * float(np.mean(cosines))


def find_wrong_captions(table: pd.DataFrame) -> float:
    """Return R-precision where every object has a wrong colour."""
    prompts = table["prompt"].astype(str).unique()
    of_object = Counter(prompt.rpartition("-")[2] for prompt in prompts)
    found = []
    for prompt in prompts:
        alike = of_object[prompt.rpartition("-")[2]] - 1
        is_candidate = alike / (len(PAINTS) - 1) * (CANDIDATES - 1) / (len(prompts) - 1)
        found.append((1 - is_candidate) / CANDIDATES)
    return float(np.mean(found))


def _list_concepts(table: pd.DataFrame) -> Iterator[Concept]:
    for prompt in table["prompt"].astype(str).unique():
        colour, _, thing = prompt.rpartition("-")
        (phrase,) = read(f"a photo of a {colour} {thing}").phrases
        yield Concept(phrase.leaves, colour)


def list_lines() -> Iterator[Line]:
    """Yield the lines of each rate and metric."""
    for rate in RATES:
        put_in = {"wrong_color": rate}
        yield Line(
            "wrong colours: 100 ((1 - w) c + w SHARED)", "clipscore", "clipscore", "tiam-color-1", put_in,
            lambda _, table, rate=rate: Rates(score_true_captions(table), 100 * SHARED).mixed(rate),
        )  # fmt: skip
        yield Line(
            f"wrong colours: 1 - w + w (1 - n / {len(PAINTS) - 1} · {CANDIDATES - 1} / (N - 1)) / {CANDIDATES}",
            "r-precision", "r-precision", "tiam-color-1", put_in,
            lambda _, table, rate=rate: Rates(1.0, find_wrong_captions(table)).mixed(rate),
            options={"candidates": CANDIDATES},
        )  # fmt: skip


def measure_lines(out: Path, salts: int = SALTS) -> list[Said]:
    """Return the lines, each drawn with that many salts."""
    return [say(line, line.oracle, out, salts) for line in list_lines()]


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    head = HEAD.format(
        paints=len(PAINTS), shared=SHARED, rest=1 - SHARED, candidates=CANDIDATES, others=CANDIDATES - 1
    )
    part = head + "".join(write_row(one, one.expected) for one in measure_lines(out)) + "\n"
    write_part(Path(__file__).name, part)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
