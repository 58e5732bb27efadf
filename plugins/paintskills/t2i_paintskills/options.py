"""Options of the metrics and prompt sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from t2i_core.api.errors import did_you_mean
from t2i_core.api.options import BoundedOptions, ExecutionOption, Options
from t2i_core.io.majority import MajorityRule

from .skills import NAMES

Share = Annotated[float, Field(ge=0, le=1)]
Colours = Literal["skill", "all"]
Rule = Literal["reference", "paper"]
_CONFIDENCE = Field(
    0.8,
    description="Probability above which the most confident detection counts: 0.8 in the paper. The reference "
    "code does not check it, which is 0.",
)
_COLOURS: Colours = Field(
    "skill",
    description="Colours among which the wanted one must be the most probable. skill: PaintSkills' six, the only "
    "ones that the paper's judge knows. all: all that the judge knows, for example no colour.",
)
_RULE: Rule = Field(
    "reference",
    description="How objects are counted. reference: let n be the number of confident detections; of the n "
    "detections most likely to be the object, the requested number must be the object. paper: if N objects are "
    "requested, the N most confident detections must all be the object; surplus objects go unnoticed.",
)
_THRESHOLD = Field(
    0.7,
    description="Probability above which a detection is confident (for rule=reference and the measure number).",
)
_CLAMP = Field(
    True,
    description="Whether to use one detection if none is confident, as the reference code does (rule=reference).",
)


REFERENCE: dict[str, float | str | bool] = {
    "confidence": 0.0,
    "colours": "all",
    "rule": "reference",
    "threshold": 0.7,
    "clamp": True,
}
"""Options with which the reference code decides (commit 6d07019), which also keeps every detection."""


class SkillOptions(BoundedOptions):
    """Options of `paintskills-spatial`, which all skills share."""

    answers: Annotated[Path | None, ExecutionOption()] = Field(
        None,
        description="File of people's answers (the form yes-no or components), for analyses: a database of t2i "
        "people serve, or CSV.",
    )

    majority: Annotated[MajorityRule, ExecutionOption()] = Field(
        "most",
        description="Which answer of several people counts in analyses. most: the most frequent one; none if two "
        "are equally frequent, or if most cannot tell. half: the answer of more than half of them.",
    )
    reference: bool = Field(
        False,
        description="Whether to decide as the reference code does: confidence 0, colours all, rule reference, "
        "threshold 0.7, clamp true, and all detections, for which the judge's floor is 0.",
    )

    @model_validator(mode="after")
    def _follow_reference(self) -> Self:
        if self.reference:
            for name, value in REFERENCE.items():
                if name in self.model_fields_set and getattr(self, name) != value:
                    given, own = (json.dumps(each) for each in (getattr(self, name), value))
                    raise ValueError(
                        f"reference=true sets {name} to {own} (got {given}); leave {name} or reference out"
                    )
                if name in type(self).model_fields:
                    object.__setattr__(self, name, value)  # options are frozen once they are checked
        return self


class ConfidenceOptions(SkillOptions):
    """Options of `paintskills-object`."""

    confidence: Share = _CONFIDENCE


class ColorOptions(ConfidenceOptions):
    """Options of `paintskills-color`."""

    colours: Colours = _COLOURS


class CountOptions(SkillOptions):
    """Options of `paintskills-count`."""

    rule: Rule = _RULE
    threshold: Share = _THRESHOLD
    clamp: bool = _CLAMP


class PaintSkillsOptions(SkillOptions):
    """Options of `paintskills`: those of all four skills."""

    confidence: Share = _CONFIDENCE
    colours: Colours = _COLOURS
    rule: Rule = _RULE
    threshold: Share = _THRESHOLD
    clamp: bool = _CLAMP


class SourceOptions(Options):
    """Options of the prompt sources."""

    scenes: Path | None = Field(
        None,
        description="Scene file of PaintSkills with the texts to use, each once; seeds take the place of repeats.",
    )
    objects: tuple[str, ...] = Field(
        tuple(NAMES), min_length=1, description="Objects to include, named as in the texts (fire hydrant)."
    )

    @field_validator("objects")
    @classmethod
    def _check_objects(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in NAMES:
                raise ValueError(
                    f"PaintSkills has no object {name!r}{did_you_mean(name, NAMES)} (objects: {', '.join(NAMES)})"
                )
        return names


class RetrievalOptions(BoundedOptions):
    """Options of `r-precision`."""

    captions: Path | None = Field(
        None,
        description="File of captions from which negatives are drawn (txt, csv or jsonl, as for --prompts); by "
        "default the run's own prompts.",
    )
    candidates: int = Field(
        100, ge=2, description="Number of captions to choose from: the image's own and the negatives."
    )
    repeats: int = Field(5, ge=1, description="How often negatives are drawn; the score is the mean.")
    seed: int = Field(0, ge=0, description="Seed of the draw of negatives (not with reference=true).")
    reference: bool = Field(
        False,
        description="Whether to compute as the reference code does: vectors are not normalised, so texts of large "
        "norm win, and negatives are drawn with replacement from all captions, including the image's own.",
    )
