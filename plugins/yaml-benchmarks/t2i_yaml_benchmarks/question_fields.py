"""The fields of a benchmark's questions, by kind, each with its type and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from t2i_yaml_benchmarks.field_types import YES_NO, Count, Number, Text, Texts, check_scene, read_list

KINDS = ("text", "detect", "classify", "reward")
"""The field that says of what kind a question is, by kind."""
CAPABILITY = {"text": "answer", "detect": "detect", "classify": "classify", "reward": "reward"}
"""The capability that answers each kind of question."""


class BenchmarkSection(BaseModel):
    """Base of all parts: unknown fields are mistakes, and `true` is not a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class BaseQuestion(BenchmarkSection):
    """Fields of all kinds of questions.

    Attributes:
        kind: The kind, one of `KINDS`.
        filled: Fields with texts in which `{prompt}` and other fields of a prompt stand for their values.
    """

    kind: ClassVar[str]
    filled: ClassVar[tuple[str, ...]]

    id: Text | None = Field(None, description="Its name among the questions of a prompt. Default: its number.")
    parents: Texts = Field(
        (),
        description="Ids of questions without whose right answers this one counts its lowest value (0, or the "
        "lowest of a rating's values), whatever its answer. Rewards have none.",
    )
    category: str = Field("", description="What it asks about; the score of each category is reported, too.")
    subcategory: str = Field("", description="The finer category, for readers.")
    weight: Number = Field(1.0, gt=0, description="Its weight among the questions of its prompt.")

    @property
    def is_decided(self) -> bool:
        """True if its answer is right or wrong, so that its value is 1 or 0."""
        return True

    @property
    def low(self) -> float | None:
        """The lowest value; None if there is no lowest."""
        return 0.0

    @property
    def high(self) -> float | None:
        """The highest value; None if there is no highest."""
        return 1.0

    def list_texts(self) -> list[tuple[str, str]]:
        """Return the texts of the fields `filled`, each with its field."""
        texts = ((name, read_list(getattr(self, name)) or ()) for name in self.filled)
        return [(name, text) for name, own in texts for text in own]

    def fill(self, fields: Mapping[str, str]) -> Self:
        """Return the question about one prompt.

        Args:
            fields: The prompt's fields as text, by name.

        Raises:
            ValidationError: If a text is then not valid, for example blank.
        """
        found: dict[str, Any] = {}
        for name in self.filled:
            value = getattr(self, name)
            if value:
                found[name] = (
                    value.format_map(fields)
                    if isinstance(value, str)
                    else tuple(v.format_map(fields) for v in value)
                )
        return type(self).model_validate({**self.model_dump(), **found}) if found else self


class AskedQuestion(BaseQuestion):
    """A question in words, for a judge of `answer`: yes or no, several choices, or a rating."""

    kind = "text"
    filled = ("text", "choices", "answer", "answers")

    text: Text = Field(description="The question; {prompt} stands for the prompt's text.")
    choices: Annotated[Texts, Field(min_length=2)] = Field(YES_NO, description="The possible answers.")
    answer: Text | None = Field(None, description="The right answer. Default for yes and no: yes.")
    answers: Texts = Field((), description="The right answers, if there are several.")
    values: tuple[Number, ...] | None = Field(
        None,
        description="For a rating, in place of a right answer: the value of each choice, in their order.",
    )
    by: Literal["choice", "probability"] = Field(
        "choice",
        description="Value of an answer: 1 for a right choice and 0 for a wrong one, or the probability that the "
        "judge gives to the right answers. Of a rating: the value of the choice, or the expected value.",
    )
    scene: dict[str, Any] | None = Field(
        None, description="Yes is true if the image shows all of this scene; for judges that compute answers."
    )

    @property
    def right(self) -> tuple[str, ...]:
        """The right answers; empty for a rating."""
        if self.values is not None:
            return ()
        return self.answers or ((self.answer,) if self.answer is not None else (YES_NO[0],))

    @property
    def is_decided(self) -> bool:
        """True if its answer is right or wrong and counts as such."""
        return self.values is None and self.by == "choice"

    @property
    def low(self) -> float | None:
        """The lowest value."""
        return 0.0 if self.values is None else min(self.values)

    @property
    def high(self) -> float | None:
        """The highest value."""
        return 1.0 if self.values is None else max(self.values)

    @model_validator(mode="after")
    def _check_answers(self) -> Self:
        if len(set(self.choices)) < len(self.choices):
            raise ValueError("choices: two are the same; delete one")
        if self.answer is not None and self.answers:
            raise ValueError("answer: there is the field answers too; delete one of them")
        if self.values is not None:
            if self.answer is not None or self.answers:
                raise ValueError("values: a rating has no right answer; delete the answer or the values")
            if len(self.values) != len(self.choices):
                raise ValueError(f"values: there must be one for each of the {len(self.choices)} choices")
            if min(self.values) == max(self.values):
                raise ValueError("values: they must differ")
        elif self.choices != YES_NO and self.answer is None and not self.answers:
            raise ValueError("answer: is missing; add it, or values for a rating")
        if wrong := next((each for each in self.right if each not in self.choices), None):
            raise ValueError(f"answer: {wrong!r} is not among the choices {', '.join(self.choices)}")
        if self.scene is not None and self.choices != YES_NO:
            raise ValueError("scene: a question about a scene must have the choices yes and no")
        if self.scene is not None:
            check_scene(self.scene)
        return self


class DetectQuestion(BaseQuestion):
    """A question about objects of a class for a judge of `detect`: is there one, or another number of them?"""

    kind = "detect"
    filled = ("detect",)

    detect: Text = Field(description="The class of the objects, as the judge calls it.")
    synset: str | None = Field(None, description="Its WordNet 3.0 synset (dog.n.01), if judges name it otherwise.")
    count: Count | None = Field(None, ge=0, description="Exactly this number.")
    at_least: Count | None = Field(
        None, ge=1, description="This number or more. Default: 1, if there is no count."
    )
    confidence: Number = Field(0.5, ge=0, le=1, description="Detections below this confidence do not count.")

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        if self.count is not None and self.at_least is not None:
            raise ValueError("at_least: there is the field count too; delete one of them")
        return self


class ClassifyQuestion(BaseQuestion):
    """A question about the image's class for a judge of `classify`; the mean over images is the class's share."""

    kind = "classify"
    filled = ("classify", "classes")

    classify: Text = Field(description="The class that the image must be taken for.")
    classes: Annotated[Texts, Field(min_length=2)] = Field(description="The classes that it is chosen from.")
    by: Literal["choice", "probability"] = Field(
        "choice", description="Value: 1 if this class is the first choice and 0 if not, or its probability."
    )

    @property
    def is_decided(self) -> bool:
        """True if it counts whether the class is the first choice."""
        return self.by == "choice"

    @model_validator(mode="after")
    def _check_classes(self) -> Self:
        if self.classify not in self.classes:
            raise ValueError(f"classify: {self.classify!r} is not among the classes {', '.join(self.classes)}")
        return self


class RewardQuestion(BaseQuestion):
    """The reward that a judge of `reward` (or the cosine of `embed`) gives to the image for a text."""

    kind = "reward"
    filled = ("reward",)

    reward: Text = Field(description='The text; "{prompt}" is the prompt.')

    @property
    def is_decided(self) -> bool:
        """False: a reward is a number on the judge's own scale."""
        return False

    @property
    def low(self) -> float | None:
        """None: rewards have no range."""
        return None

    @property
    def high(self) -> float | None:
        """None: rewards have no range."""
        return None

    @model_validator(mode="after")
    def _refuse_parents(self) -> Self:
        if self.parents:
            raise ValueError("parents: a reward has no lowest value to count when a parent is wrong; delete them")
        return self


def _read_question(value: Any) -> Any:
    """Return a text as a question with yes and no."""
    return {"text": value} if isinstance(value, str) else value


def _find_kind(value: Any) -> str:
    """Return the tag of a question's kind: that of its field, or the first if it has none."""
    if isinstance(value, BaseQuestion):
        return make_tag(value.kind)
    fields = value if isinstance(value, Mapping) else ()
    return make_tag(next((kind for kind in KINDS if kind in fields), KINDS[0]))


def make_tag(kind: str) -> str:
    """Return the name of a kind in the places of pydantic's errors, in brackets as no field is."""
    return f"<{kind}>"


Question = Annotated[
    Annotated[AskedQuestion, Tag("<text>")]
    | Annotated[DetectQuestion, Tag("<detect>")]
    | Annotated[ClassifyQuestion, Tag("<classify>")]
    | Annotated[RewardQuestion, Tag("<reward>")],
    Discriminator(_find_kind),
    BeforeValidator(
        _read_question,
        json_schema_input_type=str | AskedQuestion | DetectQuestion | ClassifyQuestion | RewardQuestion,
    ),
]


def list_other_fields(place: Sequence[str | int]) -> list[str]:
    """Return the fields that an unknown field of a question may mean; none if it is not a question's.

    Args:
        place: Its place in pydantic's errors, with the tag of the question's kind.
    """
    kinds = (AskedQuestion, DetectQuestion, ClassifyQuestion, RewardQuestion)
    for model in kinds:
        if make_tag(model.kind) in place:
            return [name for name in (*KINDS, *model.model_fields) if name != place[-1]]
    return []
