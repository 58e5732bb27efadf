"""Study files: the questions of a study and how it shows images, in YAML."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from t2i_core.api.errors import BadOption, UnknownName
from t2i_core.io.answers import PREFERENCE
from t2i_core.io.yaml_file import find_first_fault
from t2i_core.io.yaml_lines import read_located_yaml

from .forms import Controls, StudyForm, StudyProtocol, find_controls
from .questions import NONE, PROMPT, UNKNOWN, AnswerChoice, StudyQuestion, better, number_choices

RESERVED = frozenset(
    {"task", "form", "part", "prompt", "left", "right", "model", "seed", "why", "rater", "question", "answer"}
)
"""Fields of the page's forms and columns of tables, which questions cannot be named after."""


def _read_word(value: Any) -> Any:
    """Return a word that YAML reads as a truth value or a number (`yes`, `3`) as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


Word = Annotated[str, BeforeValidator(_read_word), Field(pattern=r"^[^\s|]([^|\n]*[^\s|])?$", max_length=200)]
Text = Annotated[str, Field(pattern=r"\S", max_length=2000)]


class _StudyPart(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ChoiceFields(_StudyPart):
    """A choice: its stored value, and its label on the page."""

    value: Word
    label: Word | None = None


class ScaleFields(_StudyPart):
    """A rating scale of whole numbers, with words for some of them."""

    lowest: int = Field(1, alias="from", ge=0)
    highest: int = Field(5, alias="to", le=100)
    anchors: dict[int, Word] = {}

    @model_validator(mode="after")
    def _check(self) -> ScaleFields:
        if not 1 <= self.highest - self.lowest <= 10:
            raise ValueError("from and to must be 1 to 10 apart")
        if odd := next((point for point in self.anchors if not self.lowest <= point <= self.highest), None):
            raise ValueError(f"anchors: {odd} is not on the scale")
        return self


def _read_choice(value: Any) -> Any:
    return value if isinstance(value, dict) else {"value": value}


class QuestionFields(_StudyPart):
    """A question: `preference`, or one with choices or a scale."""

    name: Annotated[str, Field(pattern=r"^\S([^:|\n]*[^\s:|])?$", max_length=60)]
    text: Text
    choices: list[Annotated[ChoiceFields, BeforeValidator(_read_choice)]] = []
    scale: ScaleFields | None = None
    none: bool = False
    cannot_tell: bool = False
    only_if: dict[str, Word] = {}
    mismatch: list[Word] | None = None
    match: list[Word] | None = None
    several: bool = False
    tie: bool | None = None
    both_bad: bool | None = None

    @model_validator(mode="after")
    def _check(self) -> QuestionFields:
        if self.name in RESERVED:
            raise ValueError(f"name: {self.name!r} is reserved; rename the question")
        if self.name == PREFERENCE:
            if self.choices or self.scale or self.none or self.cannot_tell or self.several or self._known():
                raise ValueError("preference brings its own choices; only tie and both_bad can be set")
            return self
        if self.tie is not None or self.both_bad is not None:
            raise ValueError("tie and both_bad fit the question preference only")
        if bool(self.choices) == bool(self.scale):
            raise ValueError("needs either choices or a scale")
        if self.several and (self.scale or self.cannot_tell or self._known()):
            raise ValueError("several: fits choices only, without cannot_tell, mismatch and match")
        values = [choice.value for choice in self._choices()]
        if not 2 <= len(values) <= 100:
            raise ValueError(f"needs 2 to 100 choices (got {len(values)})")
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise ValueError(f"choices: {twice!r} is listed twice")
        for name, right in self._known().items():
            if odd := next((value for value in right if value not in values), None):
                raise ValueError(f"{name}: {odd!r} is not among the choices")
        if len(self.only_if) > 1:
            raise ValueError("only_if must name one question")
        return self

    def _known(self) -> dict[str, list[str]]:
        given = {"mismatch": self.mismatch, "match": self.match}
        return {name: right for name, right in given.items() if right is not None}

    def _choices(self) -> tuple[AnswerChoice, ...]:
        if self.scale:
            points = range(self.scale.lowest, self.scale.highest + 1)
            found = [
                AnswerChoice(
                    str(n), f"{n} {self.scale.anchors[n]}" if n in self.scale.anchors else str(n), _key(n)
                )
                for n in points
            ]
            # a key of a point stays its own
            extra = [AnswerChoice(UNKNOWN.value, UNKNOWN.label, "" if self.scale.lowest == 0 else UNKNOWN.key)]
            return (*found, *extra[: int(self.cannot_tell)])
        listed = [(choice.value, choice.label or choice.value) for choice in self.choices]
        listed += [(NONE.value, NONE.label)] * self.none + [(UNKNOWN.value, UNKNOWN.label)] * self.cannot_tell
        return number_choices(listed)

    def make_question(self) -> StudyQuestion:
        """Return the question."""
        if self.name == PREFERENCE:
            return better(self.text, self.tie is not False, self.both_bad is not False)[0]
        choices = self._choices()
        points = [choice.value for choice in choices if choice.value != UNKNOWN.value]
        half = len(points) // 2
        known = {"mismatch": points[:half], "match": points[-half:]} if self.scale else {}
        known |= self._known()
        only_if = next(iter(self.only_if.items()), None)
        return StudyQuestion(
            self.name,
            self.text,
            choices,
            only_if,
            self.scale is not None,
            tuple(known.get("mismatch", ())),
            tuple(known.get("match", ())),
            self.several,
        )


def _key(point: int) -> str:
    return str(point) if point <= 9 else ""


class ProtocolFields(_StudyPart):
    """Settings of a study that apply if no option of the command sets them."""

    each: int = Field(StudyProtocol.each, ge=1)
    pairs: int | None = Field(StudyProtocol.pairs, ge=1)
    training: int = Field(StudyProtocol.training, ge=0)
    controls: int = Field(StudyProtocol.controls, ge=0)
    controls_in_a_row: int = Field(StudyProtocol.controls_in_a_row, ge=0)
    pass_mark: float = Field(StudyProtocol.pass_mark, ge=0, le=1)


class StudyFields(_StudyPart):
    """A study file."""

    questions: list[QuestionFields] = Field(min_length=1, max_length=30)
    sides: Literal[1, 2] = 1
    grid: int = Field(1, ge=1, le=36)
    show_prompt: bool = True
    heading: Annotated[str, Field(max_length=200)] = ""
    controls: Controls | None = None
    known: str | None = None
    instructions: str | None = None
    protocol: ProtocolFields = ProtocolFields()

    @model_validator(mode="after")
    def _check(self) -> StudyFields:
        names: dict[str, QuestionFields] = {}
        for question in self.questions:
            if question.name in names:
                raise ValueError(f"questions: {question.name!r} is listed twice")
            for other, value in question.only_if.items():
                if other not in names:
                    raise ValueError(f"questions: {question.name}: only_if: {other!r} is not an earlier question")
                if names[other].several:
                    raise ValueError(f"questions: {question.name}: only_if: {other!r} has several answers")
                if value not in {choice.value for choice in names[other].make_question().choices}:
                    raise ValueError(
                        f"questions: {question.name}: only_if: {value!r} is not an answer to {other!r}"
                    )
            names[question.name] = question
        if PREFERENCE in names and self.sides == 1:
            raise ValueError("sides: the question preference needs 2 sides")
        return self


def read_study(path: Path) -> StudyForm:
    """Read a study file.

    Paths in it are relative to its folder.

    Raises:
        BadOption: If the file cannot be read or a field is not valid. The message names file and field.
    """
    data = read_located_yaml(path, BadOption, "the questions of a study").data
    try:
        fields = StudyFields.model_validate(data)
    except ValidationError as error:
        raise BadOption(f"{path}: {find_first_fault(error)}") from None
    questions = tuple(question.make_question() for question in fields.questions)
    prompt = fields.show_prompt or any(PROMPT in question.text for question in questions)
    controls = fields.controls
    fitting = _list_controls(fields.sides, fields.grid, questions, prompt)
    if controls is not None and controls not in fitting:
        raise BadOption(f"{path}: controls: {controls!r} does not fit these questions; {_advise(fitting)}")
    return StudyForm(
        questions,
        fields.sides,
        fields.grid,
        fields.show_prompt,
        fields.heading,
        controls or find_controls(fields.sides, fields.grid, questions, prompt),
        _beside(path, fields.known),
        _beside(path, fields.instructions),
        StudyProtocol(**fields.protocol.model_dump()),
    )


def _list_controls(sides: int, grid: int, questions: tuple[StudyQuestion, ...], prompt: bool) -> list[Controls]:
    found = {find_controls(sides, grid, questions, prompt), find_controls(sides, 1, questions, prompt)}
    return sorted(each for each in found if each is not None)


def _advise(fitting: Sequence[Controls]) -> str:
    return f"use {' or '.join(fitting)}" if fitting else "name a file of tasks with known"


def _beside(path: Path, name: str | None) -> Path | None:
    return None if name is None else path.parent / name


_PROVIDED = files(__package__) / "studies"


def list_forms() -> list[str]:
    """Return the names of the studies that come with the package."""
    names = (each.name for each in _PROVIDED.iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def read_form(name: str) -> StudyForm:
    """Read a study that comes with the package.

    Raises:
        UnknownName: If none has this name.
    """
    if name not in list_forms():
        known = ["pair", *list_forms()]  # made without a file
        raise UnknownName.among("form", name, known, f"there are {', '.join(known)}")
    with as_file(_PROVIDED / f"{name}.yaml") as path:
        return read_study(path)
