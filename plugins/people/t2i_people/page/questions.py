"""Questions for annotators: which of two images is better, or what one model's images show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from t2i_core.io.answers import BOTH_BAD, CANNOT_TELL, LEFT, PREFERENCE, RIGHT, TIE

Answers = Mapping[str, str]
"""Chosen value by name of the question."""

BETTER = "Which image is better for this prompt?"
MORE_DIVERSE = "Which set of images is better for this prompt, and more diverse?"


@dataclass(frozen=True)
class AnswerChoice:
    """An answer to choose from.

    Attributes:
        value: Stored value.
        label: Text on the page.
        key: Key that chooses it.
    """

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class StudyQuestion:
    """A question with its choices.

    Attributes:
        name: Name under which answers are stored.
        text: Text on the page.
        choices: The choices.
        only_if: Name and value of an earlier answer that this question requires; None: always asked.
    """

    name: str
    text: str
    choices: Sequence[AnswerChoice]
    only_if: tuple[str, str] | None = None

    def applies(self, answers: Answers) -> bool:
        """Return whether this question is asked after these answers."""
        return self.only_if is None or answers.get(self.only_if[0]) == self.only_if[1]


def better(text: str) -> tuple[StudyQuestion, ...]:
    """Return the question about two images, or two sets of images."""
    choices = (
        AnswerChoice(LEFT, "Left is better", "1"),
        AnswerChoice(RIGHT, "Right is better", "2"),
        AnswerChoice(TIE, "Equally good", "0"),
        AnswerChoice(BOTH_BAD, "Both are bad", "x"),
    )
    return (StudyQuestion(PREFERENCE, text, choices),)


HUMAN = "human"
YES, NO = "yes", "no"
UNKNOWN = AnswerChoice(CANNOT_TELL, "Cannot tell", "0")


def perception(groups: Mapping[str, Sequence[str]]) -> tuple[StudyQuestion, ...]:
    """Return the questions about one model's images of a prompt.

    The first asks whether most images show a person. The others ask, for each group, which category the people
    appear to belong to.
    """
    human = StudyQuestion(
        HUMAN,
        "Do most of these images show a person?",
        (AnswerChoice(YES, "Yes, most show a person", "1"), AnswerChoice(NO, "No, most do not", "2")),
    )
    seen = [
        StudyQuestion(
            name,
            f"The people in most of these images appear to be, in {name}:",
            [AnswerChoice(category, category, str(key)) for key, category in enumerate(categories, 1)] + [UNKNOWN],
            only_if=(HUMAN, YES),
        )
        for name, categories in groups.items()
    ]
    return (human, *seen)


def check_answers(questions: Sequence[StudyQuestion], given: Answers) -> dict[str, str]:
    """Return the answers to the questions that apply.

    Raises:
        ValueError: If such a question has no answer, or one that is not among its choices.
    """
    answers: dict[str, str] = {}
    for question in questions:
        if question.applies(answers):
            value = given.get(question.name, "")
            if value not in {choice.value for choice in question.choices}:
                raise ValueError(f"no answer to: {question.text}")
            answers[question.name] = value
    return answers
