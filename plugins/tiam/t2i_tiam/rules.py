"""TIAM's decisions about one image (paper, section 4): which objects are found, and which carry their colour.

Shares are compared as fractions of whole pixels, so that exactly 2/5 counts as 0.4 whatever floats make of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from t2i_core.observations import Arrays, Detections
from t2i_core.prompts import SceneObject


@dataclass(frozen=True)
class Thresholds:
    """Where the decisions change; every bound is inclusive.

    confidence:    of a detection, 0 to 1
    overlap:       IoU at which two masks of different classes are both dropped
    colour_share:  share of a mask that must be nearest to the colour's reference
    """

    confidence: float
    overlap: Fraction
    colour_share: Fraction


@dataclass(frozen=True)
class Finding:
    """What is decided about one expected object.

    bound: whether it carries its colour; None where it has none to carry, or was not found
    """

    found: bool
    bound: bool | None


def decide(
    objects: Sequence[SceneObject],
    detections: Detections,
    evidence: Arrays,
    references: Mapping[str, int],
    thresholds: Thresholds,
) -> list[Finding]:
    """Decide about each expected object of one image.

    evidence:    as `Evidence.take` gives it, for these detections
    references:  column of each colour in the evidence

    An object is found when one detection of its class is usable; any of them may carry its colour.
    """
    usable = _usable(objects, detections, evidence, thresholds)
    findings = []
    for expected in objects:
        instances = [i for i, kind in usable.items() if objects[kind].cls.same_as(expected.cls)]
        bound = None
        if instances and expected.colour is not None:
            column = references[expected.colour]
            bound = any(_reaches(evidence["colours"][i], column, thresholds.colour_share) for i in instances)
        findings.append(Finding(bool(instances), bound))
    return findings


def _usable(
    objects: Sequence[SceneObject], detections: Detections, evidence: Arrays, thresholds: Thresholds
) -> dict[int, int]:
    """Return the usable detections, each with the first expected object of its class.

    The paper asks its detector for the prompt's classes alone: a mask of another class drops none.
    """
    kinds: dict[int, int] = {}
    for i in np.flatnonzero(detections.scores >= thresholds.confidence).tolist():
        label = detections.label(i)
        kind = next((k for k, o in enumerate(objects) if o.cls.same_as(label)), None)
        if kind is not None and evidence["colours"][i].any():  # an empty mask shows nothing
            kinds[i] = kind
    dropped: set[int] = set()
    for i, j, shared in evidence["overlaps"].tolist():
        if i in kinds and j in kinds and kinds[i] != kinds[j]:
            union = int(evidence["colours"][[i, j]].sum()) - shared
            if Fraction(shared, union) >= thresholds.overlap:
                dropped |= {i, j}
    return {i: kind for i, kind in kinds.items() if i not in dropped}


def _reaches(counts: NDArray[np.int32], column: int, share: Fraction) -> bool:
    return Fraction(int(counts[column]), int(counts.sum())) >= share
