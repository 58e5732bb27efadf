"""Tables of a paper: rows by columns of cells, each with its printed value and the source of a measured one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from t2i_core.api.errors import BadOption, BadRecipe

from .paper import Paper, PaperEntry, PaperModel, Side, Source
from .printed_values import PrintedValue, read_printed_values

OWN = "the images are the user's own"
NOT_RUN = "no run measures it"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        row: Name of its row.
        column: Name of its column.
        source: Where its value comes from.
        printed: The printed value, if the paper has one.
        reason: Why nothing can be measured; None if it can.
    """

    row: str
    column: str
    source: Source
    printed: PrintedValue | None = None
    reason: str | None = None

    def list_parts(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Return row and column of each cell that a mean is of."""
        names = self.source.mean_of
        return [(self.row, name) if name in columns else (name, self.column) for name in names]

    def list_models(self) -> list[str]:
        """Return the keys of the models that the value is about."""
        return [key for key in (self.source.model, self.source.other) if key is not None]


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        rows: Names of the rows.
        columns: Names of the columns.
        cells: The cells, row by row.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = field(default=(), repr=False)

    def list_names(self, side: Side) -> list[str]:
        """Return the names that `select` knows: all rows, and the columns that are models."""
        return [*self.rows, *(name for name in self.columns if side.find_model(name) is not None)]

    def select(self, names: Sequence[str]) -> Grid:
        """Return the rows with these names, or the columns with these names."""
        rows = tuple(row for row in self.rows if row in names) or self.rows
        columns = tuple(column for column in self.columns if column in names) or self.columns
        cells = tuple(cell for cell in self.cells if cell.row in rows and cell.column in columns)
        return Grid(rows, columns, cells)


def make_grid(entry: PaperEntry, paper: Paper, values: Path | None) -> Grid:
    """Return a table with its printed values.

    Args:
        entry: The table.
        paper: Its paper.
        values: The CSV file of its printed values; None if it has none.

    Raises:
        BadRecipe: A row or column is neither described nor named after a model, or the file is not valid.
    """
    printed = [] if values is None else read_printed_values(values, entry.row_names, entry.column_names)
    rows, columns = (
        _describe_axis(
            axis, dict.fromkeys([getattr(value, axis.removesuffix("s")) for value in printed]), own, paper, values
        )
        for axis, own in (("rows", entry.rows), ("columns", entry.columns))
    )
    known = {(value.row, value.column): value for value in printed}
    cells = _settle_means(list(_cross(rows, columns, entry.cell, paper)), values)
    return Grid(
        tuple(rows), tuple(columns), tuple(replace(c, printed=known.get((c.row, c.column))) for c in cells)
    )


def make_mini_grid(entry: PaperEntry, paper: Paper, values: Path | None) -> Grid:
    """Return the same table for the mini world, with other models and without printed values.

    Rows and columns of models that no model of the mini world stands in for, and rows that no run measures, are
    left out.

    Arguments and errors are those of `make_grid`.
    """
    whole = make_grid(entry, paper, values)
    mini = entry.mini
    rows, columns = (
        dict(_replace_models(own if own is not None else {n: described.get(n, Source()) for n in names}, paper))
        for own, names, described in (
            (mini.rows, whole.rows, entry.rows),
            (mini.columns, whole.columns, entry.columns),
        )
    )
    cells = _settle_means(list(_cross(rows, columns, entry.cell.merge(mini.cell), paper.mini)), values)
    left = {cell.row for cell in cells if cell.reason != NOT_RUN} or set(rows)
    return Grid(
        tuple(row for row in rows if row in left),
        tuple(columns),
        tuple(cell for cell in cells if cell.row in left),
    )


def _settle_means(cells: Sequence[Cell], values: Path | None) -> list[Cell]:
    """Return the cells; those that are means of cells without a value say so. A mean may be of means.

    Raises:
        BadRecipe: If a mean is not of other rows or columns of the table.
    """
    rows, columns = ({getattr(cell, axis) for cell in cells} for axis in ("row", "column"))
    known = {(cell.row, cell.column): cell for cell in cells}

    def is_measured(cell: Cell) -> bool:
        parts = (known[at] for at in cell.list_parts(list(columns)) if at in known)
        return cell.reason is None and all(is_measured(part) for part in parts)

    settled = []
    for cell in cells:
        names = cell.source.mean_of
        for name in names:
            if name not in rows | columns or name in (cell.row, cell.column):
                raise BadRecipe(
                    f"{values}: {cell.column} of {cell.row} is a mean of {name!r}, which is not another row or "
                    "column"
                )
        if names and cell.reason is None and not is_measured(cell):
            cell = replace(cell, reason=f"it is the mean of {', '.join(names)}, and not all of them are measured")
        settled.append(cell)
    return settled


def replace_models(paper: Paper, grid: Grid, specs: Mapping[str, str]) -> Paper:
    """Return a paper whose models of some rows are a user's own.

    Args:
        paper: The paper.
        grid: The table.
        specs: Generators, as `--model` takes them, by row, or by column of a model.

    Raises:
        BadOption: A row is not a model's.
    """
    models = dict(paper.models)
    for name, spec in specs.items():
        cells = [cell for cell in grid.cells if name in (cell.row, cell.column)]
        keys = {cell.source.model for cell in cells}
        if len(keys) != 1 or (key := keys.pop()) is None:
            raise BadOption(f"--row {name!r}={spec}: only a row of one model takes another generator")
        own = PaperModel(model=spec, names=models[key].names, seconds=0 if spec.startswith("folder:") else 1)
        models[key] = own.model_copy(update={"differs": [OWN if own.seconds == 0 else f"the generator is {spec}"]})
    return paper.model_copy(update={"models": models})


def _describe_axis(
    axis: str, printed: Mapping[str, None], own: Mapping[str, Source], paper: Paper, values: Path | None
) -> dict[str, Source]:
    """Return the source of each row or column, in the order of the printed values. Raises BadRecipe."""
    found: dict[str, Source] = {}
    for name in printed or own:
        key = paper.find_model(name)
        if name not in own and key is None:
            raise BadRecipe(
                f"{values}: {axis.removesuffix('s')} {name!r} is neither described nor a model of the paper"
            )
        found[name] = _name_model(own.get(name, Source()), key)
    if unprinted := [name for name in own if name not in found]:
        raise BadRecipe(f"{values}: no printed values of the {axis} {', '.join(unprinted)}")
    return found


def _name_model(source: Source, key: str | None) -> Source:
    if key is None or source.model is not None or source.other is not None:
        return source
    return source.merge(Source(model=key))


def _replace_models(sources: Mapping[str, Source], paper: Paper) -> Iterator[tuple[str, Source]]:
    """Yield rows or columns of the mini version; those of models that nothing stands in for are left out."""
    taken: set[str] = set()
    for name, source in sources.items():
        key = paper.find_model(name) or paper.mini.find_model(name)
        named = _name_model(source, key)
        if named.model is None:
            yield name, named
        elif named.model in paper.mini.models:
            label = name if key is None else paper.mini.models[named.model].names[0]
            yield (f"{label} ({name})" if label in taken else label), named
            taken.add(label)


def _cross(
    rows: Mapping[str, Source], columns: Mapping[str, Source], shared: Source, side: Side
) -> Iterator[Cell]:
    for row, own in rows.items():
        for column, below in columns.items():
            source = shared.merge(own).merge(below)
            cell = Cell(row, column, source)
            yield replace(cell, reason=_find_reason(cell, side))


def _find_reason(cell: Cell, side: Side) -> str | None:
    """Return why a cell cannot be measured; None if it can."""
    if cell.source.because is not None:
        return cell.source.because
    for key in cell.list_models():
        if side.models[key].model is None:
            return side.models[key].because
    if cell.source.mean_of:
        return None
    run = side.runs.get(cell.source.run or "")
    return None if run is not None and set(cell.list_models()) <= set(run.models) else NOT_RUN
