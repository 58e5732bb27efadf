"""TIAM's decisions about one image (paper, section 4): which objects are found, and which carry their colour.

Shares are compared as fractions of whole pixels, so that exactly 2/5 counts as 0.4 whatever floats make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Detections
from t2i_core.api.array_codec import Arrays
from t2i_core.api.prompt import SceneObject


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


Span = tuple[float, float]
"""Confidences above the first, up to and with the second."""


@dataclass(frozen=True)
class Finding:
    """What is decided about one expected object.

    bound: whether it carries its colour; None where it has none to carry, or was not found
    holds: the thresholds of confidence at which it is found and carries its colour if it has one, from the lowest,
           none touching another
    """

    found: bool
    bound: bool | None
    holds: tuple[Span, ...] = ()


def decide(
    objects: Sequence[SceneObject],
    detections: Detections,
    evidence: Arrays,
    references: Mapping[str, int],
    thresholds: Thresholds,
) -> list[Finding]:
    """Decide about each expected object of one image.

    evidence:    as `MaskMeasurements.take` gives it, for these detections
    references:  column of each colour in the evidence

    An object is found when one detection of its class is usable; any of them may carry its colour.
    """
    kinds, spans = _usable(objects, detections, evidence, thresholds.overlap)
    confidence = float(np.float32(thresholds.confidence))  # as detections have it
    findings = []
    for expected in objects:
        instances = [i for i, kind in kinds.items() if objects[kind].cls.same_as(expected.cls)]
        found = any(_within(confidence, spans[i]) for i in instances)
        bound = None
        if expected.colour is not None:
            column = references[expected.colour]
            instances = [i for i in instances if _reaches(evidence["colours"][i], column, thresholds.colour_share)]
            bound = any(_within(confidence, spans[i]) for i in instances) if found else None
        findings.append(Finding(found, bound, _union(spans[i] for i in instances)))
    return findings


def all_hold(findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Return the thresholds of confidence at which every object holds."""
    common: list[Span] = [(NEVER, np.inf)]
    for finding in findings:
        common = [
            (max(low, other), min(high, most))
            for low, high in common
            for other, most in finding.holds
            if max(low, other) < min(high, most)
        ]
    return tuple(common)


NEVER = -1.0
"""Below every confidence."""


def _usable(
    objects: Sequence[SceneObject], detections: Detections, evidence: Arrays, overlap: Fraction
) -> tuple[dict[int, int], dict[int, Span]]:
    """Return of each detection of the prompt's classes the first object of its class, and when it is usable.

    That is up to its own confidence, and above that of each detection of another class on the same pixels: both
    are dropped where both are looked at. The paper asks its detector for the prompt's classes alone: a mask of
    another class drops none.
    """
    kinds: dict[int, int] = {}
    of_class: dict[int, int | None] = {}
    for i, code in enumerate(detections.classes.tolist()):
        if code not in of_class:
            label = detections.label(i)
            of_class[code] = next((k for k, o in enumerate(objects) if o.cls.same_as(label)), None)
        kind = of_class[code]
        if kind is not None and evidence["colours"][i].any():  # an empty mask shows nothing
            kinds[i] = kind
    scores = {i: float(detections.scores[i]) for i in kinds}
    lowest = dict.fromkeys(kinds, NEVER)
    for i, j, shared in evidence["overlaps"].tolist():
        if i in kinds and j in kinds and kinds[i] != kinds[j]:
            union = int(evidence["colours"][[i, j]].sum()) - shared
            if Fraction(shared, union) >= overlap:
                lowest[i], lowest[j] = max(lowest[i], scores[j]), max(lowest[j], scores[i])
    return kinds, {i: (lowest[i], scores[i]) for i in kinds}


def _within(confidence: float, span: Span) -> bool:
    return span[0] < confidence <= span[1]


def _union(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if joined and low <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return tuple(joined)


def _reaches(counts: NDArray[np.int32], column: int, share: Fraction) -> bool:
    return Fraction(int(counts[column]), int(counts.sum())) >= share
