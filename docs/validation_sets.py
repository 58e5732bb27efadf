"""Write the part of docs/validation.md about metrics of sets: ``python docs/validation_sets.py OUT``.

FID and KID: the simulator's images against other images of the simulator. KID is unbiased, so without faults it is
0. FID grows as images are fewer, so its truth is its expected value for that many images, the mean over images of
other salts; so is the truth of both where objects are lost. IS: kinds drawn at random and an ideal classifier, so
that it is the exponential of the entropy of the kinds' counts.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

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
DROPS = (0.0, 0.4)
KINDS = 40
"""Number of images whose kinds are drawn, one of each prompt."""

HEAD = """
## Distances of sets, and the Inception Score

The simulator's images, with objects lost at the rate `drop`, against {reference:,} other images of the simulator,
which lose none. The judge is mini-clip. The truth of KID without a fault is 0, because KID is unbiased. FID is too
high for few images, so its truth is its expected value for that many images. That value, and both where objects
are lost, are means over images of other salts, with an error of their own. IS: an ideal classifier, and the kinds
of {kinds} images drawn at random; its truth is the expected exponential of the entropy of their counts (H),
which is below the number of kinds, {leaves}. Each line is drawn {salts} times; at least 16 of {salts} intervals
must hold the truth. These distances compare with no published ones, because the judge is another.

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


def measure_distances(out: Path, salts: int = SALTS, drops: Sequence[float] = DROPS) -> list[Said]:
    """Return the lines of FID and KID."""
    reference = _draw("is", 0.0, range(2 * APART, 2 * APART + salts), out / "reference").folder / "images"
    said = []
    for drop in drops:
        for metric in ("fid", "kid"):
            own = _draw(metric, drop, range(salts), out / f"{metric}-{drop}", reference)
            other = _draw(metric, drop, range(APART, APART + salts), out / f"{metric}-{drop}-apart", reference)
            unbiased = metric == "kid" and not drop
            truth = 0.0 if unbiased else float(np.mean([result.score for result in other.results]))
            name = "no fault: 0" if unbiased else "expected value for that many images"
            line = Line(
                name, metric, metric, "tiam-5-2", {"drop": drop}, lambda *_, truth=truth: truth, oracle="mini-clip"
            )
            said.append(_read(line, own, truth))
    return said


def measure_kinds(out: Path, salts: int = SALTS) -> list[Said]:
    """Return the lines of IS: kinds drawn alike, and by Zipf's law."""
    prompts = out / "kinds.jsonl"
    prompts.parent.mkdir(parents=True, exist_ok=True)
    entity = {"objects": [{"cls": {"name": "entity", "synset": "entity.n.01"}}]}
    rows = [{"id": str(n), "text": f"entity {n}", "scene": entity} for n in range(KINDS)]
    prompts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    alike = np.full(len(LEAVES), 1 / len(LEAVES))
    zipf = 1 / np.arange(1, len(LEAVES) + 1)
    said = []
    for law, shares in (("uniform", alike), ("skewed", zipf / zipf.sum())):
        models = [
            ModelRequest("simulator", f"salt {salt}", {**ORACLE, "hyponyms": law, "salt": salt})
            for salt in range(salts)
        ]
        run = kept(
            "is", models, prompts=str(prompts), seeds=1, judge="oracle:leaves", out=out / f"is-{law}",
            options={"metric:is": {"splits": 1}},
        )  # fmt: skip
        truth = expect_inception_score(shares, KINDS)
        line = Line(
            "kinds at random: E[exp H(counts / N)]", "is", "is", "entity", {"hyponyms": law},
            lambda *_, truth=truth: truth, oracle="oracle:leaves",
        )  # fmt: skip
        said.append(_read(line, run, truth))
    return said


def _draw(metric: str, drop: float, salts: Sequence[int], out: Path, reference: Path | None = None) -> Run:
    models = [ModelRequest("simulator", f"salt {salt}", {**ORACLE, "drop": drop, "salt": salt}) for salt in salts]
    options = {} if reference is None else {f"metric:{metric}": {"reference": str(reference)}}
    judge = "mini-clip" if reference else "mini-classifier"
    return kept(metric, models, prompts="tiam-5-2", seeds=1, judge=judge, out=out, options=options)


def _read(line: Line, run: Run, truth: float) -> Said:
    scores = [result.scores[line.measure] for result in run.results]
    values = tuple((one.value, *one.ci) for one in scores)
    return Said(line, line.oracle, truth, truth, values, len(run.samples()))


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    said = [*measure_distances(out), *measure_kinds(out)]
    head = HEAD.format(reference=said[0].images, kinds=KINDS, leaves=len(LEAVES), salts=SALTS)
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
