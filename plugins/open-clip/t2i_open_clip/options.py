"""Options of the embedders."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class ClipOptions(Options):
    """Options of every CLIP."""

    dtype: Literal["float32", "float16", "bfloat16"] = Field("float32", description="Precision of the model.")
    quick_gelu: bool | None = Field(
        None,
        description="Whether to use QuickGELU activations, as in OpenAI's training. Default: according to the "
        "model or its published weights; a weights file does not record it.",
    )
    revision: str | None = Field(
        None, description="Commit, tag or branch of the weights' repository. Default: the newest or local one."
    )
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the weights file.")
