"""Tables of papers: what they print, and the recipes whose runs would give the same.

A YAML file each, in the folder `tables` beside this module, or a user's own:

    title: "TIAM, Table 1: ..."
    paper: "TIAM - A Metric for ..."
    decimals: 2                            # of the printed values
    recipe: {metrics: tiam, models: [{model: sd14, label: SD 1.4}], seeds: 32}
    columns:                               # each a run; what its recipe says counts over the shared one's
      1 object: {recipe: {prompts: tiam-24-1}}
      found: {recipe: {prompts: tiam-24-2}, score: found}
      first: {recipe: {prompts: tiam-24-2}, score: found, level: {position: "1"}}
    published:
      SD 1.4: {1 object: 0.98}             # row by row: a model's label
    mini:                                  # the same of the mini world, which no paper has measured
      recipe: {metrics: tiam, models: mini}
      columns: {1 object: {recipe: {prompts: tiam-5-1}}}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from t2i_core.api.errors import BadRecipe, UnknownName, join_clauses
from t2i_core.io.yaml_file import read_mapping

from .recipe import Recipe, parse_recipe

FOLDER = Path(__file__).parent / "tables"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FromAnalysis(_Strict):
    """A row of an analysis' table that has a column for each model."""

    name: str = Field(description="The analysis.")
    row: dict[str, str] = Field(description="Of one column what it says in this row.", min_length=1, max_length=1)


class Column(_Strict):
    """One column: the run that it comes from, and what of it is shown."""

    recipe: dict[str, Any] = Field({}, description="What this run asks beside the shared recipe.")
    score: str | None = Field(None, description="Name of the score. Default: the metric's headline.")
    level: dict[str, str] | None = Field(
        None, description="A facet of that score and its level. Default: all levels.", min_length=1, max_length=1
    )
    analysis: FromAnalysis | None = Field(None, description="What an analysis says, instead of a score.")
    decimals: int | None = Field(None, ge=0, description="Decimals of its printed values. Default: the table's.")

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.level is not None and self.score is None:
            raise ValueError("a level wants the name of its score")
        if self.analysis is not None and self.score is not None:
            raise ValueError("a column shows a score or what an analysis says, not both")
        return self


class Side(_Strict):
    """What is run for a table."""

    recipe: dict[str, Any] = Field({}, description="What all runs ask.")
    columns: dict[str, Column] = Field(description="Columns by name.", min_length=1)
    notes: list[str] = Field([], description="What a reader, or a run, must know.")

    def recipes(self, name: str) -> Iterator[tuple[str, Column, Recipe]]:
        """Yield each column with the recipe of its run. Raises BadRecipe."""
        for column, said in self.columns.items():
            whole = yaml.safe_dump({**self.recipe, **said.recipe}, sort_keys=False)
            read = parse_recipe(whole, f"table {name}, column {column!r}")
            lacking = next((key for key in ("models", "metrics") if not read.values.get(key)), None)
            if lacking:
                raise BadRecipe(f"{read.name}: names no {lacking.removesuffix('s')}")
            yield column, said, replace(read, lines={})  # the dump's lines mean nothing to a reader


class PaperTable(Side):
    """A table of a paper."""

    title: str = Field(description="Paper, number and what it shows.")
    paper: str = Field(description="The paper's title.")
    decimals: int = Field(ge=0, description="Decimals of the printed values.")
    scale: float = Field(
        1.0, gt=0, description="What scores are multiplied by: 100 where the paper prints percent."
    )
    published: dict[str, dict[str, float]] = Field(
        {}, description="Printed values by row and column, as far as they are known."
    )
    mini: Side = Field(description="The version of the mini world.")

    def find_decimals(self, column: str) -> int:
        """Return the decimals of a column's printed values."""
        own = self.columns[column].decimals
        return self.decimals if own is None else own

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        unknown = {column for row in self.published.values() for column in row} - set(self.columns)
        if unknown:
            raise ValueError(f"published: there is no column {', '.join(sorted(unknown))}")
        return self


def list_table_names() -> list[str]:
    """Return the names of the tables that are shipped."""
    names = [path.stem for path in FOLDER.glob("*.yaml")]
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in name.split("-")])


def read_table(name: str) -> PaperTable:
    """Read a table that is shipped, or a file. Raises UnknownName or BadRecipe."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        if name not in list_table_names():
            raise UnknownName.among("table", name, list_table_names(), "see t2i reproduce --list")
        path = FOLDER / f"{name}.yaml"
    data = read_mapping(path, BadRecipe, "keys such as title, columns and published")
    try:
        return PaperTable.model_validate(data)
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, p['loc'])) or 'table'}: {p['msg'].removeprefix('Value error, ')}"
            for p in error.errors()
        )
        raise BadRecipe(f"table {name}: {join_clauses(problems)}") from error
