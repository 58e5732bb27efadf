"""Tables of papers: the published values, and the recipes that measure them again.

Each table is a YAML file, of a plugin or a user's own:

    title: "TIAM, Table 1: ..."
    paper: "TIAM - A Metric for ..."
    decimals: 2                            # of the printed values
    recipe: {metrics: tiam, models: [{model: sd14, label: SD 1.4}], seeds: 32}
    columns:                               # one run each; a column's recipe overrides the shared one
      1 object: {recipe: {prompts: tiam-24-1}}
      found: {recipe: {prompts: tiam-24-2}, score: found}
      first: {recipe: {prompts: tiam-24-2}, score: found, level: {position: "1"}}
    published:
      SD 1.4: {1 object: 0.98}             # row by row: a model's label
    mini:                                  # the same table for the mini world, without published values
      recipe: {metrics: tiam, models: mini}
      columns: {1 object: {recipe: {prompts: tiam-5-1}}}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from t2i_core.api.errors import BadRecipe, join_clauses
from t2i_core.io.yaml_file import read_mapping


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FromAnalysis(_Strict):
    """A row in the table of an analysis, which has a column for each model."""

    name: str = Field(description="Name of the analysis.")
    row: dict[str, str] = Field(
        description="One column of the analysis and its value in the row.", min_length=1, max_length=1
    )


class Column(_Strict):
    """One column: its run, and which of the run's values it shows."""

    recipe: dict[str, Any] = Field({}, description="Recipe keys of this run, in addition to the shared recipe.")
    score: str | None = Field(None, description="Name of the score. Default: the metric's headline.")
    level: dict[str, str] | None = Field(
        None, description="Facet of that score and its level. Default: all levels.", min_length=1, max_length=1
    )
    analysis: FromAnalysis | None = Field(None, description="Value of an analysis, instead of a score.")
    decimals: int | None = Field(None, ge=0, description="Decimals of the published values. Default: the table's.")

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.level is not None and self.score is None:
            raise ValueError("a column with 'level' must also name its 'score'")
        if self.analysis is not None and self.score is not None:
            raise ValueError("a column must have 'score' or 'analysis', not both")
        return self


class Side(_Strict):
    """The runs of a table."""

    recipe: dict[str, Any] = Field({}, description="Recipe keys that all runs share.")
    columns: dict[str, Column] = Field(description="Columns by name.", min_length=1)
    notes: list[str] = Field([], description="Notes printed below the table.")

    def list_recipes(self) -> Iterator[tuple[str, Column, dict[str, Any]]]:
        """Yield each column's name, the column and the recipe of its run."""
        for name, column in self.columns.items():
            yield name, column, {**self.recipe, **column.recipe}


class PaperTable(Side):
    """A table of a paper."""

    title: str = Field(description="Paper, number of the table and its subject.")
    paper: str = Field(description="Title of the paper.")
    decimals: int = Field(ge=0, description="Decimals of the published values.")
    scale: float = Field(1.0, gt=0, description="Factor on scores: 100 if the paper prints percent.")
    published: dict[str, dict[str, float]] = Field(
        {}, description="Published values by row and column, as far as they are known."
    )
    mini: Side = Field(description="Version of the table for the mini world.")

    def find_decimals(self, column: str) -> int:
        """Return the number of decimals of a column's published values."""
        own = self.columns[column].decimals
        return self.decimals if own is None else own

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        unknown = {column for row in self.published.values() for column in row} - set(self.columns)
        if unknown:
            raise ValueError(f"published: no such column: {', '.join(sorted(unknown))}")
        return self


def read_file(path: Path, name: str) -> PaperTable:
    """Read a table from a file.

    Args:
        path: The file.
        name: Name of the table, for messages.

    Raises:
        BadRecipe: The file cannot be read or is not valid.
    """
    data = read_mapping(path, BadRecipe, "keys such as title, columns and published")
    try:
        return PaperTable.model_validate(data)
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, p['loc'])) or 'table'}: {p['msg'].removeprefix('Value error, ')}"
            for p in error.errors()
        )
        raise BadRecipe(f"table {name}: {join_clauses(problems)}") from error
