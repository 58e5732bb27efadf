"""Papers: their tables and figures, and the runs that measure them again, as a YAML file describes them.

    title: "A study of guidance"
    models:
      sd2: {model: sd2, names: [SD 2], seconds: 2}
      dream: {names: [Dream], because: its weights are not public}
    runs:
      main: {models: [sd2, dream], recipe: {metrics: tiam, prompts: tiam-24-2, seeds: 32}, n_prompts: 552}
    tables:
      1: {title: TIAM, cell: {run: main}, columns: {TIAM: {}, found: {score: found}}}
    figures:
      1: {title: TIAM by seed, show: [{run: main, analysis: seed scores}]}
    mini:
      models: {sd2: {model: mini, names: [mini]}}
      runs: {main: {models: [sd2], recipe: {metrics: tiam, prompts: tiam-5-2, seeds: 4}, n_prompts: 20}}

The printed values of Table 1 of `guidance.yaml` stand beside it in `guidance-1.csv` (see `printed_values`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from t2i_core.io.yaml_lines import Place

FOLDER_OF_RUN = r"\{run:([^}]+)\}"
"""Stands in recipes for the folder of another run of the paper, which is made first."""


class Described(BaseModel):
    """A part of a paper's YAML file. Numbers may stand for texts, as in `tables: {1: ...}`."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class Source(Described):
    """Where the value of a cell comes from: parts of it may be set by the table, the row and the column."""

    run: str | None = Field(None, description="The run.")
    metric: str | None = Field(None, description="Metric of the run. Default: its first.")
    judge: str | None = Field(None, description="Judge, if the run measures the metric with several.")
    model: str | None = Field(
        None, description="The model. Default: the one that the row or column is named after."
    )
    other: str | None = Field(None, description="A second model: a score is the difference from its score.")
    score: str | None = Field(None, description="Name of the score. Default: the metric's headline.")
    level: dict[str, str] | None = Field(
        None, description="Facet of that score and its level.", min_length=1, max_length=1
    )
    analysis: str | None = Field(None, description="Name of the analysis that has the value, instead of a score.")
    where: dict[str, str] = Field({}, description="Columns of the analysis and their values in the value's row.")
    value: str | None = Field(None, description="Column of the analysis. Default: the model's label.")
    spread: str | None = Field(
        None, description="Column of the analysis with the standard deviation that the paper prints after ±."
    )
    scale: float | None = Field(None, gt=0, description="Factor on the value: 100 if the paper prints percent.")
    complement: bool = Field(False, description="Take 1 - value: the share of the other side.")
    mean_of: list[str] = Field(
        [],
        description="The value is the mean of these cells: columns of the same row, or rows of the same column.",
    )
    because: str | None = Field(None, description="Why the value cannot be measured here.")

    def merge(self, over: Source) -> Source:
        """Return this source with the parts that `over` sets; conditions on rows are joined."""
        own = {name: getattr(over, name) for name in over.model_fields_set}
        return self.model_copy(update={**own, "where": {**self.where, **over.where}})


class PaperModel(Described):
    """A model of a paper."""

    model: str | None = Field(None, description="Generator, as `--model` takes it. None: none is available.")
    settings: dict[str, Any] = Field({}, description="Options of the generator.")
    names: list[str] = Field(description="Names in the paper; the first is the label in runs.", min_length=1)
    because: str | None = Field(None, description="Why no generator is available.")
    seconds: float = Field(1.0, ge=0, description="Assumed seconds for an image on one GPU; 0: images exist.")
    assumes: list[str] = Field([], description="Settings that the paper leaves open, and the ones taken.")
    differs: list[str] = Field([], description="Settings that are known to differ from the paper's.")


class PaperRun(Described):
    """A run, which several tables and figures may share."""

    models: list[str] = Field(description="Models, by their keys; [] if its metrics use no model.")
    matrix: dict[str, list[Any]] = Field({}, description="Options of each model with several values each.")
    recipe: dict[str, Any] = Field(description="Recipe of the run, without models.")
    n_prompts: int = Field(description="Number of prompts, for plans without the prompts.", gt=0)
    images_of: str | None = Field(None, description="Another run that has all its images.")
    calls: float = Field(1.0, ge=0, description="Judge calls for an image.")
    call_seconds: float = Field(0.02, ge=0, description="Assumed seconds for a call on one GPU.")
    files: dict[str, str] = Field({}, description="Files and folders that the run reads, and how to get each.")
    analyses: dict[str, dict[str, Any]] = Field({}, description="Options of metrics for the analyses alone.")
    answers: dict[str, str] = Field(
        {}, description="Files that those options name, and how to make each from the finished run."
    )
    assumes: list[str] = Field([], description="Settings that the paper leaves open, and the ones taken.")
    differs: list[str] = Field([], description="Settings that are known to differ from the paper's.")


class Show(Described):
    """An analysis that draws a figure, or a part of it."""

    run: str = Field(description="The run.")
    metric: str | None = Field(None, description="Metric of the run. Default: any that has the analysis.")
    analysis: str = Field(description="Name of the analysis. {model} stands for a model's label.")
    model: str | None = Field(None, description="Model that {model} stands for.")
    other: str | None = Field(None, description="Model that {other} stands for.")
    models: list[str] = Field([], description="Models that the analysis needs. Default: all of the run.")
    also: list[str] = Field([], description="Other runs that the options of the analysis name.")


class MiniEntry(Described):
    """Parts of an entry that the mini version replaces."""

    rows: dict[str, Source] | None = Field(None, description="Rows, instead of the paper's.")
    columns: dict[str, Source] | None = Field(None, description="Columns, instead of the paper's.")
    cell: Source = Field(Source(), description="Parts of all cells, in addition to the entry's.")
    show: list[Show] | None = Field(None, description="Analyses, instead of the entry's.")
    notes: list[str] = Field([], description="Notes printed below the mini version.")


class PaperEntry(Described):
    """A table or a figure."""

    title: str = Field(description="Its subject.")
    row_names: list[str] = Field(["row"], description="Columns of the CSV file that together name a row.")
    column_names: list[str] = Field(["column"], description="Columns of the CSV file that together name a column.")
    cell: Source = Field(Source(), description="Parts of all cells.")
    rows: dict[str, Source] = Field({}, description="Parts of the cells of each row.")
    columns: dict[str, Source] = Field({}, description="Parts of the cells of each column.")
    show: list[Show] = Field([], description="Analyses that draw the figure.")
    shown_by: str | None = Field(None, description="What shows it, if it is not made from a run.")
    notes: list[str] = Field([], description="Notes, such as misprints of the paper.")
    assumes: list[str] = Field([], description="Settings that the paper leaves open, and the ones taken.")
    mini: MiniEntry = Field(MiniEntry(), description="Differences of the mini version.")


class Side(Described):
    """Models and runs: the paper's, or those of the mini world."""

    models: dict[str, PaperModel] = Field({}, description="Models by key.")
    runs: dict[str, PaperRun] = Field({}, description="Runs by name.")

    def find_model(self, name: str) -> str | None:
        """Return the key of the model with a name in the paper; None if no model has it."""
        return next((key for key, model in self.models.items() if name in model.names), None)


class Paper(Side):
    """A paper."""

    title: str = Field(description="Title of the paper.")
    source: str = Field(description="Where it was published, and which version has these tables.")
    tables: dict[str, PaperEntry] = Field({}, description="Tables by number.")
    figures: dict[str, PaperEntry] = Field({}, description="Figures by number.")
    mini: Side = Field(Side(), description="Models and runs of the mini world, by the same keys.")
    shared: Any = Field(None, description="Anchors of YAML that other parts refer to.")

    def list_entries(self) -> Iterator[tuple[tuple[str, str], PaperEntry]]:
        """Yield the place in the file and the content of each table and figure."""
        for number, table in self.tables.items():
            yield ("tables", number), table
        for number, figure in self.figures.items():
            yield ("figures", number), figure


def list_problems(paper: Paper) -> Iterator[tuple[Place, str]]:
    """Yield each reference to a run or model that does not exist, and each entry without content."""
    sides: dict[Place, Side] = {(): paper, ("mini",): paper.mini}
    for place, side in sides.items():
        for name, run in side.runs.items():
            for key in run.models:
                if key not in side.models:
                    yield (*place, "runs", name, "models"), _name_unknown("model", key, side.models)
            if run.images_of is not None and run.images_of not in side.runs:
                yield (*place, "runs", name, "images_of"), _name_unknown("run", run.images_of, side.runs)
            for prior in re.findall(FOLDER_OF_RUN, str(run.recipe)):
                if prior not in side.runs:
                    yield (*place, "runs", name, "recipe"), _name_unknown("run", prior, side.runs)
    for name, model in paper.models.items():
        if model.model is None and not model.because:
            yield ("models", name), "a model without 'model' must say 'because'"
    for above, entry in paper.list_entries():
        if above[0] == "figures" and not entry.show and not entry.columns and entry.shown_by is None:
            yield above, "a figure must have 'show', 'columns' or 'shown_by'"
        for place, part in _list_parts(entry):
            side = paper.mini if place[:1] == ("mini",) else paper
            for field, known in (("run", side.runs), ("model", side.models), ("other", side.models)):
                wanted = getattr(part, field, None)
                if wanted is not None and wanted not in known:
                    yield (*above, *place), _name_unknown(field, wanted, known)


def _list_parts(entry: PaperEntry) -> Iterator[tuple[Place, Source | Show]]:
    """Yield the place of each source and analysis of an entry."""
    yield ("cell",), entry.cell
    yield ("mini", "cell"), entry.mini.cell
    for axis in ("rows", "columns"):
        for key, source in getattr(entry, axis).items():
            yield (axis, key), source
        for key, source in (getattr(entry.mini, axis) or {}).items():
            yield ("mini", axis, key), source
    for index, show in enumerate(entry.show):
        yield ("show", index), show
    for index, show in enumerate(entry.mini.show or []):
        yield ("mini", "show", index), show


def _name_unknown(what: str, key: str, known: Mapping[str, Any]) -> str:
    return f"{what} {key!r} is not described; known are {', '.join(known) or 'none'}"
