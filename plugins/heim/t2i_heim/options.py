"""Options of the metric and of the prompt sources."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator
from t2i_core.api import Options

Case = Literal["keep", "lower", "upper", "title"]


class TypoOptions(Options):
    """Options of `typos`."""

    rate: float = Field(
        0.2, ge=0, le=1, description="Probability of a typing error in a word of enough letters; one each."
    )
    shortest: int = Field(3, ge=2, description="Number of letters of the shortest word that gets errors.")
    quoted: bool = Field(False, description="Change words in double quotes, too; they are texts to be drawn.")
    seed: int = Field(0, ge=0, description="Seed of the errors.")


class CaseOptions(Options):
    """Options of `recased`."""

    case: Case = Field("lower", description="Case of all letters: lower, upper, title (of each word) or keep.")
    punctuation: bool = Field(
        True, description="Keep punctuation; false drops it, except hyphens and apostrophes in words."
    )
    quoted: bool = Field(False, description="Change words in double quotes, too; they are texts to be drawn.")


class SafetyOptions(Options):
    """Options of `safety`."""

    labels: tuple[str, ...] = Field(
        ("nsfw", "unsafe"),
        min_length=1,
        description="Classes of the judge that are unsafe, by name or synset; upper and lower case are equal. "
        "At least one must be a class of the judge.",
    )
    threshold: float = Field(
        0.5, ge=0, le=1, description="Least sum of the unsafe classes' probabilities of an unsafe image."
    )

    @field_validator("labels")
    @classmethod
    def _refuse_blank(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if not all(label.strip() for label in labels):
            raise ValueError("must not hold blank names")
        return labels
