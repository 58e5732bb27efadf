"""Options of the embedders."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class ClipOptions(Options):
    """What every CLIP takes."""

    dtype: Literal["float32", "float16", "bfloat16"] = Field("float32", description="Precision of the model.")
    quick_gelu: bool | None = Field(
        None,
        description="Whether the activations are QuickGELU, as OpenAI trained with; none: as the model or its "
        "published weights say. A file of weights does not say it.",
    )
    revision: str | None = Field(
        None, description="Commit, tag or branch of the weights' repository on the hub; none: what is there."
    )
    sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="What the weights' file must have as SHA-256."
    )
