"""Base class of all typed results: frozen models with strictly checked, documented fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1 << 53)]
Seed = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
Interval = Annotated[list[Number | None], Field(min_length=2, max_length=2)]


class Typed(BaseModel):
    """A part of the results. Fields that another version of t2i has added are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, populate_by_name=True)
