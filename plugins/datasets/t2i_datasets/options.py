"""Options of the prompt sources."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from t2i_core.api.options import Options


class CocoOptions(Options):
    """Which captions of a COCO file become prompts."""

    captions: Literal["first", "random", "all"] = Field(
        "first",
        description="Which captions of an image: the one of the lowest id, one drawn by the seed, or all of them.",
    )
    limit: int | None = Field(
        None, ge=1, description="So many captions, drawn by the seed; a larger sample holds every smaller one."
    )
    seed: int = Field(0, ge=0, description="Another seed draws another sample.")
    split_file: str | None = Field(
        None, description="Karpathy's dataset_coco.json, which says which images belong to which split."
    )
    split: Literal["train", "restval", "val", "test"] = Field(
        "test", description="The split of split_file to take; test and val have 5,000 images each."
    )

    @model_validator(mode="after")
    def _split(self) -> Self:
        if self.split_file is None and "split" in self.model_fields_set and self.split != "test":
            raise ValueError("a split needs split_file, Karpathy's dataset_coco.json")
        return self


class HubOptions(Options):
    """Which rows of a data set become prompts, and of which columns."""

    config: str | None = Field(None, description="The data set's configuration, where it has several.")
    split: str | None = Field(None, description="The split; it may be left out where there is one alone.")
    column: str | None = Field(
        None, description="The column of the texts; else the first there is of prompt, text, caption."
    )
    id_column: str | None = Field(
        None,
        description="The column of the prompts' ids, texts or whole numbers; else split and number of the row.",
    )
    facets: tuple[str, ...] = Field((), description="Columns that scores are broken down by: texts or numbers.")
    revision: str | None = Field(None, description="Commit, tag or branch on the hub; else the newest.")
    limit: int | None = Field(
        None, ge=1, description="So many rows, drawn by the seed; a larger sample holds every smaller one."
    )
    seed: int = Field(0, ge=0, description="Another seed draws another sample.")
    streaming: bool = Field(
        False, description="Read the rows through the network and keep nothing: for data sets that are very large."
    )
