"""Write the part of docs/validation.md about metrics of sets: ``python docs/validation_sets.py OUT``.

Prompts leave the kind of the object open, so that the images of a salt are independent of each other. FID and KID:
the simulator's images against other images of the simulator. KID is unbiased, so without faults it is 0. FID grows
as images are fewer, so its truth is its expected value for that many images, the mean over images of other salts;
so is the truth of both where an object too many is drawn. IS: an ideal classifier, so that it is the exponential
of the entropy of the kinds' counts.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core import ModelRequest, Run
from t2i_miniworld.taxonomy import LEAVES
from validation_lines import Line
from validation_page import write_row
from validation_runs import APART, ORACLE, SALTS, Said, kept

PAGE = Path(__file__).with_name("validation.md")
PART = re.compile(
    "(?<=<!-- made by docs/validation_sets.py -->\n).*?(?=<!-- made by docs/validation_corr)", re.DOTALL
)
EXTRAS = (0.0, 0.4)
"""Rates of images with an object too many."""
KINDS, OF_DISTANCE = 40, 20
"""Number of images of a salt, one of each prompt: for IS, and for FID and KID."""

HEAD = """
## Distances of sets, and the Inception Score

Prompts leave open what is drawn, so each image shows one of {leaves} kinds at random. FID and KID compare {few}
images with {reference:,} others, in features of mini-clip; an object too many is drawn at the rate `extra`, never
in the reference. The truth of KID without a fault is 0, because KID is unbiased. FID is too high for few images,
so its truth is its expected value for that many images. That value, and both with a fault, are means over images
of other salts, which have an error themselves; the reference is one draw, whose error all salts share. IS, with an
ideal classifier: its truth is the expected exponential of the entropy H of the counts of kinds among {kinds}
images, which is below the number of kinds. Each line is drawn {salts} times; at least 16 of {salts} intervals must
hold the truth. These distances compare with no published ones, because the judge is another.

KID is 0 for independent images only. Where each set has one image of each prompt of a fixed list, as in most
benchmarks, no two images of a set share a prompt, but images of both sides do: KID is then below 0 without a
fault, by about a P-th of how much more alike images of one prompt are, where P is the number of prompts.

    python docs/validation_sets.py OUT

| put in | metric | judge | truth | mean | off | intervals that hold it | images |
|---|---|---|---|---|---|---|---|
"""


def expect_inception_score(shares: Sequence[float], images: int, draws: int = 20_000) -> float:
    """Return the expected score of images whose kinds are drawn with given shares and classified without errors.

    It is E[exp(H)], where H is the entropy of the counts of kinds, by simulation with a standard error of about
    .01.
    """
    counts = np.random.default_rng(0).multinomial(images, shares, size=draws) / images
    logs = np.log(counts, out=np.zeros_like(counts), where=counts > 0)
    return float(np.exp(-(counts * logs).sum(axis=1)).mean())


def measure_distances(out: Path, salts: int = SALTS, extras: Sequence[float] = EXTRAS) -> list[Said]:
    """Return the lines of FID and KID."""
    beyond = range(2 * APART, 2 * APART + salts)
    reference = _draw("is", out, {}, beyond, "reference", judge="mini-classifier").folder / "images"
    options = {"reference": str(reference)}
    said = []
    for extra in extras:
        for metric in ("fid", "kid"):
            fault = {"extra": extra} if extra else {}
            name = f"{metric}-{extra}"
            own = _draw(metric, out, fault, range(salts), name, options)
            other = _draw(metric, out, fault, range(APART, APART + salts), f"{name}-apart", options)
            unbiased = metric == "kid" and not extra
            truth = 0.0 if unbiased else float(np.mean([result.score for result in other.results]))
            title = "no fault: 0" if unbiased else "expected value for that many images"
            line = Line(
                title, metric, metric, "kinds", {"extra": extra}, lambda *_, truth=truth: truth, oracle="mini-clip"
            )
            said.append(_read(line, own, truth))
    return said


def measure_kinds(out: Path, salts: int = SALTS) -> list[Said]:
    """Return the lines of IS: kinds drawn alike, and by Zipf's law."""
    alike = np.full(len(LEAVES), 1 / len(LEAVES))
    zipf = 1 / np.arange(1, len(LEAVES) + 1)
    said = []
    for law, shares in (("uniform", alike), ("skewed", zipf / zipf.sum())):
        run = _draw(
            "is", out, {"hyponyms": law}, range(salts), f"is-{law}", {"splits": 1}, judge="oracle:leaves",
            images=KINDS,
        )  # fmt: skip
        truth = expect_inception_score(shares, KINDS)
        line = Line(
            "kinds at random: E[exp H(counts / N)]", "is", "is", "kinds", {"hyponyms": law},
            lambda *_, truth=truth: truth, oracle="oracle:leaves",
        )  # fmt: skip
        said.append(_read(line, run, truth))
    return said


def _draw(
    metric: str,
    out: Path,
    put_in: Mapping[str, Any],
    salts: Sequence[int],
    name: str,
    options: Mapping[str, Any] | None = None,
    judge: str = "mini-clip",
    images: int = OF_DISTANCE,
) -> Run:
    """Evaluate images of the simulator, a model for each salt, with an object of any kind in each."""
    prompts = out / "kinds.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    scene = {"objects": [{"cls": {"name": "entity", "synset": "entity.n.01"}}]}
    rows = [{"id": str(n), "text": f"entity {n}", "scene": scene} for n in range(KINDS)]
    prompts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    models = [ModelRequest("simulator", f"salt {salt}", {**ORACLE, **put_in, "salt": salt}) for salt in salts]
    return kept(
        metric, models, prompts=str(prompts), limit=images, seeds=1, judge=judge, out=out / name,
        options={f"metric:{metric}": options} if options else {},
    )  # fmt: skip


def _read(line: Line, run: Run, truth: float) -> Said:
    scores = [result.scores[line.measure] for result in run.results]
    values = tuple((one.value, *one.ci) for one in scores)
    return Said(line, line.oracle, truth, truth, values, len(run.samples()))


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    said = [*measure_distances(out), *measure_kinds(out)]
    head = HEAD.format(
        reference=SALTS * OF_DISTANCE, few=OF_DISTANCE, kinds=KINDS, leaves=len(LEAVES), salts=SALTS
    )
    part = head + "".join(write_row(one, one.expected) for one in said) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PART.sub(lambda _: part, page), encoding="utf-8")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
