"""Reasons why an image does not show its prompt's objects, in words and as parts of the image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from t2i_core.api import Evidence, Segments
from t2i_core.api.array_codec import Arrays
from t2i_core.api.prompt import SceneObject

from .rules import Finding


def explain(
    objects: Sequence[SceneObject], findings: Sequence[Finding], measured: Arrays | None, names: Sequence[str]
) -> list[str]:
    """Return for each object why it is not right; empty if it is.

    Args:
        objects: The expected objects.
        findings: The decision about each.
        measured: The arrays of `MaskMeasurements.take`; None if the judge answered questions.
        names: The names of the reference colours.
    """
    return [_explain(*each, measured, names) for each in zip(objects, findings, strict=True)]


def join_reasons(reasons: Iterable[str]) -> str:
    """Return the reasons of several objects as one text, each once."""
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def _explain(expected: SceneObject, finding: Finding, measured: Arrays | None, names: Sequence[str]) -> str:
    name = expected.cls.name
    if not finding.found:
        return f"{name} not found"
    if finding.bound is not False:
        return ""
    if measured is None:
        return f"{name} found, not {expected.colour}"
    read = {_read_colour(measured, number, names) for number in finding.seen}
    if expected.colour in read:
        return f"{name} found, not {expected.colour} enough"
    return f"{name} is {' and '.join(sorted(read))}, not {expected.colour}"


def show(
    objects: Sequence[SceneObject],
    findings: Sequence[Finding],
    found: Segments,
    measured: Arrays,
    names: Sequence[str],
) -> tuple[Evidence, ...]:
    """Return the masks of the objects that were found, with the colour of most of their pixels if one is asked."""
    shown: dict[int, Evidence] = {}
    for expected, finding in zip(objects, findings, strict=True):
        for number in finding.seen:
            colour = f", {_read_colour(measured, number, names)}" if expected.colour else ""
            shown.setdefault(number, Evidence(f"{expected.cls.name}{colour}", mask=found.masks[number]))
    return tuple(shown.values())


def _read_colour(measured: Arrays, number: int, names: Sequence[str]) -> str:
    """Return the reference colour to which most pixels of a mask are nearest."""
    return names[int(measured["colours"][number].argmax())]
