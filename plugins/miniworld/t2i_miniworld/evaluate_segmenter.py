"""Measure the mini-segmenter on scenes it never saw: ``python -m t2i_miniworld.evaluate_segmenter FOLDER``.

By TIAM's rule (each class of the prompt found at least once, confidence .25) on three sets, drawn once to FOLDER:
one thing; two things of different classes; and the same two with the second left out. Prints S (all found | all
drawn), F (all "found" | one missing) per pair of classes, and how painted things are read through its masks.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from t2i_core.statistics import wilson

from t2i_miniworld import segmenter
from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import lay_out
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.reading import paints_read
from t2i_miniworld.scene import Thing
from t2i_miniworld.segmenting import Region, regions
from t2i_miniworld.streams import stream
from t2i_miniworld.workers import map_ordered

CONFIDENCE = 0.25
_NAMES = tuple(KINDS)


@dataclass(frozen=True)
class Trial:
    """One picture to judge: what is asked, how many of it are drawn (the first ``drawn``), and its number."""

    asked: tuple[Thing, ...]
    drawn: int
    number: int


@dataclass(frozen=True)
class Shown:
    """A drawn trial: ``image`` (H, W, 3) uint8 and ``owner`` (H, W) int8, the index of the thing or -1."""

    trial: Trial
    image: NDArray[np.uint8]
    owner: NDArray[np.int8]


def trials(each: int) -> Iterator[Trial]:
    """``each`` pictures of three sorts per ordered pair of classes, every other one painted in differing paints.

    Both drawn; the same with the second left out; and the first alone, asked for alone.
    """
    for number in range(each):
        for pair in permutations(_NAMES, 2):
            rng = stream("evaluation-paint", *pair, number)
            paints = [str(paint) for paint in rng.permutation(list(PAINTS))] if number % 2 else [None, None]
            asked = (Thing(pair[0], paints[0]), Thing(pair[1], paints[1]))
            yield Trial(asked, 2, number)
            yield Trial(asked, 1, number)
            yield Trial(asked[:1], 1, number * 100 + _NAMES.index(pair[1]))


def draw_trial(trial: Trial) -> Shown:
    """Draw one trial: the layout is that of all things asked for."""
    from t2i_miniworld.render import draw

    kinds = [thing.kind for thing in trial.asked]
    scene = lay_out(trial.asked, "evaluation", *kinds, trial.number)
    picture = draw(replace(scene, placed=scene.placed[: trial.drawn]))
    return Shown(trial, picture.image, picture.owner)


def measure(shown: list[Shown], found: list[list[Region]]) -> dict[str, object]:
    """All figures of the model card, as plain data."""
    counts = {name: Counter[bool]() for name in ("one", "two", "missing")}
    pairs: dict[tuple[str, str], Counter[bool]] = {pair: Counter() for pair in permutations(_NAMES, 2)}
    alone = {name: Counter[bool]() for name in _NAMES}
    for picture, seen in zip(shown, found, strict=True):
        names = {_NAMES[region.kind] for region in seen if region.score >= CONFIDENCE}
        kinds = tuple(thing.kind for thing in picture.trial.asked)
        hit = set(kinds) <= names
        if len(kinds) == 1:
            counts["one"][hit] += 1
            alone[kinds[0]][hit] += 1
        elif picture.trial.drawn == 2:
            counts["two"][hit] += 1
        else:
            counts["missing"][hit] += 1
            pairs[kinds[0], kinds[1]][hit] += 1
    return {
        "S one": _share(counts["one"]),
        "S two": _share(counts["two"]),
        "F": _share(counts["missing"]),
        "S one by class": {name: _share(count) for name, count in alone.items() if count},
        "F by pair (drawn, missing)": {
            f"{drawn}, {missing}": _share(count) for (drawn, missing), count in pairs.items() if count[True]
        },
        "colour": colour_confusion(shown, found),
    }


def colour_confusion(shown: list[Shown], found: list[list[Region]]) -> dict[str, dict[str, int]]:
    """How often a thing of each paint (or none, ``natural``) is read as which paint, through the found masks."""
    table: dict[str, Counter[str]] = {paint: Counter() for paint in (*PAINTS, "natural")}
    for picture, seen in zip(shown, found, strict=True):
        for index, thing in enumerate(picture.trial.asked[: picture.trial.drawn]):
            kind = _NAMES.index(thing.kind)
            best = next((region for region in seen if region.kind == kind and region.score >= CONFIDENCE), None)
            if best is None or not (best.mask & (picture.owner == index)).any():
                table[thing.paint or "natural"]["not found"] += 1
                continue
            read = paints_read(picture.image[best.mask])
            table[thing.paint or "natural"][" and ".join(sorted(read)) or "none"] += 1
    return {paint: dict(count) for paint, count in table.items()}


def _share(count: Counter[bool]) -> dict[str, float]:
    total = count.total()
    low, high = wilson(count[True], total)
    return {"value": round(count[True] / total, 4), "low": round(low, 4), "high": round(high, 4), "n": total}


def _drawn(folder: Path, each: int) -> list[Shown]:
    """The trials' pictures, drawn once and kept in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    todo, kept = list(trials(each)), folder / f"evaluation-{each}.npz"
    if not kept.exists():
        drawn = [shown for _, shown in map_ordered(draw_trial, todo)]
        part = kept.with_suffix(".part.npz")
        np.savez_compressed(part, image=[s.image for s in drawn], owner=[s.owner for s in drawn])
        part.rename(kept)
    with np.load(kept) as arrays:
        pictures = zip(todo, arrays["image"], arrays["owner"], strict=True)
        return [Shown(trial, image, owner) for trial, image, owner in pictures]


def main() -> None:
    """Draw what is missing, judge, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, default=segmenter.WEIGHTS)
    parser.add_argument("--each", type=int, default=20, help="pictures per ordered pair of classes")
    arguments = parser.parse_args()
    shown = _drawn(arguments.folder, arguments.each)
    network = segmenter.load(arguments.model)
    maps = segmenter.probabilities(network, (picture.image for picture in shown))
    print(json.dumps(measure(shown, [regions(one) for one in maps]), indent=2))


if __name__ == "__main__":
    main()
