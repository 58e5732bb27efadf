"""Write docs/validation.md: what the metrics say where the truth is known. ``python docs/validation.py OUT``.

The simulator puts faults at stated rates into its pictures; each line below says what a metric must then say. Each
is drawn with 20 salts, for one 95 % interval misses the truth one time in twenty though all is right: at least 16
must hold it (a right program fails this .3 % of the time; see `enough`). OUT keeps the runs, so that the same
command goes on.
"""

from __future__ import annotations

import argparse
import runpy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import entr, expit, log_expit, logit
from scipy.stats import binom, norm
from t2i_core.evaluation import ModelRequest, evaluate
from t2i_core.runs import Run, load_run
from t2i_miniworld.taxonomy import LEAVES
from t2i_wordnet_hypernymy.scores import uniform

PAGE, PLOT = Path(__file__).with_suffix(".md"), Path(__file__).with_suffix(".png")
SALTS = 20
#: A trained judge's own rates are measured on pictures of other salts: this much is added to them.
APART = 1000
#: An ideal judge reads annotations, so small pictures do; the trained ones see them as large as their users do, a
#: little noisier, for so many are drawn.
ORACLE, TRAINED = {"size": 64, "spp": 2}, {"spp": 8}
#: No upper bound beside: an ideal judge's is 1.
ALONE = {"upper": None}


@dataclass(frozen=True)
class Rates:
    """A metric's value where nothing is wrong and where everything is: 1 and 0 if the judge never errs.

    halfway  the value where half is wrong, for pictures in which two things may go wrong, each by itself
    """

    right: float = 1.0
    wrong: float = 0.0
    halfway: float | None = None

    def mixed(self, rate: float) -> float:
        """The value where pictures are wrong at a rate: a line through both ends, or the parabola of all three.

        Of two chances it is sum over what went wrong D of rate^|D| (1 - rate)^(2 - |D|) times the value given D.
        """
        line = (1 - rate) * self.right + rate * self.wrong
        if self.halfway is None:
            return line
        return line + 4 * rate * (1 - rate) * (self.halfway - (self.right + self.wrong) / 2)


@dataclass(frozen=True)
class Line:
    """Something put in, and what must come out.

    measure   which of the metric's scores
    put_in    the simulator's options
    expected  the truth, from the judge's rates and the table of measurements
    wrong     an ideal judge's value where everything is wrong, from that table: by default 0
    twice     whether two things of a picture may go wrong, each by itself
    typical   the mean of what so few pictures say, where that is not the truth: no distance from even is below 0
    trained   a trained judge for which the same holds with its own rates, measured with `fault` at both `ends`;
              without a fault it is held to what an ideal judge would say
    rated     what of the measurements its rates are; by default the measure itself
    quick     whether the tests that always run hold it, with fewer salts
    options   of the metric
    """

    name: str
    metric: str
    measure: str
    prompts: str
    put_in: Mapping[str, Any]
    expected: Callable[[Rates, pd.DataFrame], float]
    wrong: Callable[[pd.DataFrame], float] = lambda _: 0.0
    twice: bool = False
    typical: Callable[[Rates], float] | None = None
    oracle: str = "oracle"
    trained: str = ""
    fault: str = ""
    ends: tuple[Any, Any] = (0.0, 1.0)
    rated: Callable[[pd.DataFrame], float] | None = None
    seeds: int = 4
    limit: int = 10
    quick: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """What came out: a value for each salt with its interval, the truth, and what their mean should be."""

    line: Line
    judge: str
    expected: float
    typical: float
    values: tuple[tuple[float, float, float], ...]
    images: int

    @property
    def mean(self) -> float:
        """Of the values."""
        return float(np.mean([value for value, _, _ in self.values]))

    @property
    def holding(self) -> int:
        """How many intervals hold what was expected, to rounding."""
        return sum(lo - 1e-9 <= self.expected <= hi + 1e-9 for _, lo, hi in self.values)


def enough(salts: int) -> int:
    """How many of so many intervals must hold the truth: as many as a right program fails to have at most .3 % of
    the time.
    """
    return int(binom.ppf(0.003, salts, 0.95))


def moved(rate: float, prompt_sd: float, seed_sd: float) -> float:
    """The mean of a rate whose logit every prompt and every seed moves, normally."""
    spread = float(np.hypot(prompt_sd, seed_sd))
    mean, _ = quad(lambda z: norm.pdf(z) * expit(logit(rate) + spread * z), -9, 9)
    return float(mean)


def majority(skew: float, rates: Rates) -> float:
    """How often more than half of nine images are read as with a hat, which is drawn at the rate of the skew."""
    return float(binom.sf(4, 9, rates.mixed(1 - skew)))


def voted(skew: float, rates: Rates, _: pd.DataFrame) -> float:
    """The MAD of prompts' votes for one of two looks."""
    return abs(majority(skew, rates) - 0.5)


def seen(skew: float, rates: Rates, _: pd.DataFrame) -> float:
    """The MAD of images' own answers."""
    return abs(rates.mixed(1 - skew) - 0.5)


def distance(share: float, count: int) -> float:
    """The mean distance from 1/2 of a share of so many, each by itself."""
    return float(binom.expect(lambda k: np.abs(k / count - 0.5), (count, share)))


def hats(table: pd.DataFrame) -> float:
    """The share of images that are read as with a hat."""
    read = (table["measure"] == "image-share") & (table["answer"] == "hat: hat")
    return float(table.loc[read, "value"].mean())


def leaves(table: pd.DataFrame) -> np.ndarray:
    """How many leaves stand under each prompt's synset."""
    found: np.ndarray = table.groupby("prompt", observed=True)["leaves"].first().to_numpy(dtype=int)
    return found


def mixed(rate: float) -> Callable[[Rates, pd.DataFrame], float]:
    """What is expected where pictures are wrong at a rate."""
    return lambda rates, _: rates.mixed(rate)


def zipf(kinds: int, images: int) -> float:
    """SCS in nats, by an ideal judge, of images whose sorts Zipf's law draws: the mean entropy of their shares."""
    weights = 1 / np.arange(1, kinds + 1)
    shares = np.arange(images + 1) / images
    return float(sum(binom.pmf(np.arange(images + 1), images, p) @ entr(shares) for p in weights / weights.sum()))


def other_leaves(table: pd.DataFrame) -> float:
    """ISP where every sort is another of the K: how many of these are under the prompt's synset too."""
    return float(((leaves(table) - 1) / (len(LEAVES) - 1)).mean())


def other_kinds(table: pd.DataFrame) -> float:
    """PaintSkills' object skill where every sort is another of the K: how many of these are of the same object."""
    of_object = Counter(LEAVES.values())
    sorts = table.groupby("prompt", observed=True)["object"].first().map(of_object)
    return float(((sorts - 1) / (len(LEAVES) - 1)).mean())


def pairs_alike(table: pd.DataFrame) -> float:
    """PaintSkills' spatial skill where all relations are flipped: of two of a kind only the axis is looked at."""
    objects = table.groupby("prompt", observed=True)[["object", "object_2"]].first()
    return float((objects["object"] == objects["object_2"]).mean())


def _hats(skew: float) -> tuple[Line, Line]:
    """What nine pictures of each of six prompts vote for, and what each of them shows."""
    line = Line(
        "nine vote for hats: |P(Bin(9, q) > 4) - 1/2|", "bias", "mad", "bias-mini", {"skew": f"hat:yes:{skew}"},
        partial(voted, skew), typical=lambda rates: distance(majority(skew, rates), 6), trained="mini-clip",
        fault="skew", ends=("hat:yes:1.0", "hat:no:1.0"), rated=hats, seeds=9, limit=6,
        options={"groups": "mini", "only": ["hat"], "vote": "majority"},
    )  # fmt: skip
    return line, replace(
        line, name="hats: |q - 1/2|", measure="image-mad", expected=partial(seen, skew),
        typical=lambda rates: distance(rates.mixed(1 - skew), 54),
    )  # fmt: skip


LINES = (
    Line("objects lost of two: (1 - d) S + d F", "tiam", "tiam", "tiam-5-2", {"drop": 0.4}, mixed(0.4),
         trained="mini-segmenter", fault="drop", quick=True),
    Line("objects lost of three: Σ d^|D| (1 - d)^(2 - |D|) S_D", "tiam", "tiam", "tiam-5-3", {"drop": 0.2},
         mixed(0.2), twice=True, trained="mini-segmenter", fault="drop"),
    Line("wrong colours of one: (1 - w) a + w b", "tiam", "tiam", "tiam-color-1", {"wrong_color": 0.3}, mixed(0.3),
         trained="mini-segmenter", fault="wrong_color"),
    Line("wrong colours of two: Σ w^|D| (1 - w)^(2 - |D|) a_D", "tiam", "tiam", "tiam-color-2",
         {"wrong_color": 0.3}, mixed(0.3), twice=True, quick=True),
    Line("colours of two, of each found: 1 - w", "tiam", "binding_pooled", "tiam-color-2", {"wrong_color": 0.3},
         lambda *_: 0.7),
    Line("a rate that prompts and seeds move: 1 - E[d]", "tiam", "tiam", "tiam-5-2",
         {"drop": 0.3, "prompt_sd": 1.0, "seed_sd": 0.5}, lambda *_: 1 - moved(0.3, 1.0, 0.5), quick=True),
    Line("wrong sorts: 1 - w (K - n) / (K - 1)", "isp", "isp", "wordnet-mini", {"wrong_object": 0.3}, mixed(0.3),
         other_leaves, oracle="oracle:leaves", trained="mini-classifier", fault="wrong_object", seeds=5, limit=14),
    Line("hyponyms alike: n Σ Bin(k; N, 1/n) h(k/N)", "scs", "divergence", "wordnet-mini", {"hyponyms": "uniform"},
         lambda _, table: float(np.mean([uniform(int(n), 5) for n in leaves(table)])),
         oracle="oracle:leaves", trained="mini-classifier", seeds=5, limit=14),
    Line("hyponyms by Zipf's law: Σ Σ Bin(k; N, p_r) h(k/N)", "scs", "divergence", "wordnet-mini",
         {"hyponyms": "skewed"}, lambda _, table: float(np.mean([zipf(int(n), 5) for n in leaves(table)])),
         oracle="oracle:leaves", trained="mini-classifier", seeds=5, limit=14),
    Line("one fixed hyponym: 0", "scs", "divergence", "wordnet-mini", {"hyponyms": "fixed"}, lambda *_: 0.0,
         oracle="oracle:leaves", trained="mini-classifier", seeds=5, limit=14),
    Line("wrong sorts of one: 1 - w (K - n) / (K - 1)", "paintskills-object", "paintskills-object",
         "paintskills-object", {"wrong_object": 0.3}, mixed(0.3), other_kinds, trained="mini-detector",
         fault="wrong_object", limit=8, seeds=2, options=ALONE),
    Line("wrong colours of one: 1 - w", "paintskills-color", "paintskills-color", "paintskills-color",
         {"wrong_color": 0.3}, mixed(0.3), trained="mini-detector", fault="wrong_color", limit=8, seeds=2,
         options=ALONE),
    Line("one too many: 1 - e", "paintskills-count", "paintskills-count", "paintskills-count", {"extra": 0.3},
         mixed(0.3), trained="mini-detector", fault="extra", limit=8, seeds=2, options=ALONE),
    Line("relations flipped: 1 - f, and 1 for two of a kind", "paintskills-spatial", "paintskills-spatial",
         "paintskills-spatial", {"flip_relation": 0.3}, mixed(0.3), pairs_alike, trained="mini-detector",
         fault="flip_relation", limit=8, seeds=2, options=ALONE),
    *(line for skew in (0.5, 0.6, 0.8, 1.0) for line in _hats(skew)),
)  # fmt: skip


def say(line: Line, judge: str, out: Path, salts: int = SALTS) -> Said:
    """Draw, judge and score a line with so many salts; a trained judge's rates too, on other pictures.

    Lines that share a judge's rates find them in the same folder beside.
    """
    run = _run(line, judge, line.put_in, range(salts), out / _slug(line, judge))
    table = run.measurements()
    if judge == line.oracle or not line.fault:
        # both of two things are right one time in four where half are
        rates = Rates(wrong=line.wrong(table), halfway=0.25 if line.twice else None)
    else:
        rates = _rates(line, judge, range(APART, APART + salts), out / "rates")
    values = tuple((one["value"], *one["ci"]) for one in _scores(line, run))
    expected = line.expected(rates, table)
    typical = expected if line.typical is None else line.typical(rates)
    return Said(line, judge, expected, typical, values, len(run.samples()))


def _slug(line: Line, judge: str) -> str:
    put_in = "-".join(f"{name}-{value}" for name, value in line.put_in.items())
    return f"{line.metric}-{line.prompts}-{put_in}-{judge}".replace(":", "-")


def _run(line: Line, judge: str, put_in: Mapping[str, Any], salts: Sequence[int], out: Path) -> Run:
    small = ORACLE if judge == line.oracle else TRAINED
    models = [ModelRequest("simulator", f"salt {salt}", {**small, **put_in, "salt": salt}) for salt in salts]
    return _kept(
        line.metric, models, prompts=line.prompts, seeds=line.seeds, limit=line.limit, judge=judge, out=out,
        options={f"metric:{line.metric}": line.options} if line.options else {},
    )  # fmt: skip


def _kept(metric: str, models: Sequence[ModelRequest], out: Path, **how: Any) -> Run:
    """Evaluate, unless that was done: to score 20 models again, and to compare each two, takes a minute."""
    done = (out / "run.json").exists() and load_run(out).status == "done"
    run = load_run(out) if done else evaluate(metric, models, out=out, **how)
    if run.failed is not None:
        raise SystemExit(f"{out}: {run.failed}")
    return run


def _rates(line: Line, judge: str, salts: Sequence[int], out: Path) -> Rates:
    """A trained judge's own rates."""
    shared = out / f"{line.metric}-{line.prompts}-{line.fault}-{judge}"
    ends = {"right": line.ends[0], "wrong": line.ends[1], **({"halfway": 0.5} if line.twice else {})}
    runs = {name: _run(line, judge, {line.fault: end}, salts, shared / name) for name, end in ends.items()}
    return Rates(**{name: _rate(line, run) for name, run in runs.items()})


def _rate(line: Line, run: Run) -> float:
    """A trained judge's own rate, over all models of a run."""
    if line.rated is not None:
        return line.rated(run.measurements())
    return float(np.mean([one["value"] for one in _scores(line, run)]))


def _scores(line: Line, run: Run) -> list[dict[str, Any]]:
    return [result["scores"][line.measure] for result in run.results["results"]]


#: Models that lose more and more of what is asked, by who has more right of each two.
DROPS = (0.0, 0.2, 0.4, 0.6)


@dataclass(frozen=True)
class Ladder:
    """A judge's rate of wrong verdicts, and how often it takes the first; then each rung's rating is known.

    p = 1/2 + (1 - 2 error) (d_j - d_i) / 2 is the chance of the better one to win, first + (1 - first) p where it
    is shown first, (1 - first) p where it is second.
    """

    error: float = 0.0
    first: float = 0.0

    @property
    def strengths(self) -> np.ndarray:
        """Where the likelihood of these chances is greatest: the rungs' ratings, and what it is worth to be first.

        All battles of two models in both orders, as many of each; found by a search of its own.
        """
        others = ~np.eye(len(DROPS), dtype=bool)
        share = 0.5 + (1 - 2 * self.error) * np.subtract.outer(DROPS, DROPS).T / 2
        won = (self.first + (1 - self.first) * share)[others]

        def unlikely(found: np.ndarray) -> float:
            gap = (np.subtract.outer(found[:-1], found[:-1]) + found[-1])[others]
            loss = -(won * log_expit(gap) + (1 - won) * log_expit(-gap)).sum()
            return float(loss + found[:-1].mean() ** 2)  # strengths are relative: their mean is 0

        *ratings, place = 400 / np.log(10) * minimize(unlikely, np.zeros(len(DROPS) + 1), tol=1e-14).x
        return np.array([*(1000 + rating for rating in ratings), place])

    @property
    def judge(self) -> str:
        """How it errs, in words."""
        return f"takes the first in {self.first}" if self.first else f"wrong in {self.error}"

    @property
    def lines(self) -> list[Line]:
        """A line for each rung's rating among the four, and one for the place, where the judge favours it."""
        name, found = f"ladder d = {', '.join(map(str, DROPS))}, judge {self.judge}", self.strengths
        rungs = [
            Line(name, "elo", "elo", "tiam-5-2", {"drop": drop}, lambda *_, n=n: float(found[n]))
            for n, drop in enumerate(DROPS)
        ]
        place = Line(f"{name}: what that is worth", "elo", "position", "tiam-5-2", {"prefer_first": self.first},
                     lambda *_: float(found[-1]))  # fmt: skip
        return [*rungs, place] if self.first else rungs


LADDERS = (Ladder(error=0.0), Ladder(error=0.2), Ladder(first=0.2))


def climb(ladder: Ladder, out: Path) -> list[Said]:
    """Draw a ladder's models 20 times, and have the oracle judge each two pictures in both orders."""
    lines = ladder.lines
    values: list[list[tuple[float, float, float]]] = [[] for _ in lines]
    images = 0
    for salt in range(SALTS):
        models = [ModelRequest("simulator", f"drop {d}", {**ORACLE, "drop": d, "salt": salt}) for d in DROPS]
        run = _kept(
            "elo", models, prompts="tiam-5-2", seeds=1, judge="oracle", out=out / str(salt),
            options={"oracle": {"prefer_error": ladder.error, "prefer_first": ladder.first}},
        )  # fmt: skip
        images += len(run.samples())
        rungs = run.results["results"]
        told = [result["scores"]["elo"] for result in rungs] + [rungs[0]["scores"].get("position")]
        for own, score in zip(values, told, strict=False):
            own.append((score["value"], *score["ci"]))
    return [
        Said(line, line.oracle, expected, expected, tuple(own), images // len(DROPS))
        for line, own in zip(lines, values, strict=True)
        for expected in [line.expected(Rates(), pd.DataFrame())]
    ]


#: Captions whose images are Gaussians, and models that know them but for noise: delta in sigmas, tau, N.
GAUSSIANS = runpy.run_path(
    str(Path(__file__).parents[1] / "plugins" / "selfeval" / "benchmarks" / "gaussian_captions.py"),
    run_name="gaussians",
)
WORLDS = (GAUSSIANS["World"](1.0, 0.0, 1), GAUSSIANS["World"](2.0, 4.0, 4))


def tell_apart(world: Any, out: Path, samples: int = 200) -> Said:
    """Have `selfeval` pick the caption of images that are drawn 20 times."""
    put_in = {"delta/sigma": world.delta, "tau": world.tau, "N": world.trials}
    line = Line(
        "two captions: Φ[(δ²/2σ²) / √(δ²/σ² + τ²/N)]", "selfeval", "accuracy", "levels", put_in,
        lambda *_: world.accuracy, oracle="the model itself",
    )  # fmt: skip
    scores = [_scores(line, world.evaluated(samples, salt, out / str(salt)))[0] for salt in range(SALTS)]
    values = tuple((one["value"], *one["ci"]) for one in scores)
    return Said(line, line.oracle, world.accuracy, world.accuracy, values, SALTS * samples)


HEAD = """# What the metrics say where the truth is known

The simulator draws scenes with faults at rates that are put in; then it is known what a metric must say. Each
line is drawn {salts} times, everything anew (`simulator.salt`), and judged by the oracle, which reads what was
drawn, or by the trained judge that the mini world's users have. A 95 % interval misses the truth one time in
twenty though all is right: {enough} of {salts} are asked for, which a right program fails .3 % of the time.
Where a trained judge errs, the truth is known from its own rates (what it says where nothing is wrong, and where
everything is), which are measured on other pictures and have an error of their own; `off` is how far its mean lies
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
    """What tells lines apart: rungs of a ladder share their name."""
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


def plot(said: Sequence[Said]) -> Figure:
    """Every interval, less what was expected: a row for each line and judge."""
    figure = Figure(figsize=(9, 0.75 * len(said) + 1), layout="constrained")
    axes = figure.add_subplot()
    for row, one in enumerate(said):
        heights = row + np.linspace(-0.3, 0.3, len(one.values))
        for height, (value, lo, hi) in zip(heights, one.values, strict=True):
            holds = lo - 1e-9 <= one.expected <= hi + 1e-9
            colour = "tab:blue" if holds else "tab:red"
            unit = 400 if one.line.metric == "elo" else 1  # points of Elo would dwarf the rest
            apart = [(end - one.expected) / unit for end in (lo, hi, value)]
            axes.plot(apart[:2], [height, height], color=colour, linewidth=1)
            axes.plot(apart[2], height, ".", color=colour, markersize=4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(said)), [f"{one.line.name}\n{one.line.metric}, {one.judge}" for one in said])
    axes.set_ylim(len(said) - 0.5, -0.5)
    axes.set_xlabel("score with its 95 % interval, less what was expected (Elo: in points / 400)")
    return figure


def _report(one: Said) -> None:
    print(
        f"{one.line.name} {dict(one.line.put_in)}, {one.judge}: expected {one.expected:.4f}, mean {one.mean:.4f}, "
        f"{one.holding} hold it"
    )


def main() -> None:
    """Read the command line, draw what is missing, write page and plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    said = []
    for line in LINES:
        for judge in filter(None, (line.oracle, line.trained)):
            one = say(line, judge, out)
            said.append(one)
            _report(one)
    for ladder in LADDERS:
        favoured = f"-first-{ladder.first}" if ladder.first else ""
        rungs = climb(ladder, out / f"ladder-{ladder.error}{favoured}")
        said += rungs
        for one in rungs:
            _report(one)
    for world in WORLDS:
        one = tell_apart(world, out / f"gaussians-{world.delta}-{world.tau}-{world.trials}")
        said.append(one)
        _report(one)
    PAGE.write_text(page(said), encoding="utf-8")
    plot(said).savefig(PLOT, dpi=110)


if __name__ == "__main__":
    main()
