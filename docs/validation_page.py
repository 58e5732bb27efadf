"""The page and the plot of docs/validation.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from t2i_core.api.figure import ForestPlot
from t2i_core.results.figures import convert_to_png, draw_svg
from validation_lines import Line
from validation_runs import SALTS, Said, enough, say_all

PAGE = Path(__file__).with_name("validation.md")
_MARK = "<!-- made by docs/"
"""Begins the mark above the part of the page that a script writes; the part ends at the next mark."""

HEAD = """# Validation against known truth

The simulator renders scenes with faults at given rates, so the correct score of each metric is known. Each row
of the table is simulated {salts} times with new images (`simulator.salt`). The judge is the oracle, which reads
the ground truth, or the trained judge of the mini world. A correct 95 % interval misses the truth in one of
twenty simulations. At least {enough} of {salts} intervals must contain it; a correct program fails this bar in
.3 % of cases.

For a trained judge, the truth follows from the judge's own error rates on images without faults and on images
with a fault everywhere. These rates are measured on other images and have their own error. For SCS, the rates do
not give the truth, so the trained judge is compared with the ideal judge's value. The column `off` is the mean
minus the value that is expected with an ideal judge, so it includes the judge's bias. A distance from even is
never below 0; with few images, its mean is above the truth. The mean that is expected with this number of images
is in brackets.

`python docs/validation.py OUT` writes this page and the plot. Some rows are also tests
(`tests/test_validation.py`).

| simulated faults | metric | judge | truth | mean | off | intervals that contain it | images |
|---|---|---|---|---|---|---|---|
"""

FOOT = """
![Every interval minus the expected value](validation.png)

Symbols:

- d: rate of lost objects, for each object after the first. E[d]: mean of a rate whose logit varies with prompts
  (sd 1) and seeds (sd .5).
- S: score if all objects are drawn. F: score if one is lost. D: the set of lost or wrong objects of two. S_D,
  a_D: the score for that set (with an ideal judge, 1 for the empty set and 0 otherwise).
- w: rate of wrong colours or kinds. a, b: scores if no colour is wrong and if all are. e: rate of an extra
  object. f: rate of flipped relations.
- K: number of kinds; n of them are below a prompt's synset. N: images per prompt. h(p) = -p ln p. p_r: 1/r over
  the sum for all n kinds, in a different order for each salt.
- q: rate at which the judge sees a hat; with an ideal judge, the simulated skew.
- δ: distance between the images of two captions. σ: their spread. τ: noise of one of N trials. The rows of
  `selfeval` use a toy model with known values, on images that it draws itself.

A judge that prefers the first image in a share of its verdicts, whatever the images show, brings ratings closer
together. An order term compensates for a part of this. The truth of these rows is the maximum of the likelihood
with that term.

<!-- made by docs/validation_captions.py -->
<!-- made by docs/validation_texts.py -->
<!-- made by docs/validation_retrieval.py -->
<!-- made by docs/validation_geneval.py -->
<!-- made by docs/validation_sets.py -->
<!-- made by docs/validation_questions.py -->
<!-- made by docs/validation_correction.py -->
"""


def page(said: Sequence[Said]) -> str:
    """The document."""
    ideal = {_key(one): one.typical for one in said if one.judge == one.line.oracle}
    return (
        HEAD.format(salts=SALTS, enough=enough(SALTS))
        + "".join(write_row(one, ideal[_key(one)]) for one in said)
        + FOOT
    )


def write_part(script: str, part: str) -> None:
    """Write the part of the page that a script (`validation_sets.py`) makes."""
    mark = f"{_MARK}{script} -->\n"
    above, found, below = PAGE.read_text(encoding="utf-8").partition(mark)
    if not found:
        raise ValueError(f"{PAGE} has no part of {script}")
    _, following, others = below.partition(_MARK)
    PAGE.write_text(above + mark + part + following + others, encoding="utf-8")


def write_lines(script: str, head: str, lines: Sequence[Line], out: Path, salts: int = SALTS) -> None:
    """Draw what is missing for lines by several scores of a metric; write them, and `head` above, to the page."""
    rows = []
    for said, ideal in say_all(lines, out, salts):
        rows.append(write_row(said, ideal).replace(f"| {said.line.metric} |", f"| {said.line.measure} |"))
        print(rows[-1], end="", flush=True)
    write_part(script, f"{head}{''.join(rows)}\n")


def _key(said: Said) -> tuple[str, str]:
    """Return the key of a line: rungs of a ladder share their name."""
    return said.line.name, str(dict(said.line.put_in))


def write_row(said: Said, ideal: float) -> str:
    """Return a row of the table, with the standard error of the mean if it is known."""
    settings = ", ".join(f"{name} {value}" for name, value in said.line.put_in.items())
    truth = f"{said.expected:.4f}" + (f" ({said.typical:.4f})" if said.line.typical else "")
    below = "" if said.holding >= enough(len(said.values)) else ", too few"
    cells = (
        f"{said.line.name} ({settings})".replace("|", "\\|"), said.line.metric, said.judge, truth,
        f"{said.mean:.4f}", f"{said.mean - ideal:+.4f}", *([] if said.error is None else [f"{said.error:.4f}"]),
        f"{said.holding} of {len(said.values)}{below}", f"{said.images:,}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def plot(said: Sequence[Said]) -> bytes:
    """Return a picture (PNG) of every interval, less what was expected: a line for each line and judge."""
    rows = [
        (f"{one.line.name}: {one.line.metric}, {one.judge}", salt, *_compare_with_truth(one, *interval))
        for one in said
        for salt, interval in enumerate(one.values)
    ]
    table = pd.DataFrame(rows, columns=["of", "salt", "off", "low", "high", "interval"])
    figure = ForestPlot(
        label="of", value="off", colour="interval", beside="salt", reference=0,
        title="score with its 95 % interval, less what was expected (Elo: in points / 400)",
    )  # fmt: skip
    return convert_to_png(draw_svg(figure, table))


def _compare_with_truth(one: Said, value: float, lo: float, hi: float) -> tuple[float, float, float, str]:
    holds = lo - 1e-9 <= one.expected <= hi + 1e-9
    unit = 400 if one.line.metric == "elo" else 1  # points of Elo would dwarf the rest
    off, low, high = ((end - one.expected) / unit for end in (value, lo, hi))
    return off, low, high, "holds the truth" if holds else "misses it"
