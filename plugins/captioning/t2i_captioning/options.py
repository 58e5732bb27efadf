"""Options of the metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from t2i_core.api import BoundedOptions


class CaptionOptions(BoundedOptions):
    """Options of every metric of captions."""

    references: Literal["all", "prompt"] = Field(
        "all",
        description="What captions are compared with. all: all `references` of the prompt, or its text if it has "
        "none. prompt: its text alone.",
    )


class SpiceOptions(CaptionOptions):
    """Options of `spice`."""

    jars: Path = Field(
        description="Folder with spice-1.0.jar, and Stanford CoreNLP 3.6.0 with its models in its subfolder lib."
    )
