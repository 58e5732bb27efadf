"""Options of the metrics and prompt sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from t2i_core.api import Options

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

VQASCORE_QUESTION = 'Does this figure show "{}"?'
Task = Literal["attribute", "spatial", "numeracy", "non-spatial", "complex"]
LOST_QUESTION = "lost_question"
"""Facet of the prompt of DPG-Bench's file whose first question the published code does not read: its id."""

TASKS: tuple[Task, ...] = ("attribute", "spatial", "numeracy", "non-spatial", "complex")


class DpgBenchOptions(Options):
    """Options of `dpg-bench`."""

    variant: Literal["reference", "corrected"] = Field(
        "reference",
        description="reference: the published code, with its faults (first question of its file lost, "
        "dependencies in the order of the rows, categories of the last picture of a grid). corrected: none of "
        "them.",
    )
    pictures: Literal[1, 4] = Field(
        1, description="Pictures in one image: 1, or 4 for the published grids of 2 x 2."
    )


class VqaScoreOptions(Options):
    """Options of `vqascore`."""

    question: str = Field(
        VQASCORE_QUESTION,
        description="The question, with {} in the place of the prompt; judges add that it is answered yes or no.",
    )
    normalise: bool = Field(
        False,
        description="Divide the probability of yes by that of yes and no together. The published score does not.",
    )

    @field_validator("question")
    @classmethod
    def _has_place(cls, text: str) -> str:
        if text.count("{}") != 1:
            raise ValueError("must contain {} once, in the place of the prompt")
        return text


class TifaMetricOptions(Options):
    """Options of `tifa`."""

    answers: Literal["choice", "free"] = Field(
        "choice",
        description="choice: the judge chooses among the choices. free: it answers in its own words, as "
        "published, and an embedder of texts finds the choice that is meant.",
    )


class CompBenchOptions(Options):
    """Options of `t2i-compbench`."""

    tasks: tuple[Task, ...] = Field(
        TASKS, min_length=1, description="Tasks to measure; only their judges are needed."
    )
    confidence: Share = Field(0.5, description="Lowest confidence of detections that count.")
    near: float = Field(
        150.0,
        gt=0,
        allow_inf_nan=False,
        description="Distance along one axis, in pixels of the image, below which objects are near each other.",
    )


class CompBenchPromptOptions(Options):
    """Options of the prompt source `t2i-compbench`."""

    task: Literal["auto", "color", "shape", "texture", "spatial", "numeracy", "non_spatial", "complex"] = Field(
        "auto", description="Category of the prompts; auto: from the file's name (color_val.txt)."
    )
    model: str = Field("en_core_web_sm", description="Name or folder of spaCy's model, which you install.")
    complex_spatial: Path | None = Field(
        None,
        description="Complex prompts that count as spatial. Default: complex_val_spatial.txt beside the file.",
    )
    complex_action: Path | None = Field(
        None, description="Complex prompts that count as actions. Default: complex_val_action.txt beside the file."
    )


class TableOptions(Options):
    """Options of prompt sources that also read data sets of the hub."""

    split: str | None = Field(None, description="Split of a data set of the hub; needed if it has several.")
    revision: str | None = Field(None, description="Revision of a data set of the hub.")


class GenAiBenchOptions(TableOptions):
    """Options of the prompt source `genai-bench`."""

    skills: Path | None = Field(
        None, description="File of skills. Default: genai_skills.json beside the file of prompts."
    )


class TifaPromptOptions(Options):
    """Options of the prompt source `tifa-v1`."""

    questions: Path | None = Field(
        None,
        description="File of questions. Default: tifa_v1.0_question_answers.json beside the file of captions.",
    )
