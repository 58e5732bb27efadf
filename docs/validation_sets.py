"""Write the part of docs/validation.md about metrics of sets: ``python docs/validation_sets.py OUT``.

Prompts leave the kind of the object open, so that the images of a salt are independent of each other. FID and KID:
the simulator's images against other images of the simulator. KID is unbiased, so without faults it is 0. FID grows
as images are fewer, so its truth is its expected value for that many images, the mean over images of other salts;
so is the truth of both where an object too many is drawn. IS: an ideal classifier, so that it is the exponential
of the entropy of the kinds' counts. Vendi: ideal features, so that it follows from the counts of kinds, too. PRDC:
density and coverage of images of the same distribution as the reference do not depend on the features.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core import ModelRequest, Run
from t2i_core.api import Instance, ObjectClass, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld.oracle_embedding import embed_image
from t2i_miniworld.taxonomy import LEAVES, leaves_under
from t2i_torchmetrics.vendi import vendi_score
from validation_lines import Line
from validation_page import write_part, write_row
from validation_runs import APART, ORACLE, SALTS, Said, kept

EXTRAS = (0.0, 0.4)
"""Rates of images with an object too many."""
KINDS, OF_DISTANCE = 40, 20
"""Number of images of a salt, one of each prompt: for IS, Vendi and PRDC, and for FID and KID."""
NEIGHBOURS = 3
"""PRDC: the neighbour that gives the radius."""
ENTITY, VEHICLE = ObjectClass("entity", "entity.n.01"), ObjectClass("vehicle", "vehicle.n.01")

HEAD = """
## Scores of sets

Prompts leave open what is drawn, so each image shows one of {leaves} kinds at random. FID and KID compare {few}
images with {reference:,} others, in features of mini-clip; an object too many is drawn at the rate `extra`,
never in the reference. The truth of KID without a fault is 0, because KID is unbiased. FID is too high for few
images, so its truth is its expected value for that many images. That value, and both with a fault, are means
over images of other salts, which have an error themselves; the reference is one draw, whose error all salts
share. IS, with an ideal classifier: its truth is the expected exponential of the entropy H of the counts of
kinds among {kinds} images, which is below the number of kinds. Vendi of {kinds} red vehicles, with the oracle's
features: its truth is the expected score of such counts. PRDC (k = {neighbours}): images of the distribution of
{reference:,} reference images have density 1 and a coverage that depends on the numbers of images alone,
whatever the features (each of N reference and M other images is equally likely to be the nearest to a reference
image, the second nearest, and so on). Each line is drawn {salts} times; at least 16 of {salts} intervals must
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


def expect_vendi(shares: Sequence[float], vectors: np.ndarray, images: int, draws: int = 2000) -> float:
    """Return the expected Vendi score of images whose kinds are drawn with given shares.

    Args:
        shares: Share of each kind.
        vectors: Features of an image of each kind, shape (kinds, d).
        images: Number of images.
        draws: Number of simulated sets.
    """
    rng = np.random.default_rng(0)
    drawn = (rng.choice(len(shares), images, p=shares) for _ in range(draws))
    return float(np.mean([vendi_score(vectors[kinds]) for kinds in drawn]))


def expect_coverage(reference: int, images: int, neighbours: int = NEIGHBOURS) -> float:
    """Return the expected coverage of images of the distribution of the reference.

    A reference image is covered if one of the images is nearer to it than its neighbour. The order of all
    distances to it is random, so this fails only if the nearest ones are all of the reference.
    """
    ranks = np.arange(neighbours)
    return float(1 - np.prod((reference - 1 - ranks) / (reference - 1 + images - ranks)))


def measure_modes(out: Path, salts: int = SALTS) -> list[Said]:
    """Return the lines of Vendi and PRDC: kinds drawn alike, and by Zipf's law."""
    return [*_measure_vendi(out, salts), *_measure_neighbourhoods(out, salts)]


def _measure_vendi(out: Path, salts: int) -> list[Said]:
    kinds = leaves_under(VEHICLE)
    pixel = PackedMask.pack(np.ones((1, 1), bool))
    shown = (
        Instance(ObjectClass(LEAVES[kind], kind), "red", (0, 0, 1, 1), pixel, {"synset": kind}) for kind in kinds
    )
    vectors = np.stack([embed_image(Truth((1, 1), (each,))).values for each in shown])
    zipf = 1 / np.arange(1, len(kinds) + 1)
    said = []
    for law, shares in (("uniform", np.full(len(kinds), 1 / len(kinds))), ("skewed", zipf / zipf.sum())):
        # Zipf's order of kinds is another for each salt
        orders = [np.random.default_rng(n).permutation(len(kinds)) for n in range(10 if law == "skewed" else 1)]
        truth = float(np.mean([expect_vendi(shares, vectors[order], KINDS) for order in orders]))
        said.append(_say_modes("vendi", "vendi", law, truth, out, salts))
    return said


def _say_modes(metric: str, measure: str, law: str, truth: float, out: Path, salts: int) -> Said:
    run = _draw(
        metric, out, {"hyponyms": law}, range(salts), f"{metric}-{law}", judge="oracle", images=KINDS,
        cls=VEHICLE, colour="red",
    )  # fmt: skip
    title = "kinds at random: expected value for that many images"
    line = Line(title, metric, measure, "kinds", {"hyponyms": law}, lambda *_: truth, oracle="oracle")
    return _read(line, run, truth)


def _measure_neighbourhoods(out: Path, salts: int) -> list[Said]:
    beyond, few = range(2 * APART, 2 * APART + salts), {"neighbours": NEIGHBOURS}
    reference = _draw("is", out, {}, beyond, "reference", judge="mini-classifier").folder / "images"
    run = _draw("prdc", out, {}, range(salts), "prdc", {"reference": str(reference), **few}, images=KINDS)
    said = []
    for measure, truth in (("density", 1.0), ("coverage", expect_coverage(salts * OF_DISTANCE, KINDS))):
        line = Line(
            f"{measure}: the reference's distribution", "prdc", measure, "kinds", {"hyponyms": "uniform"},
            lambda *_, truth=truth: truth, oracle="mini-clip",
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
    cls: ObjectClass = ENTITY,
    colour: str | None = None,
) -> Run:
    """Evaluate images of the simulator, a model for each salt, with an object of any kind of a class in each."""
    prompts = out / f"{cls.name}.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    thing = {"cls": {"name": cls.name, "synset": cls.synset}, **({"colour": colour} if colour else {})}
    rows = [{"id": str(n), "text": f"{cls.name} {n}", "scene": {"objects": [thing]}} for n in range(KINDS)]
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
    said = [*measure_distances(out), *measure_kinds(out), *measure_modes(out)]
    head = HEAD.format(
        reference=SALTS * OF_DISTANCE, few=OF_DISTANCE, kinds=KINDS, leaves=len(LEAVES), salts=SALTS,
        neighbours=NEIGHBOURS,
    )  # fmt: skip
    part = head + "".join(write_row(one, one.expected) for one in said) + "\n"
    write_part(Path(__file__).name, part)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
