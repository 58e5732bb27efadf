"""Options of the generator `folder`."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, model_validator
from t2i_core.options import Options

TABLES = ("prompts.csv", "prompts.jsonl", "metadata.jsonl", "metadata.csv")
"""The tables that are looked for, in this order."""

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
"""Endings of the files that are images."""

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
