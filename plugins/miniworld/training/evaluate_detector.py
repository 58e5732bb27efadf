"""Measure `mini-detector` on unseen pictures: ``python .../training/evaluate_detector.py SCENES OUT/model``.

SCENES have the number of light paths that pictures of the simulator have:

    python training_data.py SCENES --purpose detector --split heldout --scenes 3000 --samples 16

Prints how often PaintSkills' decisions are right: object and colour of single things, counts of one to five things
of a kind, and clear relations of two things; then recall and precision by confidence (the class is right, and the
IoU is at least a half). This script is not part of a plugin, because it uses two: the judge of t2i-transformers
and the decisions of t2i-paintskills.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from detector import NATURAL
from evaluate_segmenter import share
from numpy.typing import NDArray
from PIL import Image as PILImage
from t2i_core.api import Detections, Instance, JudgeInfo, Query, Setup, Truth
from t2i_core.api.image import load_image
from t2i_miniworld.annotations import relation_of
from t2i_miniworld.layout import LEAST_TIE
from t2i_paintskills import decisions
from t2i_transformers import plugin
from training_data import DrawnScenes, load

#: PaintSkills' confidence thresholds for objects and for counts.
_SURE, _COUNTED = 0.8, 0.7
CONFIDENCES = (0.5, 0.7, 0.8)
Tables = dict[str, Counter[bool]]


def answers(folder: Path, pictures: Sequence[DrawnScenes], device: str) -> Iterator[tuple[Detections, Truth]]:
    """Yield the judge's detections in each picture, and its ground truth."""
    (info,) = (one for one in plugin.t2i_judges() if isinstance(one, JudgeInfo) and one.name == plugin.COLOURED)
    judge = info.create(Setup(str(folder), info.options(), device, 32, offline=True))
    with tempfile.TemporaryDirectory() as place:
        queries: list[Query] = []
        truths: list[Truth] = []
        for image, truth in (
            (i, t) for drawn in pictures for i, t in zip(drawn.images, drawn.truths, strict=True)
        ):
            file = Path(place) / f"{len(queries)}.png"
            PILImage.fromarray(image).save(file)
            queries.append(Query((load_image(file),)))
            truths.append(truth)
        for (_, found), truth in zip(judge.observe("detect", queries), truths, strict=True):
            assert isinstance(found, Detections), found
            yield found, truth


def decide(found: Detections, truth: Truth, right: Tables) -> None:
    """Count which of PaintSkills' decisions are right for one picture."""
    shown, probs = truth.instances, found.class_probs
    assert probs is not None
    assert found.colours is not None
    columns = [_column(found, one) for one in shown]
    if len(set(columns)) == 1:
        right[f"count {len(shown)}"][decisions.is_count(probs, columns[0], len(shown), threshold=_COUNTED)] += 1
    if len(shown) == 1:
        colour = shown[0].colour or NATURAL
        said = decisions.has_colour(found.colours, probs, found.colour_names.index(colour))
        right["object"][decisions.is_object(probs, columns[0], _SURE)] += 1
        right["object, of any confidence"][decisions.is_object(probs, columns[0], 0)] += 1
        right["colour" if shown[0].colour else "no colour"][said] += 1
    if len(shown) == 2 and _clearly(*shown):
        boxes = found.boxes.astype(np.float64)
        wanted = relation_of(shown[1], shown[0])
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        right["relation"][decisions.is_relation(probs, centres, columns[0], columns[1], wanted)] += 1


def recall_and_precision(found: Detections, truth: Truth, right: Tables) -> None:
    """Count, by confidence, the found things and the right detections."""
    hits = are_right(found, truth)
    for confidence in CONFIDENCES:
        sure = hits[found.scores > confidence]
        right[f"precision at {confidence}"].update(sure.tolist())
        right[f"recall at {confidence}"][True] += int(sure.sum())
        right[f"recall at {confidence}"][False] += len(truth.instances) - int(sure.sum())


def are_right(found: Detections, truth: Truth) -> NDArray[np.bool_]:
    """Return which detections are right: of a thing's class, with an IoU of at least a half, at most one each.

    If several fit a thing, the most confident one counts.
    """
    hits, left = np.zeros(len(found), dtype=bool), list(truth.instances)
    for number in np.argsort(-found.scores, kind="stable"):
        fits = [one for one in left if _column(found, one) == found.classes[number]]
        best = max(fits, key=lambda one: overlap(one.box, found.boxes[number]), default=None)
        if best is not None and overlap(best.box, found.boxes[number]) >= 0.5:
            hits[number] = True
            left.remove(best)
    return hits


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the intersection over union of two boxes (x0, y0, x1, y1)."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0.0, wide) * max(0.0, high)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return float(both / (areas - both))


def measure(folder: Path, pictures: Sequence[DrawnScenes], device: str = "cpu") -> dict[str, Any]:
    """Return all figures for these pictures, each with Wilson's interval."""
    right: Tables = defaultdict(Counter)
    for found, truth in answers(folder, pictures, device):
        decide(found, truth, right)
        recall_and_precision(found, truth, right)
    right["count"] = sum((right[f"count {n}"] for n in (1, 2, 3, 4)), Counter[bool]())
    return {name: share(count) for name, count in sorted(right.items()) if count.total()}


def _column(found: Detections, one: Instance) -> int:
    return next(number for number, label in enumerate(found.labels) if label.same_as(one.cls))


def _clearly(one: Instance, other: Instance) -> bool:
    """Return whether the relation of two things is as clear as those that the simulator draws."""
    (x0, y0, x1, y1), (a0, b0, a1, b1) = one.box, other.box
    across, along = sorted((abs(x0 + x1 - a0 - a1), abs(y0 + y1 - b0 - b1)))
    return along >= LEAST_TIE * across


def main() -> None:
    """Read the command line, measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("model", type=Path, help="OUT/model of train_detector")
    parser.add_argument("--split", default="heldout")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    pictures = list(load(given.scenes, given.split))
    print(json.dumps(measure(given.model, pictures, given.device), indent=2))


if __name__ == "__main__":
    main()
