"""Options of the prompt sources."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator
from t2i_core.api.options import Options


class CocoOptions(Options):
    """Options that select captions of a COCO file."""

    captions: Literal["first", "random", "all"] = Field(
        "first",
        description="Captions of an image to take: the one with the lowest id, a random one, or all.",
    )
    limit: int | None = Field(
        None, ge=1, description="Number of captions in a random sample; a larger sample contains a smaller one."
    )
    seed: int = Field(0, ge=0, description="Seed of the sample.")
    split_file: str | None = Field(
        None, description="Karpathy's dataset_coco.json, which assigns images to splits."
    )
    split: Literal["train", "restval", "val", "test"] = Field(
        "test", description="Split of split_file; test and val have 5,000 images each."
    )

    references: Path | None = Field(
        None,
        description="For a published list of one caption of each image: COCO's file of captions, or Karpathy's "
        "dataset_coco.json, whose captions of the image are the references.",
    )

    @model_validator(mode="after")
    def _split(self) -> Self:
        if self.split_file is None and "split" in self.model_fields_set and self.split != "test":
            raise ValueError("a split needs split_file, Karpathy's dataset_coco.json")
        return self


class HubOptions(Options):
    """Options that select rows and columns of a data set."""

    config: str | None = Field(None, description="Configuration of the data set, if it has several.")
    split: str | None = Field(None, description="Split; may be left out if there is only one.")
    column: str | None = Field(
        None, description="Column of the texts. Default: the first existing of prompt, text, caption."
    )
    id_column: str | None = Field(
        None,
        description="Column of the prompts' ids, texts or whole numbers. Default: split and row number; in a file "
        "of captions its column uid, if there is one.",
    )
    facets: tuple[str, ...] = Field((), description="Columns of texts or numbers by which scores are reported.")
    revision: str | None = Field(None, description="Commit, tag or branch on the hub. Default: the newest.")
    limit: int | None = Field(
        None, ge=1, description="Number of rows in a random sample; a larger sample contains a smaller one."
    )
    seed: int = Field(0, ge=0, description="Seed of the sample.")
    streaming: bool = Field(
        False, description="Read the rows over the network without storing them, for very large data sets."
    )
