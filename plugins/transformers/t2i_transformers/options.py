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
        description="Expected SHA-256 of the weights file; required to load a pickle, except by judges whose "
        "weights are published as pickles.",
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
        512, ge=1, description="Maximum number of tokens of an answer in free text; reasoning models need more."
    )


def check_question_template(text: str) -> str:
    """Return a user's template of a question.

    Raises:
        ValueError: If it does not contain the question once.
    """
    if text.count("{question}") != 1:
        raise ValueError("it must contain {question} once")
    return text


QuestionTemplate = Annotated[str, AfterValidator(check_question_template)]


class VisualQuestionOptions(Options):
    """Options of judges that answer questions about images."""

    yes_no_template: QuestionTemplate = Field(
        "{question} Please answer Yes or No.",
        description="How a yes/no question is asked, with {question}. Default: the words of VQAScore.",
    )
    choices_template: QuestionTemplate = Field(
        "{question}\nAnswer with one of these choices: {choices}.",
        description="How a question with other choices is asked, with {question} and, optionally, {choices}.",
    )
    text_template: QuestionTemplate = Field(
        "{question}\nAnswer in a few words.",
        description="How a question without choices is asked, with {question}.",
    )
    yes: str = Field("Yes", min_length=1, description="The answer whose probability is that of yes.")
    no: str = Field("No", min_length=1, description="The answer whose probability is that of no.")


class VisionLanguageOptions(PreferenceOptions, VisualQuestionOptions):
    """Options of vision-language models, which compare two images and answer questions."""


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


class BlipVqaOptions(CheckpointOptions):
    """Options of BLIP for questions."""

    size: int = Field(
        480,
        ge=16,
        multiple_of=16,
        description="Width and height of the images that the network sees; transformers uses 384.",
    )
    first_token: Literal["[ENC]", "[CLS]"] = Field(
        "[ENC]", description="First token of a question: [ENC], as BLIP was trained; transformers leaves [CLS]."
    )
    beams: int = Field(1, ge=1, description="Number of beams for answers in free text; 1 is greedy search.")
    max_tokens: int = Field(20, ge=1, description="Maximum number of tokens of an answer in free text.")


class ClipFlanT5Options(CheckpointOptions, VisualQuestionOptions):
    """Options of CLIP-FlanT5."""

    dtype: Literal["auto", Precision] = Field(
        "auto", description="Precision of the model; auto: bfloat16 on a GPU, float32 elsewhere."
    )
    processor: str = Field(
        "google/flan-t5-xxl",
        description="Repository (ORG/NAME or ORG/NAME@REVISION) or folder with T5's tokenizer.",
    )
    yes_no_template: QuestionTemplate = Field(
        "{question} Please answer yes or no.",
        description="How a yes/no question is asked, with {question}. Default: the words of VQAScore.",
    )
    max_tokens: int = Field(50, ge=1, description="Maximum number of tokens of an answer in free text.")


class Hpsv3Options(CheckpointOptions):
    """Options of HPSv3."""

    dtype: Literal["auto", Precision] = Field(
        "auto", description="Precision of Qwen2-VL; auto: bfloat16 on a GPU, float32 elsewhere."
    )
    processor: str = Field(
        "Qwen/Qwen2-VL-7B-Instruct",
        description="Repository (ORG/NAME or ORG/NAME@REVISION) or folder with Qwen2-VL's config and processor.",
    )
