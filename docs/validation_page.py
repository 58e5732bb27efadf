"""The page and the plot of docs/validation.md."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from t2i_core.api.figure import ForestPlot
from t2i_core.results.figures import convert_to_png, draw_svg
from validation_runs import SALTS, Said, enough

HEAD = """# What the metrics say where the truth is known

The simulator draws scenes with faults at rates that are put in; then it is known what a metric must say. Each
line is drawn {salts} times, everything anew (`simulator.salt`), and judged by the oracle, which reads what was
drawn, or by the trained judge that the mini world's users have. A 95 % interval misses the truth one time in
twenty though all is right: {enough} of {salts} are asked for, which a right program fails .3 % of the time.
Where a trained judge errs, the truth is known from its own rates (what it says where nothing is wrong, and where
everything is), which are measured on other pictures and have their own error; `off` is how far its mean lies
from what an ideal judge's should be. Where its rates do not give the truth (SCS) it is held to the ideal judge's,
and `off` is its own bias. Of a distance from even, which is never below 0, so few pictures say more than the truth
on the mean: that mean stands in brackets.

    python docs/validation.py OUT

made this page and the plot; some lines are tests too (`tests/test_validation.py`).

| put in | metric | judge | truth | mean | off | intervals that hold it | images |
|---|---|---|---|---|---|---|---|
"""

FOOT = """
![Every interval, less what was expected](validation.png)

d: rate of objects lost, each after the first. S: found where all are drawn. F: found though one is lost. D: what
is lost or wrong of two; S_D, a_D: the score then (of an ideal judge 1 where nothing is, else 0). w: rate of wrong
colours or sorts. a, b: the score where no colour is wrong, and where all are. K: sorts, n of them under a prompt's
synset. N: images of a prompt. h(p) = -p ln p. p_r: 1/r over the sum of all, of n sorts in an order of each salt's
own. E[d]: the mean of a rate whose logit prompts (sd 1) and seeds (sd .5) move. e: rate of a thing too many. f:
rate of relations flipped. q: how often a hat is read, the skew where the judge never errs. A judge that takes the
first of two pictures in a share of its verdicts, whatever they show, draws ratings together, which an order term
makes up for in part: the truth of those lines is where the likelihood with that term is greatest. δ: how far the
images of two captions lie apart, their spread σ; τ: the noise of one of N trials. Rows of `selfeval` are of a toy
model that knows these, on images that it draws itself.

<!-- made by docs/validation_correction.py -->
"""


def page(said: Sequence[Said]) -> str:
    """The document."""
    ideal = {_key(one): one.typical for one in said if one.judge == one.line.oracle}
    return (
        HEAD.format(salts=SALTS, enough=enough(SALTS))
        + "".join(_row(one, ideal[_key(one)]) for one in said)
        + FOOT
    )


def _key(said: Said) -> tuple[str, str]:
    """Return the key of a line: rungs of a ladder share their name."""
    return said.line.name, str(dict(said.line.put_in))


def _row(said: Said, ideal: float) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in said.line.put_in.items())
    truth = f"{said.expected:.4f}" + (f" ({said.typical:.4f})" if said.line.typical else "")
    cells = (
        f"{said.line.name} ({settings})".replace("|", "\\|"), said.line.metric, said.judge, truth,
        f"{said.mean:.4f}", f"{said.mean - ideal:+.4f}",
        f"{said.holding} of {len(said.values)}", f"{said.images:,}",
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
