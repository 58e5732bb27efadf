"""Options of `geneval`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api.options import BoundedOptions, Options

Task = Literal["single_object", "two_object", "counting", "colors", "position", "color_attr"]

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")
"""GenEval's colours, in its order."""


class GenEvalOptions(BoundedOptions):
    """Options of `geneval`; the defaults are the authors'."""

    confidence: float = Field(0.3, ge=0, le=1, description="Objects are kept above this confidence.")
    counting_confidence: float = Field(
        0.9, ge=0, le=1, description="For the task counting, objects are kept above this confidence."
    )
    max_objects: int = Field(16, ge=1, description="Most objects of a class that are kept.")
    max_overlap: float = Field(
        1.0,
        gt=0,
        le=1,
        description="IoU from which the less confident one of two boxes of a class is dropped; 1 drops none.",
    )
    position_margin: float = Field(
        0.1,
        ge=0,
        description="Part of both boxes' sizes by which their centres must be further apart to be in a relation.",
    )
    colours: tuple[str, ...] = Field(
        COLOURS, min_length=1, description="Colours of which a crop is read as the likeliest."
    )


class PromptOptions(Options):
    """Options of the prompt sources `geneval` and `geneval-mini`."""

    tasks: tuple[Task, ...] = Field((), description="Tasks whose prompts are wanted; empty for all.")
