"""What people are asked: which of two images is better, or what they see in one model's images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Answers = Mapping[str, str]
"""A value for each question, by its name."""

VERDICT = "verdict"
"""The name of the one question about two images; its values are those of `Battle`."""

BETTER = "Which image is better for this prompt?"
MORE_DIVERSE = "Which set of images is better for this prompt, and more diverse?"


@dataclass(frozen=True)
class AnswerChoice:
    """An answer that can be chosen, and the key that chooses it."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class StudyQuestion:
    """A question with its choices.

    only_if: name and value of an earlier answer, without which this question is not asked
    """

    name: str
    text: str
    choices: Sequence[AnswerChoice]
    only_if: tuple[str, str] | None = None

    def asked(self, answers: Answers) -> bool:
        """Whether this question is asked of one who gave these answers."""
        return self.only_if is None or answers.get(self.only_if[0]) == self.only_if[1]


def better(text: str) -> tuple[StudyQuestion, ...]:
    """The question about two images, or two sets of them."""
    choices = (
        AnswerChoice("left", "Left is better", "1"),
        AnswerChoice("right", "Right is better", "2"),
        AnswerChoice("tie", "Equally good", "0"),
        AnswerChoice("both-bad", "Both are bad", "x"),
    )
    return (StudyQuestion(VERDICT, text, choices),)


HUMAN = "human"
YES, NO = "yes", "no"
UNKNOWN = AnswerChoice("unknown", "Cannot tell", "0")


def perception(groups: Mapping[str, Sequence[str]]) -> tuple[StudyQuestion, ...]:
    """What is seen in one model's images of a prompt: people or not, and to which category of each group most seem
    to belong.
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


def checked(questions: Sequence[StudyQuestion], given: Answers) -> dict[str, str]:
    """Return the answers to the questions that are asked.

    Raises ValueError where one of them has no answer, or none of its choices.
    """
    answers: dict[str, str] = {}
    for question in questions:
        if question.asked(answers):
            value = given.get(question.name, "")
            if value not in {choice.value for choice in question.choices}:
                raise ValueError(f"no answer to: {question.text}")
            answers[question.name] = value
    return answers
