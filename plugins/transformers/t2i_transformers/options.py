"""Options of the judges. Imports nothing heavy."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from t2i_core import Options

TEMPLATE = """\
Two text-to-image models were given the same prompt. Which of their images is better?

Judge first whether the image shows the main concept of the prompt and follows the prompt, then how faithful its \
details are and how good an image it is. Be impartial: neither the order in which the images are shown nor their \
size says anything about them.

Prompt: {prompt}
{definitions}
Image A:
{first}
Image B:
{second}
Compare the images in a few sentences. Then end with a line that holds your verdict alone: [[A]] if image A is \
better, [[B]] if image B is better, [[C]] if they are equally good, [[D]] if both are bad."""
"""What a model is asked by default: first reasons, then one of four verdicts."""

PLACES = ("prompt", "definitions", "first", "second")
"""What may stand in braces in a template: the prompt, the definitions if there are any, the two images."""

Precision = Literal["float32", "float16", "bfloat16"]


def _template(text: str) -> str:
    found = re.findall(rf"\{{({'|'.join(PLACES)})\}}", text)
    if sorted(found) not in (["first", "prompt", "second"], ["definitions", "first", "prompt", "second"]):
        raise ValueError("want {prompt}, {first} and {second} once each, and {definitions} once at most")
    if found.index("first") > found.index("second"):
        raise ValueError("{first} must come before {second}: images are shown in the order asked for")
    if not all(f"[[{letter}]]" in text for letter in "ABCD"):
        raise ValueError("it must ask for a verdict: [[A]], [[B]], [[C]] for a tie, [[D]] where both are bad")
    return text


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
    template: Annotated[str, AfterValidator(_template)] = Field(
        TEMPLATE,
        description="The question, with {prompt}, {first}, {second} (the images) and {definitions}; it must ask "
        "for [[A]], [[B]], [[C]] (tie) or [[D]] (both bad).",
    )
    with_definitions: bool = Field(
        True, description="Show the definitions that a question comes with, if it does."
    )
    max_tokens: int = Field(512, ge=1, description="Most tokens of an answer; reasoning models need more.")


class RewardOptions(CheckpointOptions):
    """What rewards take beyond."""

    processor: str | None = Field(
        None,
        description="Repository (ORG/NAME or ORG/NAME@REVISION) or folder with tokenizer and image processor, "
        "where the checkpoint comes without.",
    )
