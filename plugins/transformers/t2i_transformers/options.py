"""Options of the judges. Imports nothing heavy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from t2i_core.api import Options
from t2i_torch_support.pair_questions import TEMPLATE, check_template

Precision = Literal["float32", "float16", "bfloat16"]


class CheckpointOptions(Options):
    """What every judge takes."""

    dtype: Literal["auto", Precision] = Field(
        "float32", description="Precision of the model; auto: bfloat16 on a GPU, float32 elsewhere."
    )
    revision: str | None = Field(
        None, description="Branch, tag or commit of the repository; a run pins and records the commit."
    )
    sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="What the file of weights must have as SHA-256; a pickle is taken only with it.",
    )


class DetectorOptions(CheckpointOptions):
    """What detectors and segmenters take beyond."""

    floor: float = Field(
        0.05, ge=0, le=1, description="What is found with less confidence is not kept; thresholds are a metric's."
    )


class CaptionerOptions(CheckpointOptions):
    """What captioners take beyond."""

    max_tokens: int = Field(50, ge=1, description="Most tokens of a caption.")
    beams: int = Field(1, ge=1, description="Beams of the search; 1 is greedy.")


class PreferenceOptions(CheckpointOptions):
    """How a model is asked which of two images is better."""

    dtype: Literal["auto", Precision] = Field(
        "auto", description="Precision of the model; auto: bfloat16 on a GPU, float32 elsewhere."
    )
    template: Annotated[str, AfterValidator(check_template)] = Field(
        TEMPLATE,
        description="The question, with {prompt}, {first}, {second} (the images) and {definitions}; it must ask "
        "for [[A]], [[B]], [[C]] (tie) or [[D]] (both bad).",
    )
    with_definitions: bool = Field(
        True, description="Show the definitions that a question comes with, if it does."
    )
    max_tokens: int = Field(512, ge=1, description="Most tokens of an answer; reasoning models need more.")


class RewardJudgeOptions(CheckpointOptions):
    """What rewards take beyond."""

    processor: str | None = Field(
        None,
        description="Repository (ORG/NAME or ORG/NAME@REVISION) or folder with tokenizer and image processor, "
        "where the checkpoint comes without.",
    )


def precision(device: str) -> Precision:
    """Return what `auto` means on a kind of device: bfloat16 on a GPU, float32 elsewhere."""
    return "bfloat16" if device == "cuda" else "float32"
