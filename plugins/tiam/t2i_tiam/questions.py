"""Questions about the objects of a prompt, asked in place of a segmentation, and TIAM's decisions from answers."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.api import Failure, Query, QuestionAnswer, Sample, Scene, SceneObject, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.io.component_answers import mean_object

from .rules import Finding

QUESTION = "Is there at least one {object} in this image?"
"""The question about each object: by its class, and again with its colour if it has one."""


def ask(samples: Sequence[Sample]) -> list[Query]:
    """Return the questions about one image: is each object there, and is it there in its colour, if it has one?"""
    (sample,) = samples
    assert sample.image is not None
    assert sample.prompt.scene is not None  # see `Tiam.check`
    return [
        _write_question(expected, colour).about(sample.image)
        for expected in sample.prompt.scene.objects
        for colour in dict.fromkeys((None, expected.colour))
    ]


def _write_question(expected: SceneObject, colour: str | None) -> VisualQuestion:
    name = expected.cls.name if colour is None else f"{colour} {expected.cls.name}"
    return VisualQuestion(
        QUESTION.format(object=name),
        YES_NO,
        scene=Scene((SceneObject(expected.cls, colour),)),
        meant_by={"yes": mean_object(expected.cls.name, colour), "no": ()},
    )


def decide(objects: Sequence[SceneObject], answers: Sequence[QuestionAnswer]) -> list[Finding] | Failure:
    """Decide about each expected object of one image.

    Args:
        objects: The expected objects.
        answers: The answers to the questions that `ask` returns.

    Returns:
        One decision per expected object, in the same order; a failure if a question was left open.
    """
    if undecided := next((answer for answer in answers if answer.choice is None), None):
        return undecided.explain_no_choice()
    left = iter(answer.choice == "yes" for answer in answers)
    findings = []
    for expected in objects:
        found = next(left)
        in_colour = next(left) if expected.colour is not None else None
        findings.append(Finding(found, in_colour if found else None))
    return findings
