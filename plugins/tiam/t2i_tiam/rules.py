"""TIAM's decisions about one image: which objects are found, and which have the right colour.

Shares are compared as exact fractions of pixel counts, so 2 of 5 pixels reach a threshold of 0.4.

References:
    Grimal et al.: TIAM - A Metric for Evaluating Alignment in Text-to-Image Generation. WACV 2024. Section 4.
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
    """Thresholds of the decisions; every bound is inclusive.

    Attributes:
        confidence: Minimum confidence of a detection, 0 to 1.
        overlap: IoU from which two masks of different classes are both dropped.
        colour_share: Minimum share of a mask's pixels that are nearest to the colour's reference.
    """

    confidence: float
    overlap: Fraction
    colour_share: Fraction


Span = tuple[float, float]
"""A range of confidences, without its lower end and with its upper end."""


@dataclass(frozen=True)
class Finding:
    """Decision about one expected object.

    Attributes:
        found: Whether it is found.
        bound: Whether it has the colour that the prompt gives it; None if the prompt gives none, or if the object
            is not found.
        holds: The confidence thresholds at which it is found in the right colour (if it has one), as disjoint
            ranges in ascending order.
        seen: Numbers of the detections of its class that are usable, in the judge's order.
    """

    found: bool
    bound: bool | None
    holds: tuple[Span, ...] = ()
    seen: tuple[int, ...] = ()


def decide(
    objects: Sequence[SceneObject],
    detections: Detections,
    evidence: Arrays,
    references: Mapping[str, int],
    thresholds: Thresholds,
) -> list[Finding]:
    """Decide about each expected object of one image.

    An object is found if at least one detection of its class is usable at the confidence threshold. It has the
    right colour if any of these detections has it.

    Args:
        objects: The expected objects.
        detections: The detections of one image.
        evidence: The arrays that `MaskMeasurements.take` returned for these detections.
        references: Column of each colour in the evidence.
        thresholds: The thresholds.

    Returns:
        One decision per expected object, in the same order.
    """
    kinds, spans = _find_usable(objects, detections, evidence, thresholds.overlap)
    confidence = float(np.float32(thresholds.confidence))  # detections store float32
    findings = []
    for expected in objects:
        instances = [i for i, kind in kinds.items() if objects[kind].cls.same_as(expected.cls)]
        seen = tuple(i for i in instances if _contains(spans[i], confidence))
        found = bool(seen)
        bound = None
        if expected.colour is not None:
            column = references[expected.colour]
            instances = [
                i for i in instances if _has_share(evidence["colours"][i], column, thresholds.colour_share)
            ]
            bound = any(_contains(spans[i], confidence) for i in instances) if found else None
        findings.append(Finding(found, bound, _join_spans(spans[i] for i in instances), seen))
    return findings


def intersect_spans(findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Return the confidence thresholds at which every object is found in the right colour."""
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
"""A value below every confidence."""


def _find_usable(
    objects: Sequence[SceneObject], detections: Detections, evidence: Arrays, overlap: Fraction
) -> tuple[dict[int, int], dict[int, Span]]:
    """Find the detections of the prompt's classes, and the confidence thresholds at which each is usable.

    A detection is usable at thresholds up to its own confidence. If a detection of another class of the prompt
    covers almost the same pixels, both are dropped at thresholds that admit both. Detections of classes outside
    the prompt have no effect, because the paper's detector looks only for the prompt's classes.

    Returns:
        By detection: the index of the first object of its class, and the range of thresholds.
    """
    kinds: dict[int, int] = {}
    of_class: dict[int, int | None] = {}
    for i, code in enumerate(detections.classes.tolist()):
        if code not in of_class:
            label = detections.label(i)
            of_class[code] = next((k for k, o in enumerate(objects) if o.cls.same_as(label)), None)
        kind = of_class[code]
        if kind is not None and evidence["colours"][i].any():  # ignore empty masks
            kinds[i] = kind
    scores = {i: float(detections.scores[i]) for i in kinds}
    lowest = dict.fromkeys(kinds, NEVER)
    for i, j, shared in evidence["overlaps"].tolist():
        if i in kinds and j in kinds and kinds[i] != kinds[j]:
            union = int(evidence["colours"][[i, j]].sum()) - shared
            if Fraction(shared, union) >= overlap:
                lowest[i], lowest[j] = max(lowest[i], scores[j]), max(lowest[j], scores[i])
    return kinds, {i: (lowest[i], scores[i]) for i in kinds}


def _contains(span: Span, confidence: float) -> bool:
    return span[0] < confidence <= span[1]


def _join_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if joined and low <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return tuple(joined)


def _has_share(counts: NDArray[np.int32], column: int, share: Fraction) -> bool:
    return Fraction(int(counts[column]), int(counts.sum())) >= share
