"""Questions for annotators, with their choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from t2i_core.io.answers import BOTH_BAD, CANNOT_TELL, LEFT, PREFERENCE, RIGHT, TIE

Answers = Mapping[str, str]
"""Chosen value by name of the question."""

BETTER = "Which image is better for this prompt?"
MORE_DIVERSE = "Which set of images is better for this prompt, and more diverse?"

YES, NO = "yes", "no"

PROMPT = "{prompt}"
"""Stands for the prompt in the text of a question."""


@dataclass(frozen=True)
class AnswerChoice:
    """An answer to choose from.

    Attributes:
        value: Stored value.
        label: Text on the page.
        key: Key that chooses it; empty for none.
    """

    value: str
    label: str
    key: str = ""


@dataclass(frozen=True)
class StudyQuestion:
    """A question with its choices.

    Attributes:
        name: Name under which answers are stored.
        text: Text on the page. `PROMPT` in it stands for the prompt.
        choices: The choices.
        only_if: Name and value of an earlier answer that this question requires; None: always asked.
        scale: Whether the choices are the points of a rating scale, from the lowest to the highest.
        mismatch: The right answers if the images show another prompt; empty if none is right then.
        match: The right answers if the images surely show their prompt; empty if none is right then.
        several: Whether several choices may be chosen. Each choice is then stored as its own question, with yes
            or no.
    """

    name: str
    text: str
    choices: Sequence[AnswerChoice]
    only_if: tuple[str, str] | None = None
    scale: bool = False
    mismatch: tuple[str, ...] = ()
    match: tuple[str, ...] = ()
    several: bool = False

    def applies(self, answers: Answers) -> bool:
        """Return whether this question is asked after these answers."""
        return self.only_if is None or answers.get(self.only_if[0]) == self.only_if[1]

    @property
    def stored(self) -> tuple[StudyQuestion, ...]:
        """The questions under which answers are stored: this one, or one for each of several choices."""
        if not self.several:
            return (self,)
        return tuple(
            StudyQuestion(
                f"{self.name}: {choice.value}",
                f"{self.text} {choice.label}",
                (AnswerChoice(YES, choice.label), AnswerChoice(NO, f"not {choice.label}")),
                self.only_if,
            )
            for choice in self.choices
        )

    def about(self, prompt: str) -> StudyQuestion:
        """Return the question with the prompt in its text."""
        return replace(self, text=self.text.replace(PROMPT, prompt)) if PROMPT in self.text else self


def better(text: str, tie: bool = True, both_bad: bool = True) -> tuple[StudyQuestion, ...]:
    """Return the question about two images, or two sets of images."""
    choices = [AnswerChoice(LEFT, "First is better", "1"), AnswerChoice(RIGHT, "Second is better", "2")]
    if tie:
        choices.append(AnswerChoice(TIE, "Equally good", "0"))
    if both_bad:
        choices.append(AnswerChoice(BOTH_BAD, "Both are bad", "x"))
    return (StudyQuestion(PREFERENCE, text, tuple(choices)),)


HUMAN = "human"
UNKNOWN = AnswerChoice(CANNOT_TELL, "Cannot tell", "0")
NONE = AnswerChoice("none", "None of these")


def number_choices(choices: Sequence[tuple[str, str]]) -> tuple[AnswerChoice, ...]:
    """Return choices from their values and labels: the first nine have a digit as key, `cannot-tell` has 0."""
    numbered = [
        AnswerChoice(value, label, str(place) if place <= 9 else "")
        for place, (value, label) in enumerate(choices, 1)
    ]
    return tuple(replace(each, key=UNKNOWN.key) if each.value == CANNOT_TELL else each for each in numbered)


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
            number_choices([*((category, category) for category in categories), (UNKNOWN.value, UNKNOWN.label)]),
            only_if=(HUMAN, YES),
        )
        for name, categories in groups.items()
    ]
    return (human, *seen)


def check_answers(questions: Sequence[StudyQuestion], given: Answers) -> dict[str, str]:
    """Return the answers to the questions that apply.

    Raises:
        ValueError: If such a question has no answer, one that is not among its choices, or "none" beside others.
    """
    answers: dict[str, str] = {}
    for question in questions:
        if question.applies(answers) and question.several:
            chosen = {part.name: given.get(part.name, NO) for part in question.stored}
            alone = f"{question.name}: {NONE.value}"
            count = sum(value == YES for value in chosen.values())
            if not count or not {*chosen.values()} <= {YES, NO} or (count > 1 and chosen.get(alone) == YES):
                raise ValueError(f"no answer to: {question.text}")
            answers.update(chosen)
        elif question.applies(answers):
            value = given.get(question.name, "")
            if value not in {choice.value for choice in question.choices}:
                raise ValueError(f"no answer to: {question.text}")
            answers[question.name] = value
    return answers
