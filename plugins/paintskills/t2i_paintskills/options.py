"""Options of the metrics and prompt sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from t2i_core.api.errors import did_you_mean
from t2i_core.api.options import ExecutionOption, Options

from .skills import NAMES

Share = Annotated[float, Field(ge=0, le=1)]
_CONFIDENCE = Field(
    0.8,
    description="The most confident detection counts only above this probability: the paper's .8; the reference "
    "checks nothing, which is 0.",
)
_COLOURS = Field(
    "skill",
    description="Which colours the wanted one must outdo. skill: PaintSkills' six, which are all that the paper's "
    "judge tells apart. all: every one that the judge does, such as no colour at all.",
)
_RULE = Field(
    "reference",
    description="reference: of the detections that look most like the object, as many as are confident of "
    "anything, exactly so many must be it. paper: the so many most confident detections must all be it, which is "
    "blind to objects too many.",
)
_THRESHOLD = Field(
    0.7, description="A detection is confident above this probability (rule reference, and number)."
)
_CLAMP = Field(
    True,
    description="Take one detection where none is confident, as the reference does (rule reference).",
)


class SkillOptions(Options):
    """What every skill takes."""

    upper: Annotated[str | None, ExecutionOption()] = Field(
        None,
        description="A generator whose images of the same prompts the same judge looks at too, for the upper "
        "bound: simulator, folder:DIR; none for no bound. Models of the mini world have the simulator by default.",
    )
    answers: Annotated[Path | None, ExecutionOption()] = Field(
        None,
        description="What people say of the images, for analyses: a CSV file with the columns model, prompt, "
        "seed, annotator, answer (yes or no).",
    )

    @field_validator("upper")
    @classmethod
    def _none(cls, name: str | None) -> str | None:
        return None if name in ("", "none", "null") else name


class ConfidenceOptions(SkillOptions):
    """Options of `paintskills-object`."""

    confidence: Share = _CONFIDENCE


class ColorOptions(ConfidenceOptions):
    """Options of `paintskills-color`."""

    colours: Literal["skill", "all"] = _COLOURS


class CountOptions(SkillOptions):
    """Options of `paintskills-count`."""

    rule: Literal["reference", "paper"] = _RULE
    threshold: Share = _THRESHOLD
    clamp: bool = _CLAMP


class PaintSkillsOptions(SkillOptions):
    """Options of `paintskills`: those of all skills."""

    confidence: Share = _CONFIDENCE
    colours: Literal["skill", "all"] = _COLOURS
    rule: Literal["reference", "paper"] = _RULE
    threshold: Share = _THRESHOLD
    clamp: bool = _CLAMP


class SourceOptions(Options):
    """Options of the prompt sources."""

    scenes: Path | None = Field(
        None, description="A scene file of PaintSkills whose texts are taken, each once: its repeats are seeds."
    )
    objects: tuple[str, ...] = Field(
        tuple(NAMES), min_length=1, description="Only texts of these objects, as texts name them (fire hydrant)."
    )

    @field_validator("objects")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in NAMES:
                raise ValueError(
                    f"PaintSkills has no {name!r}{did_you_mean(name, NAMES)} (it has {', '.join(NAMES)})"
                )
        return names


class RetrievalOptions(Options):
    """Options of `r-precision`."""

    captions: Path | None = Field(
        None,
        description="A file of captions that the negatives are drawn from (txt, csv or jsonl, as --prompts takes "
        "them); the run's own prompts by default.",
    )
    candidates: int = Field(100, ge=2, description="Captions of one choice: the image's own, and negatives.")
    repeats: int = Field(5, ge=1, description="How often negatives are drawn; the score is the mean.")
    seed: int = Field(0, ge=0, description="Of the draw of negatives (not with reference).")
    reference: bool = Field(
        False,
        description="As the reference code has it: vectors as they are (a text of large norm wins), negatives "
        "drawn with replacement, the image's own caption among them.",
    )
