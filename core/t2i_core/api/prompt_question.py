"""Questions of a prompt: what is asked about its images, and which answers are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from .prompt import Scene

if TYPE_CHECKING:
    from .image import Image
    from .judge import Query

YES_OR_NO = ("yes", "no")


@dataclass(frozen=True)
class PromptQuestion:
    """One question about the images of a prompt.

    All question-based benchmarks are written in this form: DSG, DPG-Bench, TIFA, your own files, and questions
    that a language model wrote. Metrics decide how answers become a score.

    Attributes:
        id: Its name among the questions of its prompt, to which `parents` of other questions refer.
        text: The question in words.
        choices: The possible answers, two or more; empty for an answer in free text.
        answers: The right answers, one or more; if there are choices, among them.
        parents: Ids of questions without whose right answers this one makes no sense: "Is the cup blue?" has the
            parent "Is there a cup?".
        category: What it asks about, by which scores can be reported: `attribute`.
        subcategory: The finer category, if there is one: `attribute - color`.
        weight: Its weight among the questions of its prompt, above 0.
        scene: For a question with the choices `yes` and `no`: yes is true if the image shows all of this scene.
            Judges that compute answers use it in place of the words.

    Raises:
        TypeError: If a field has another type.
        ValueError: If a field has an impossible value.

    Example:
        >>> cup = PromptQuestion("1", "Is there a cup?", category="entity")
        >>> PromptQuestion("2", "Is the cup blue?", parents=("1",), category="attribute").answers
        ('yes',)
        >>> PromptQuestion("3", "What is in the cup?", ("tea", "milk"), ("tea",), parents=("1",)).choices
        ('tea', 'milk')
    """

    id: str
    text: str
    choices: tuple[str, ...] = YES_OR_NO
    answers: tuple[str, ...] = ("yes",)
    parents: tuple[str, ...] = ()
    category: str = ""
    subcategory: str = ""
    weight: float = 1.0
    scene: Scene | None = None

    def __post_init__(self) -> None:
        for name in ("id", "text"):
            if not isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name}: must be a text (got {value!r})")
            if not value.strip():
                raise ValueError(f"{name}: is blank; write a text")
        for name in ("category", "subcategory"):
            if not isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name}: must be a text (got {value!r})")
        for name in ("choices", "answers", "parents"):
            value = getattr(self, name)
            if not (isinstance(value, tuple) and all(isinstance(each, str) and each.strip() for each in value)):
                raise TypeError(f"{name}: must be a list of texts, none of them blank (got {value!r})")
        if len(self.choices) == 1 or len(set(self.choices)) < len(self.choices):
            raise ValueError("choices: there must be two or more different ones, or none")
        if not self.answers:
            raise ValueError("answers: is empty; write the right answer")
        if self.choices and (odd := next((a for a in self.answers if a not in self.choices), None)) is not None:
            raise ValueError(f"answers: {odd!r} is not among the choices {', '.join(self.choices)}")
        if self.id in self.parents:
            raise ValueError(f"parents: the question {self.id!r} is its own parent; delete it")
        number = isinstance(self.weight, int | float) and not isinstance(self.weight, bool)
        if not number or not isfinite(self.weight) or self.weight <= 0:
            raise ValueError(f"weight: must be a number above 0 (got {self.weight!r})")
        if self.scene is not None and self.choices != YES_OR_NO:
            raise ValueError("scene: a question about a scene must have the choices yes and no")

    def about(self, *images: Image) -> Query:
        """Return the query of the capability `answer` that asks this about an image."""
        from .capabilities.answer import VisualQuestion

        return VisualQuestion(self.text, self.choices, scene=self.scene).about(*images)

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal question; fields with defaults are left out."""
        found: dict[str, Any] = {"id": self.id, "text": self.text}
        for each in fields(self)[2:]:
            value = getattr(self, each.name)
            if value != each.default:
                found[each.name] = list(value) if isinstance(value, tuple) else value
        if self.scene is not None:
            found["scene"] = self.scene.to_json()
        return found

    @classmethod
    def from_json(cls, data: Any, number: int = 1) -> PromptQuestion:
        """Return the question of plain data: a text (a question with yes and no), or an object with the fields.

        `answer` may stand for `answers` if there is one; `choices`, `answers` and `parents` may be single texts.

        Args:
            data: The plain data.
            number: Its place among the questions, from 1: its id, if it has none.

        Raises:
            TypeError: If a field has another type.
            ValueError: If a field is missing, unknown or has an impossible value.
        """
        if isinstance(data, str):
            return cls(str(number), data)
        if not isinstance(data, Mapping):
            raise TypeError(f"must be a text or an object with 'text' (got {data!r})")
        known = [each.name for each in fields(cls)]
        if unknown := next((str(name) for name in data if name not in (*known, "answer")), None):
            raise ValueError(f"unknown field {unknown!r}; known are {', '.join(known)}")
        if "text" not in data:
            raise ValueError("text: is missing")
        if "answer" in data and "answers" in data:
            raise ValueError("answer: there is the field answers too; delete one of them")
        given = {"answers" if name == "answer" else name: value for name, value in data.items()}
        given["id"] = _read_id(given.get("id", number))
        for name in ("choices", "answers", "parents"):
            if name in given:
                given[name] = _read_texts(given[name])
        if given.get("scene") is not None:
            given["scene"] = Scene.from_json(given["scene"])
        return cls(**given)


def _read_id(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read_texts(value: Any) -> Any:
    """Return a text as a tuple of one, and a list as a tuple, in which numbers are texts."""
    values = [value] if isinstance(value, str | int) else value
    return tuple(map(_read_id, values)) if isinstance(values, list | tuple) else value


def parse_questions(data: Any) -> tuple[PromptQuestion, ...]:
    """Return the questions of a prompt from plain data.

    Args:
        data: A list of texts and objects (see `PromptQuestion.from_json`).

    Raises:
        ValueError: If a question is wrong; the message begins with its number.
    """
    if not isinstance(data, list | tuple):
        raise ValueError(f"must be a list (got {data!r})")
    found: list[PromptQuestion] = []
    for number, each in enumerate(data, 1):
        try:
            found.append(PromptQuestion.from_json(each, number))
        except KeyError as error:
            raise ValueError(f"question {number}: scene: the field {error} is missing") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"question {number}: {error}") from error
    if (twice := find_repeated_id(found)) is not None:
        raise ValueError(f"two questions have the id {twice!r}; change one")
    return tuple(found)


def find_repeated_id(questions: tuple[PromptQuestion, ...] | list[PromptQuestion]) -> str | None:
    """Return an id that two questions of a prompt have; None if all differ."""
    ids = [question.id for question in questions]
    return next((each for number, each in enumerate(ids) if each in ids[:number]), None)
