"""Measure the mini-segmenter on unseen scenes: ``python plugins/miniworld/training/evaluate_segmenter.py FOLDER``.

Four sets, rendered once to FOLDER: each kind alone; two things of different kinds; the same two with the second
left out; and one to four of one kind. A thing counts as found by TIAM's rule (its class at least once, confidence
.25). Prints S (all found | all drawn), F (all "found" | one missing), exact counts, the colours read through its
masks, and S under JPEG, blur, noise and a shift of hue.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import torch
from augment import blur, compress, shift_hue
from colour_rule import paints_read
from numpy.typing import NDArray
from t2i_core.statistics import wilson
from t2i_miniworld import segmenter
from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import MOST, lay_out
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.regions import regions
from t2i_miniworld.scene import Thing
from t2i_miniworld.streams import stream
from t2i_miniworld.workers import map_ordered
from transformers import SegformerForSemanticSegmentation

CONFIDENCE = 0.25
_PER_SHARD = 100


@dataclass(frozen=True)
class Trial:
    """One picture to judge.

    Attributes:
        set: Name of its set.
        asked: The requested things.
        drawn: Number of things, the first ones, that are drawn.
        number: Number of the picture, which varies the layout.
    """

    set: str
    asked: tuple[Thing, ...]
    drawn: int
    number: int


@dataclass(frozen=True)
class DrawnTrial:
    """A drawn trial: ``image`` (H, W, 3) uint8, and ``owner`` (H, W) int8, each pixel's thing or -1."""

    trial: Trial
    image: NDArray[np.uint8]
    owner: NDArray[np.int8]


@dataclass(frozen=True)
class FoundInstance:
    """A found instance, with the name of its class."""

    kind: str
    mask: NDArray[np.bool_]


def trials(alone: int, pairs: int, counts: int) -> Iterator[Trial]:
    """Yield all trials.

    Every other one is painted: two things in different paints, several of one kind in the same paint.

    Args:
        alone: Trials per kind alone.
        pairs: Trials per ordered pair of kinds.
        counts: Trials per kind and number of things.
    """
    paints = list(PAINTS)
    for number in range(alone):
        for row, kind in enumerate(KINDS):
            paint = paints[(row + number // 2) % len(paints)] if number % 2 else None
            yield Trial("one", (Thing(kind, paint),), 1, number)
    for number in range(pairs):
        for pair in permutations(KINDS, 2):
            rng = stream("evaluation-paint", *pair, number)
            two = [str(paint) for paint in rng.permutation(paints)[:2]] if number % 2 else [None, None]
            asked = (Thing(pair[0], two[0]), Thing(pair[1], two[1]))
            yield Trial("two", asked, 2, number)
            yield Trial("missing", asked, 1, number)
    for number in range(counts):
        for row, kind in enumerate(KINDS):
            for count in range(1, MOST + 1):
                paint = paints[(row + count + number // 2) % len(paints)] if number % 2 else None
                yield Trial("count", (Thing(kind, paint),) * count, count, number)


def draw_trial(trial: Trial) -> DrawnTrial:
    """Draw one trial, in the layout of all requested things."""
    from t2i_miniworld.render import draw

    # A pair keeps its layout when the second thing is left out.
    family = "two" if trial.set == "missing" else trial.set
    kinds = [thing.kind for thing in trial.asked]
    scene = lay_out(trial.asked, "evaluation", family, *kinds, trial.number)
    picture = draw(replace(scene, placed=scene.placed[: trial.drawn]))
    return DrawnTrial(trial, picture.image, picture.owner)


def draw_trials(batch: tuple[Path, tuple[Trial, ...]]) -> Path:
    """Draw trials to a file unless it exists, and return its path."""
    path, todo = batch
    if not path.exists():
        drawn = [draw_trial(trial) for trial in todo]
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, image=[s.image for s in drawn], owner=[s.owner for s in drawn])
        part.rename(path)
    return path


def look(
    network: SegformerForSemanticSegmentation, images: Iterable[NDArray[np.uint8]]
) -> Iterator[list[FoundInstance]]:
    """Yield the instances that the network finds in each image with `CONFIDENCE`."""
    names = segmenter.classes(network)
    for probabilities in segmenter.probabilities(network, images):
        found = regions(probabilities)
        yield [FoundInstance(names[region.kind], region.mask) for region in found if region.score >= CONFIDENCE]


def measure(shown: list[DrawnTrial], found: list[list[FoundInstance]]) -> dict[str, object]:
    """Return all figures of the model card for undegraded pictures."""
    sets: dict[str, Counter[bool]] = defaultdict(Counter)
    tables: dict[str, dict[str, Counter[bool]]] = defaultdict(lambda: defaultdict(Counter))
    mistaken: Counter[str] = Counter()
    counted: dict[str, Counter[int]] = defaultdict(Counter)
    for picture, seen in zip(shown, found, strict=True):
        trial, names = picture.trial, Counter(thing.kind for thing in seen)
        first, last = trial.asked[0].kind, trial.asked[-1].kind
        hit = all(names[thing.kind] for thing in trial.asked)
        if trial.set == "one":
            tables["S one by class"][first][hit] += 1
            tables["S one by paint"][trial.asked[0].paint or "natural"][hit] += 1
        elif trial.set == "two":
            for thing in trial.asked:
                tables["found in a pair by class"][thing.kind][names[thing.kind] > 0] += 1
        elif trial.set == "missing":
            tables["F by missing class"][last][hit] += 1
            tables["F by drawn class"][first][hit] += 1
            mistaken[f"{first}, {last}"] += hit
        else:
            hit = names[first] == trial.drawn
            tables["count exact by number drawn"][str(trial.drawn)][hit] += 1
            tables["count exact by class"][first][hit] += 1
            counted[str(trial.drawn)][names[first]] += 1
        sets[trial.set][hit] += 1
    titles = {"one": "S one", "two": "S two", "missing": "F", "count": "count exact"}
    return {
        **{title: share(sets[name]) for name, title in titles.items() if name in sets},
        **{title: {key: share(count) for key, count in table.items()} for title, table in tables.items()},
        "pairs (drawn, missing) with both found": {pair: n for pair, n in mistaken.most_common() if n},
        "count found by number drawn": {number: dict(sorted(c.items())) for number, c in counted.items()},
        **colours(shown, found),
    }


def colours(shown: list[DrawnTrial], found: list[list[FoundInstance]]) -> dict[str, object]:
    """Return the colours read through the found masks, for things of each paint (``natural`` for none).

    One table counts by paint which colours are read; the other counts, by class and paint, the found things that
    are read as exactly their paint. Pictures with several things of one kind are skipped, because their masks
    cannot be assigned.
    """
    table: dict[str, Counter[str]] = {paint: Counter() for paint in (*PAINTS, "natural")}
    right: dict[str, dict[str, Counter[bool]]] = defaultdict(lambda: defaultdict(Counter))
    for picture, seen in zip(shown, found, strict=True):
        if picture.trial.set == "count" and picture.trial.drawn > 1:
            continue
        for index, thing in enumerate(picture.trial.asked[: picture.trial.drawn]):
            paint, own = thing.paint or "natural", picture.owner == index
            mask = next((one.mask for one in seen if one.kind == thing.kind and (one.mask & own).any()), None)
            if mask is None:
                table[paint]["not found"] += 1
                continue
            read = paints_read(picture.image[mask])
            table[paint][" and ".join(sorted(read)) or "none"] += 1
            if thing.paint:
                right[thing.kind][paint][read == {paint}] += 1
    return {
        "colour read by paint": {paint: dict(count.most_common()) for paint, count in table.items()},
        "colour right by class and paint (right, found)": {
            kind: {paint: (count[True], count.total()) for paint, count in sorted(row.items())}
            for kind, row in right.items()
        },
    }


def _noisy(image: NDArray[np.uint8]) -> torch.Tensor:
    rng = stream("evaluation-noise", int(image.sum()))
    return _tensor(image) + torch.from_numpy(rng.normal(0, 0.04, (3, *image.shape[:2])))


def _tensor(image: NDArray[np.uint8]) -> torch.Tensor:
    return torch.from_numpy(image).permute(2, 0, 1).float() / 255


#: Degradations of pictures, by name.
DEGRADED: dict[str, Callable[[NDArray[np.uint8]], torch.Tensor]] = {
    "as drawn": _tensor,
    "JPEG, quality 50": lambda image: compress(_tensor(image), 50),
    "blur, sigma 1 pixel": lambda image: blur(_tensor(image), 1.0),
    "noise, sd 4 %": _noisy,
    "hue turned by 15 degrees": lambda image: shift_hue(_tensor(image)[None], torch.tensor([15 / 360]))[0],
    "red 15 % up, blue 15 % down": lambda image: _tensor(image) * torch.tensor([1.15, 1.0, 0.85]).view(3, 1, 1),
}


def degraded(network: SegformerForSemanticSegmentation, shown: list[DrawnTrial]) -> dict[str, object]:
    """Return S of one thing, and exact counts, for degraded pictures."""
    table = {}
    for name, change in DEGRADED.items():
        images = [
            (change(picture.image).clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy() for picture in shown
        ]
        figures = measure(shown, list(look(network, images)))
        table[name] = {key: figures[key] for key in ("S one", "count exact") if key in figures}
    return {"degraded": table}


def share(count: Counter[bool]) -> dict[str, float]:
    """Return a share with Wilson's 95 % interval."""
    total = count.total()
    low, high = wilson(count[True], total)
    return {"value": round(count[True] / total, 4), "low": round(low, 4), "high": round(high, 4), "n": total}


def drawn(folder: Path, todo: list[Trial], name: str, workers: int | None = None) -> list[DrawnTrial]:
    """Draw the trials' pictures, and store them in ``folder`` by hundreds; an interrupted run resumes."""
    folder.mkdir(parents=True, exist_ok=True)
    batches = [tuple(todo[start : start + _PER_SHARD]) for start in range(0, len(todo), _PER_SHARD)]
    jobs = [(folder / f"evaluation-{name}-{number:03d}.npz", batch) for number, batch in enumerate(batches)]
    shown = []
    for (_, batch), path in map_ordered(draw_trials, jobs, workers):
        with np.load(path) as arrays:
            shown += [DrawnTrial(*row) for row in zip(batch, arrays["image"], arrays["owner"], strict=True)]
    return shown


def main() -> None:
    """Draw missing pictures, judge all, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, default=segmenter.WEIGHTS)
    parser.add_argument("--alone", type=int, default=30, help="pictures per kind alone")
    parser.add_argument("--pairs", type=int, default=2, help="pictures per ordered pair of kinds, and set")
    parser.add_argument("--counts", type=int, default=6, help="pictures per kind and number of it")
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args()
    todo = list(trials(given.alone, given.pairs, given.counts))
    shown = drawn(given.folder, todo, f"{given.alone}-{given.pairs}-{given.counts}", given.workers)
    network = segmenter.load(given.model)
    figures = measure(shown, list(look(network, (picture.image for picture in shown))))
    some = [picture for picture in shown if picture.trial.set in ("one", "count") and picture.trial.number < 2]
    print(json.dumps(figures | degraded(network, some), indent=2))


if __name__ == "__main__":
    main()
