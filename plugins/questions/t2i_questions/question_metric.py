"""The base of metrics that ask the questions of prompts about each image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from t2i_core.api import (
    Detections,
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

from .judged_questions import JudgedQuestion, describe_answer, judge_by_detections, judge_questions
from .options import AnsweredQuestionOptions

NEED = "answers"
BY_DETECTIONS = Note("questions are answered by what a detector finds, from their scenes")
UNKNOWN_PARENT = Note(
    "has a question whose parent does not exist; it counts as answered wrongly, as in the published code",
    counted=True,
)


class QuestionMetric(Metric):
    """Asks the questions of a prompt about each picture of an image.

    A detector may take the place of a judge that answers, for questions with scenes.

    Attributes:
        name: The metric's name, for messages.
    """

    name: ClassVar[str]
    options: AnsweredQuestionOptions

    def __init__(self, setup: Setup[AnsweredQuestionOptions]) -> None:
        super().__init__(setup)
        by_detections = Need(
            NEED,
            "detect",
            queries=self._ask_detector,
            requires=frozenset({"colour"}),
            knows=True,
            confidence=setup.options.confidence,
        )
        self.needs = (
            Need(NEED, "answer", queries=self.ask, question="{question}", alternatives=(by_detections,)),
        )

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
        return [
            question.about(picture)
            for picture in self._list_sample_pictures(sample)
            for question in self.list_questions(sample.prompt)
        ]

    def _ask_detector(self, samples: Sequence[Sample]) -> Sequence[Query]:
        return [Query((picture,)) for picture in self._list_sample_pictures(samples[0])]

    def _list_sample_pictures(self, sample: Sample) -> list[Image]:
        if sample.image is None:
            raise ValueError("these questions are about generated images")
        return self.list_pictures(sample.image)

    def judge(self, observed: Observed) -> list[list[JudgedQuestion]] | Failure:
        """Return the questions with their answers for each picture, or the reason for a failure."""
        questions = self.list_questions(observed.prompt)
        answers = observed.all(NEED)
        if answers and isinstance(answers[0], Detections):
            judged = [judge_by_detections(questions, each, self.options.confidence) for each in answers]
        else:
            size = len(questions)
            judged = [
                judge_questions(questions, answers[start : start + size]) for start in range(0, len(answers), size)
            ]
        found = []
        for each in judged:
            if isinstance(each, Failure):
                return each
            found.append(each)
        return found

    def list_notes(self, observed: Observed) -> Iterator[Note]:
        """Yield notes on how the questions of an image were answered."""
        if isinstance(observed.all(NEED)[0], Detections):
            yield BY_DETECTIONS
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
