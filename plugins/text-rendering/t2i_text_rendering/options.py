"""Options of the metric."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from t2i_core.api import BoundedOptions


class TextRenderingOptions(BoundedOptions):
    """Options of `text-rendering`: where the asked text comes from, and what counts as equal."""

    facet: str | None = Field(
        None,
        description="Facet of prompts (a column of their file) that holds the asked text. Default: the attribute "
        "`text` of the scene's objects; without one, the texts in quotes.",
    )
    quotes: Literal["double", "all"] = Field(
        "double",
        description="Quotes around asked texts. double: straight and typographic double quotes, and guillemets. "
        "all: single quotes too, if no letter or digit stands outside them.",
    )
    confidence: float = Field(
        0.5, ge=0, le=1, description="Minimum confidence of a line that is read, if the judge gives confidences."
    )
    case: bool = Field(False, description="Whether upper and lower case differ.")
    punctuation: bool = Field(False, description="Whether punctuation counts.")
    spaces: bool = Field(
        True,
        description="Whether spaces count. false: an asked word is there if its characters are, wherever the "
        "judge saw spaces (for judges that join words, and scripts without spaces); needs order=reading.",
    )
    order: Literal["any", "reading"] = Field(
        "any",
        description="Order in edit-distance. any: words are matched in any order. reading: the whole text, as the "
        "judge orders its lines.",
    )

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if not self.spaces and self.order == "any":
            raise ValueError("spaces=false joins all words, so it needs order=reading")
        return self
