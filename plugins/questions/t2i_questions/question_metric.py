"""The base of metrics that ask the questions of prompts about each image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from t2i_core.api import (
    Failure,
    Image,
    Metric,
    Need,
    Note,
    Observed,
    Prompt,
    PromptQuestion,
    Query,
    Row,
    Sample,
    Setup,
)
from t2i_core.api.errors import BadPrompts

from .judged_questions import JudgedQuestion, describe_answer, judge_questions

NEED = "answers"
UNKNOWN_PARENT = Note(
    "has a question whose parent does not exist; it counts as answered wrongly, as in the published code",
    counted=True,
)


class QuestionMetric(Metric):
    """Asks the questions of a prompt about each picture of an image.

    Attributes:
        name: The metric's name, for messages.
    """

    name: ClassVar[str]

    def __init__(self, setup: Setup[Any]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "answer", queries=self.ask, question="{question}"),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts without questions."""
        if (bare := next((prompt for prompt in prompts if not prompt.questions), None)) is not None:
            raise BadPrompts(
                f"{self.name}: prompt {bare.id!r} has no questions; use a benchmark's files (dsg:FILE), a "
                f"file with the "
                "field `questions`, or `t2i questions`, which has a language model write them"
            )

    def list_questions(self, prompt: Prompt) -> tuple[PromptQuestion, ...]:
        """Return the questions that are asked about images of a prompt."""
        return prompt.questions

    def list_pictures(self, image: Image) -> list[Image]:
        """Return the pictures of an image that the questions are about."""
        return [image]

    def ask(self, samples: Sequence[Sample]) -> Sequence[Query]:
        """Return the queries about one image: for each picture all questions."""
        (sample,) = samples
        if sample.image is None:
            raise ValueError("these questions are about generated images")
        return [
            question.about(picture)
            for picture in self.list_pictures(sample.image)
            for question in self.list_questions(sample.prompt)
        ]

    def judge(self, observed: Observed) -> list[list[JudgedQuestion]] | Failure:
        """Return the questions with their answers for each picture, or the reason for a failure."""
        questions = self.list_questions(observed.prompt)
        answers, size = observed.all(NEED), len(questions)
        found = []
        for start in range(0, len(answers), size):
            judged = judge_questions(questions, answers[start : start + size])
            if isinstance(judged, Failure):
                return judged
            found.append(judged)
        return found

    def list_notes(self, observed: Observed) -> Iterator[Note]:
        """Yield notes on how the questions of an image were answered."""
        questions = self.list_questions(observed.prompt)
        ids = {question.id for question in questions}
        if any(parent not in ids for question in questions for parent in question.parents):
            yield UNKNOWN_PARENT


def write_answer_row(measure: str, judged: JudgedQuestion, value: float, **facets: str | int) -> Row:
    """Return the row of one question about one picture, with its category."""
    question = judged.question
    levels: Mapping[str, str] = {"category": question.category, "subcategory": question.subcategory}
    row = Row(measure, value, {"question": question.id, **facets}, because=describe_answer(judged))
    return replace(row, facets={**row.facets, **{name: level for name, level in levels.items() if level}})
