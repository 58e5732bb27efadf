"""Lines of docs/validation.md: faults put into the mini world's pictures, with the expected score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import quad
from scipy.special import entr, expit, logit
from scipy.stats import binom, norm
from t2i_miniworld.taxonomy import LEAVES
from t2i_wordnet_hypernymy.scores import uniform

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
    halfway   an ideal judge's value where half is wrong, if two things of a picture may go wrong, each by itself
    typical   the mean of what so few pictures say, where that is not the truth: no distance from even is below 0
    trained   a trained judge for which the same holds with its own rates, measured with `fault` at both `ends`;
              without a fault it is held to what an ideal judge would say
    trained_salts  how often that judge's images are simulated; None: as often as the oracle's
    rated     what of the measurements its rates are; by default the measure itself
    quick     whether the tests that always run hold it, with fewer salts
    options   of the metric
    asked     options of the prompts
    """

    name: str
    metric: str
    measure: str
    prompts: str
    put_in: Mapping[str, Any]
    expected: Callable[[Rates, pd.DataFrame], float]
    wrong: Callable[[pd.DataFrame], float] = lambda _: 0.0
    halfway: Callable[[pd.DataFrame], float] | None = None
    typical: Callable[[Rates], float] | None = None
    oracle: str = "oracle"
    trained: str = ""
    trained_salts: int | None = None
    fault: str = ""
    ends: tuple[Any, Any] = (0.0, 1.0)
    rated: Callable[[pd.DataFrame], float] | None = None
    seeds: int = 4
    limit: int = 10
    quick: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)


def moved(rate: float, prompt_sd: float, seed_sd: float) -> float:
    """The mean of a rate whose logit every prompt and every seed moves, normally."""
    spread = float(np.hypot(prompt_sd, seed_sd))
    mean, _ = quad(lambda z: norm.pdf(z) * expit(logit(rate) + spread * z), -9, 9)
    return float(mean)


def majority(skew: float, rates: Rates) -> float:
    """Return the probability that most of nine images are read as with a hat, drawn at the rate of the skew."""
    return float(binom.sf(4, 9, rates.mixed(1 - skew)))


def voted(skew: float, rates: Rates, _: pd.DataFrame) -> float:
    """The MAD of prompts' votes for one of two looks."""
    return abs(majority(skew, rates) - 0.5)


def seen(skew: float, rates: Rates, _: pd.DataFrame) -> float:
    """The MAD of images' own answers."""
    return abs(rates.mixed(1 - skew) - 0.5)


def distance(share: float, count: int) -> float:
    """Return the mean distance from 1/2 of a share of `count` independent draws."""
    return float(binom.expect(lambda k: np.abs(k / count - 0.5), (count, share)))


def hats(table: pd.DataFrame) -> float:
    """The share of images that are read as with a hat."""
    read = (table["measure"] == "image-share") & (table["answer"] == "hat: hat")
    return float(table.loc[read, "value"].mean())


def leaves(table: pd.DataFrame) -> np.ndarray:
    """Return the number of leaves under each prompt's synset."""
    found: np.ndarray = table.groupby("prompt", observed=True)["leaves"].first().to_numpy(dtype=int)
    return found


def mixed(rate: float) -> Callable[[Rates, pd.DataFrame], float]:
    """Return the expected score if pictures are wrong at a rate."""
    return lambda rates, _: rates.mixed(rate)


def quarter(_: pd.DataFrame) -> float:
    """Return the share of pictures of two things in which both are right where half of all things are."""
    return 0.25


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
    """Return two lines for nine pictures of each of six prompts: their majority vote, and each picture alone."""
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
         mixed(0.2), halfway=quarter, trained="mini-segmenter", fault="drop"),
    Line("wrong colours of one: (1 - w) a + w b", "tiam", "tiam", "tiam-color-1", {"wrong_color": 0.3}, mixed(0.3),
         trained="mini-segmenter", fault="wrong_color"),
    Line("wrong colours of two: Σ w^|D| (1 - w)^(2 - |D|) a_D", "tiam", "tiam", "tiam-color-2",
         {"wrong_color": 0.3}, mixed(0.3), halfway=quarter, quick=True),
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
