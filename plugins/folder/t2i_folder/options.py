"""Options of the generator `folder`."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from t2i_core.api.options import ExecutionOption, Options
from t2i_core.files.decoding_rules import MEGAPIXELS, DecodingRules, Format

TABLES = ("prompts.csv", "prompts.jsonl", "metadata.jsonl", "metadata.csv")
"""The tables that are looked for, in this order."""

SUFFIXES: dict[Format, tuple[str, ...]] = {
    "PNG": (".png",), "JPEG": (".jpg", ".jpeg"), "WEBP": (".webp",), "GIF": (".gif",), "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"), "PPM": (".ppm", ".pgm", ".pbm"), "JPEG2000": (".jp2", ".j2k"),
}  # fmt: skip
"""Endings of the files of each format."""

PLACES = {"{id}": r"(?P<id>[^/]+?)", "{text}": r"(?P<text>[^/]+?)", "{seed}": r"(?P<seed>[0-9]+)", "*": "[^/]*"}
"""What may stand in a pattern beside plain text, as regular expressions."""


class FolderOptions(Options):
    """Where the folder says which image belongs to which prompt and seed."""

    table: str | None = Field(
        None, description=f"Name of the table, CSV or JSON lines; else the first there is of {', '.join(TABLES)}."
    )
    layout: Literal["table", "parquet", "geneval", "run"] | None = Field(
        None,
        description="How the folder is laid out, where it could be taken for several: a table beside the images, "
        "tables in parquet, GenEval's numbered folders, a run of `t2i generate`; else the first there is.",
    )
    pattern: str | None = Field(
        None,
        description="In place of a table: the images' paths in the folder, with {id} or {text} of the prompt, "
        "{seed} where there are several, and * for anything (`{id}/{seed}.png`).",
    )

    # Every run looks all images up anew, so these two are no part of its identity: a run of a folder that was made
    # before they existed can be continued.
    formats: Annotated[tuple[Format, ...], ExecutionOption()] = Field(
        ("PNG", "JPEG", "WEBP"),
        min_length=1,
        description="Formats that are read, told by a file's content; files of others are failures.",
    )
    megapixels: Annotated[float, ExecutionOption()] = Field(
        MEGAPIXELS, gt=0, description="Images with more pixels than this many millions are failures."
    )

    @property
    def rules(self) -> DecodingRules:
        """Which files are decoded."""
        return DecodingRules(self.formats, self.megapixels)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of the files that are images, in lower case."""
        return tuple(suffix for name in self.formats for suffix in SUFFIXES[name])

    @model_validator(mode="after")
    def _pattern(self) -> Self:
        if sum(said is not None for said in (self.table, self.layout, self.pattern)) > 1:
            raise ValueError("table, layout and pattern exclude each other")
        if self.pattern is None:
            return self
        places = re.findall(r"\{.*?\}", self.pattern)
        if not set(places) <= set(PLACES) or len(places) > len(set(places)):
            raise ValueError("a pattern has {id}, {text} and {seed}, each once at most")
        if not {"{id}", "{text}"} & set(places):
            raise ValueError("a pattern has {id} or {text}, or no image can be told from the others")
        return self
