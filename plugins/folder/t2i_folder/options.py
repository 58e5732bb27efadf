"""Options of the generator `folder`."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from t2i_core.api.options import ExecutionOption, Options
from t2i_core.files.decoding_rules import MEGAPIXELS, DecodingRules, Format

TABLES = ("prompts.csv", "prompts.jsonl", "metadata.jsonl", "metadata.csv")
"""Names of tables, in the order of the search."""

SUFFIXES: dict[str, tuple[str, ...]] = {
    "PNG": (".png",), "JPEG": (".jpg", ".jpeg"), "WEBP": (".webp",), "GIF": (".gif",), "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"), "PPM": (".ppm", ".pgm", ".pbm"), "JPEG2000": (".jp2", ".j2k"),
}  # fmt: skip
"""Suffixes of the files of each format."""

PLACES = {"{id}": r"(?P<id>[^/]+?)", "{text}": r"(?P<text>[^/]+?)", "{seed}": r"(?P<seed>[0-9]+)", "*": "[^/]*"}
"""Placeholders of patterns with their regular expressions."""


class FolderOptions(Options):
    """Options for finding the prompt and seed of each image."""

    table: str | None = Field(
        None,
        description=f"Name of the table, CSV or JSON lines. Default: the first existing of {', '.join(TABLES)}.",
    )
    layout: Literal["table", "parquet", "geneval", "run"] | None = Field(
        None,
        description="Layout of the folder: a table next to the images, parquet tables, GenEval's numbered "
        "folders, or a run of `t2i generate`. Default: the first that fits.",
    )
    pattern: str | None = Field(
        None,
        description="Pattern of the images' paths, instead of a table: {id} or {text} of the prompt, {seed}, and "
        "* for anything (`{id}/{seed}.png`).",
    )

    # Every run looks up all images again, so these two options are not part of its identity, and runs from before
    # these options existed can be continued.
    formats: Annotated[tuple[Format, ...], ExecutionOption()] = Field(
        ("PNG", "JPEG", "WEBP"),
        min_length=1,
        description="Formats to read, detected from the files' content; images of other formats are failures.",
    )
    megapixels: Annotated[float, ExecutionOption()] = Field(
        MEGAPIXELS, gt=0, description="Maximum size of an image in millions of pixels; larger images are failures."
    )

    @property
    def rules(self) -> DecodingRules:
        """The rules for decoding files."""
        return DecodingRules(self.formats, self.megapixels)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of image files, in lower case."""
        return tuple(suffix for name in self.formats for suffix in SUFFIXES[name])

    @model_validator(mode="after")
    def _pattern(self) -> Self:
        if sum(said is not None for said in (self.table, self.layout, self.pattern)) > 1:
            raise ValueError("table, layout and pattern exclude each other")
        if self.pattern is None:
            return self
        places = re.findall(r"\{.*?\}", self.pattern)
        if not set(places) <= set(PLACES) or len(places) > len(set(places)):
            raise ValueError("a pattern must have {id}, {text} and {seed} at most once each")
        if not {"{id}", "{text}"} & set(places):
            raise ValueError("a pattern must have {id} or {text}")
        return self
