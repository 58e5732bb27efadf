"""Questions that prompts carry, in core's form, as questions of a benchmark, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from t2i_core.api.prompt import Prompt, Scene
from t2i_core.api.prompt_question import PromptQuestion

from t2i_yaml_benchmarks.question_fields import AskedQuestion, Question


def read_questions(prompt: Prompt) -> tuple[Question, ...]:
    """Return the questions that a prompt carries, each with one of the choices as its answer.

    Raises:
        ValueError: If a question is to be answered in free text.
    """
    if free := next((question for question in prompt.questions if not question.choices), None):
        raise ValueError(f"question {free.id!r}: its answer is free text; give it choices")
    return tuple(
        AskedQuestion(
            id=question.id,
            text=_escape(question.text),
            choices=tuple(map(_escape, question.choices)),
            answers=tuple(map(_escape, question.answers)),
            parents=question.parents,
            category=question.category,
            subcategory=question.subcategory,
            weight=question.weight,
            scene=None if question.scene is None else question.scene.to_json(),
        )
        for question in prompt.questions
    )


def add_questions(prompt: Prompt, questions: Sequence[Question]) -> Prompt:
    """Return a prompt that carries its questions in core's form, so that other metrics can ask them.

    Ratings, and questions that are not in words, are left out.
    """
    asked = [each for each in questions if isinstance(each, AskedQuestion) and each.values is None]
    ids = {str(question.id) for question in asked}
    return replace(
        prompt,
        questions=tuple(
            PromptQuestion(
                id=str(question.id),
                text=question.text,
                choices=question.choices,
                answers=question.right,
                parents=tuple(parent for parent in question.parents if parent in ids),
                category=question.category,
                subcategory=question.subcategory,
                weight=question.weight,
                scene=None if question.scene is None else Scene.from_json(question.scene),
            )
            for question in asked
        ),
    )


def _escape(text: str) -> str:
    """Return a text in which braces stand for themselves."""
    return text.replace("{", "{{").replace("}", "}}")
