"""Form of a study: what is shown, what is asked about it, and which known answers fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from t2i_core.io.answers import PREFERENCE

from .questions import BETTER, MORE_DIVERSE, PROMPT, StudyQuestion, better

Controls = Literal["mismatch", "repeated"]
"""Kind of tasks with a known answer: with images of another prompt, or with a grid of one image repeated."""


@dataclass(frozen=True)
class StudyProtocol:
    """Settings of a study that apply if no option sets them.

    Attributes:
        each: Number of annotators wanted for an item before another item is started.
        pairs: Number of items of each prompt and two models; None: as many as there are images for.
        training: Number of training tasks.
        controls: One task in this many is a control; 0: no controls.
        controls_in_a_row: Number of wrong controls in a row that end an annotator's study; 0: any.
        pass_mark: Share of training tasks and of controls that must be right.
    """

    each: int = 1
    pairs: int | None = None
    training: int = 0
    controls: int = 0
    controls_in_a_row: int = 0
    pass_mark: float = 0.8


@dataclass(frozen=True)
class StudyForm:
    """Form that annotators see, with its questions.

    Attributes:
        questions: The questions, each with another name.
        sides: 1 to show one model's images, 2 to compare two models.
        grid: Number of images on each side.
        show_prompt: Whether the prompt is shown.
        heading: Heading above several questions.
        controls: How tasks with a known answer are made; None if they come from a file.
        known: File of tasks with a known answer; None for none.
        instructions: Markdown file with instructions; None for none.
        protocol: How it is asked.
    """

    questions: tuple[StudyQuestion, ...]
    sides: Literal[1, 2] = 1
    grid: int = 1
    show_prompt: bool = True
    heading: str = ""
    controls: Controls | None = None
    known: Path | None = None
    instructions: Path | None = None
    protocol: StudyProtocol = StudyProtocol()

    @property
    def shows_prompt(self) -> bool:
        """True if annotators can read the prompt, above the images or in a question."""
        return self.show_prompt or any(PROMPT in question.text for question in self.questions)

    @property
    def title(self) -> str:
        """The heading, or a question if it has no heading."""
        return self.heading or f"What do you see in {'this image' if self.grid == 1 else 'these images'}?"


def find_controls(sides: int, grid: int, questions: tuple[StudyQuestion, ...], prompt: bool) -> Controls | None:
    """Return how tasks with a known answer can be made for a form; None if no way fits it.

    Args:
        sides: Number of sides.
        grid: Number of images on each.
        questions: The questions.
        prompt: Whether annotators can read the prompt.
    """
    if sides == 2:
        if [question.name for question in questions] != [PREFERENCE]:
            return None
        return "repeated" if grid > 1 else "mismatch" if prompt else None
    return "mismatch" if prompt and any(question.mismatch for question in questions) else None


def compare_models(text: str = "", grid: int = 1) -> StudyForm:
    """Return the form that shows two images, or two grids, and asks which is better."""
    questions = better(text or (BETTER if grid == 1 else MORE_DIVERSE))
    return StudyForm(questions, 2, grid, controls=find_controls(2, grid, questions, True))


def describe(question: StudyQuestion) -> dict[str, Any]:
    """Return a question as the file of answers stores it."""
    return {
        "name": question.name,
        "text": question.text,
        "choices": [choice.value for choice in question.choices],
        "only_if": question.only_if and list(question.only_if),
    }
