"""Options of the judges; imports no heavy library."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from t2i_core.api import Options
from t2i_torch_support.pair_questions import TEMPLATE, check_template

Precision = Literal["float32", "float16", "bfloat16"]


class CheckpointOptions(Options):
    """Options of every judge."""

    dtype: Literal["auto", Precision] = Field(
        "float32", description="Precision of the model; auto: bfloat16 on a GPU, float32 elsewhere."
    )
    revision: str | None = Field(
        None, description="Branch, tag or commit of the repository; a run pins and records the commit."
    )
    sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="Expected SHA-256 of the weights file; required to load a pickle.",
    )


class DetectorOptions(CheckpointOptions):
    """Options of detectors and segmenters."""

    floor: float = Field(
        0.05,
        ge=0,
        le=1,
        description="Lowest confidence of detections that are stored. Metrics apply their own thresholds.",
    )


class SegmenterOptions(DetectorOptions):
    """Options of segmenters."""

    pairs: bool = Field(
        False,
        description="Keep the 100 most probable pairs of a query and a class, as in mmdetection, not only each "
        "query's best class.",
    )


class CaptionerOptions(CheckpointOptions):
    """Options of captioners."""

    max_tokens: int = Field(50, ge=1, description="Maximum number of tokens of a caption.")
    beams: int = Field(1, ge=1, description="Number of beams; 1 is greedy search.")


class PreferenceOptions(CheckpointOptions):
    """Options of judges that compare two images."""

    dtype: Literal["auto", Precision] = Field(
        "auto", description="Precision of the model; auto: bfloat16 on a GPU, float32 elsewhere."
    )
    template: Annotated[str, AfterValidator(check_template)] = Field(
        TEMPLATE,
        description="The question, with {prompt}, {first}, {second} (the images) and {definitions}; it must ask "
        "for [[A]], [[B]], [[C]] (tie) or [[D]] (both bad).",
    )
    with_definitions: bool = Field(
        True, description="Show the definitions that come with a question, if there are any."
    )
    max_tokens: int = Field(
        512, ge=1, description="Maximum number of tokens of an answer; reasoning models need more."
    )


class RewardJudgeOptions(CheckpointOptions):
    """Options of reward models."""

    processor: str | None = Field(
        None,
        description="Repository (ORG/NAME or ORG/NAME@REVISION) or folder with the tokenizer and image processor, "
        "if the checkpoint has none.",
    )


class ImageRewardOptions(RewardJudgeOptions):
    """Options of ImageReward."""

    processor: str | None = Field(
        "google-bert/bert-base-uncased",
        description="Repository (ORG/NAME or ORG/NAME@REVISION) or folder with BERT's tokenizer.",
    )


def precision(device: str) -> Precision:
    """Return the precision that `auto` means on a type of device: bfloat16 on a GPU, float32 elsewhere."""
    return "bfloat16" if device == "cuda" else "float32"
