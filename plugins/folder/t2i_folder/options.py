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

PLACES = {
    "{id}": r"(?P<id>[^/]+?)", "{text}": r"(?P<text>[^/]+?)", "{image}": r"(?P<image>[0-9]+)",
    "{seed}": r"(?P<seed>[0-9]+)", "*": "[^/]*",
}  # fmt: skip
"""Placeholders of patterns with their regular expressions."""


class FolderOptions(Options):
    """Options for finding the prompt and seed of each image."""

    table: str | None = Field(
        None,
        description="Name of the table: CSV, JSON lines, parquet or tar. Default: the first existing of "
        f"{', '.join(TABLES)}.",
    )
    layout: Literal["table", "parquet", "webdataset", "geneval", "run"] | None = Field(
        None,
        description="Layout of the folder: a table next to the images, parquet tables, WebDataset's tar files, "
        "GenEval's numbered folders, or a run of `t2i generate`. Default: the first that fits.",
    )
    pattern: str | None = Field(
        None,
        description="Pattern of the images' paths, instead of a table: {id} or {text} of the prompt or the number "
        "{image} of its COCO image, {seed}, and * for anything (`{id}/{seed}.png`).",
    )

    image: str | None = Field(None, description="Column of the images' paths. Default: file, file_name or image.")
    prompt: str | None = Field(None, description="Column of the prompts' texts. Default: prompt or text.")
    id: str | None = Field(None, description="Column of the prompts' ids. Default: id, if there is one.")
    seed: str | None = Field(None, description="Column of the seeds. Default: seed, if there is one.")
    objects: str | None = Field(
        None, description="Column of the objects that an image must show. Default: objects, if there is one."
    )
    facets: tuple[str, ...] | None = Field(
        None,
        description="Columns by which scores are reported. Default: all that are not named above; in tar files "
        "none. Images that differ in one have different prompts.",
    )
    where: dict[str, str] = Field(
        default_factory=dict,
        description="Use only rows with these values, by column: `{model: sdxl}` if a table has several models.",
    )
    absolute_paths: bool = Field(
        False,
        description="Allow absolute paths and paths that lead out of the folder, for a table that you trust.",
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

    @property
    def columns(self) -> dict[str, str]:
        """The columns that the user names, by the field that they hold."""
        named = {
            "file": self.image, "prompt": self.prompt, "id": self.id, "seed": self.seed, "objects": self.objects,
        }  # fmt: skip
        return {field: column for field, column in named.items() if column is not None}

    @model_validator(mode="after")
    def _columns(self) -> Self:
        without = "geneval" if self.layout == "geneval" else "pattern" if self.pattern is not None else None
        if without and (self.columns or self.facets or self.where):
            raise ValueError(f"columns are those of a table; {without} has none")
        return self

    @model_validator(mode="after")
    def _pattern(self) -> Self:
        if sum(said is not None for said in (self.table, self.layout, self.pattern)) > 1:
            raise ValueError("table, layout and pattern exclude each other")
        if self.pattern is None:
            return self
        places = re.findall(r"\{.*?\}", self.pattern)
        if not set(places) <= set(PLACES) or len(places) > len(set(places)):
            raise ValueError("a pattern must have {id}, {text}, {image} and {seed} at most once each")
        if not {"{id}", "{text}", "{image}"} & set(places):
            raise ValueError("a pattern must have {id}, {text} or {image}")
        if "{image}" in places and len({"{id}", "{text}"} & set(places)):
            raise ValueError("a pattern with {image} finds prompts by their COCO image; leave out {id} and {text}")
        return self
