"""Values of a run's table that its images do not confirm."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadFolder
from t2i_core.api.metric import PromptMetric
from t2i_core.api.prompt import RESERVED

from .entries import BoardEntry
from .sample_checks import Cell, list_cells, select_own_rows

TOLERANCE = 1e-3
"""Values that differ by more than this, of values above 1 relatively, are reported."""


@dataclass(frozen=True)
class ChangedValue:
    """A value of a run that its judges do not confirm.

    Attributes:
        run: The run's name.
        model: Label of the model.
        metric: The metric.
        sample: The prompt's id and the seed, in words.
        measure: The measure.
        stored: The value in the run's table, in words if it has none.
        found: What verification finds instead, in words.
    """

    run: Path
    model: str
    metric: str
    sample: str
    measure: str
    stored: str
    found: str

    def describe(self) -> str:
        """Return the value in one line."""
        return (
            f"{self.run}: {self.model}, {self.sample}, {self.metric} {self.measure}: {self.stored} in the run, "
            f"{self.found}"
        )


def list_invented(entry: BoardEntry) -> Iterator[ChangedValue]:
    """Yield the values of samples that have no image in the run."""
    samples = entry.run.samples()
    ok = samples[(samples["model"] == entry.result.label) & (samples["status"] == "ok")]
    cells = list_cells(ok)
    prompts = {prompt for prompt, _ in cells} if isinstance(entry.scoring.instance, PromptMetric) else set()
    for prompt, seed, _, measure, value in _iterate_values(select_own_rows(entry.run, entry.result)):
        if prompt not in prompts if seed is None else (prompt, seed) not in cells:
            yield describe_change(
                entry, _name(prompt, seed), measure, "", _write(value), "a value without an image"
            )


def compare_rows(entry: BoardEntry, images: Collection[Cell], anew: pd.DataFrame) -> Iterator[ChangedValue]:
    """Yield the values of the drawn samples that differ."""
    own = select_own_rows(entry.run, entry.result)
    by_prompt = isinstance(entry.scoring.instance, PromptMetric)
    stored, now = (_collect_values(table, images, by_prompt) for table in (own, anew))
    if not now:
        raise BadFolder("the judges gave no value for the drawn images")
    for sample, measure in sorted(stored.keys() | now.keys()):
        pairs = zip_longest(stored.get((sample, measure), []), now.get((sample, measure), []))
        for before, after in pairs:
            if before is None or after is None or not _is_equal(before, after):
                yield describe_change(
                    entry, sample, measure, "", _write(before), f"{_write(after)} when judged anew"
                )
                break


def _collect_values(
    table: pd.DataFrame, images: Collection[Cell], by_prompt: bool
) -> dict[tuple[str, str], list[float]]:
    """Return the sorted values of the drawn samples by measure and by sample, with cluster and facets."""
    found: dict[tuple[str, str], list[float]] = {}
    prompts = {prompt for prompt, _ in images}
    for prompt, seed, facets, measure, value in _iterate_values(table):
        if (by_prompt and prompt in prompts) if seed is None else (prompt, seed) in images:
            found.setdefault((_name(prompt, seed) + facets, measure), []).append(value)
    return {key: sorted(values) for key, values in found.items()}


def _iterate_values(table: pd.DataFrame) -> Iterator[tuple[str, int | None, str, str, float]]:
    """Yield of each row prompt, seed (None of a value of a whole prompt), facets in words, measure and value."""
    if table.empty:
        return
    seeds: Iterable[Any] = table["seed"] if "seed" in table else [None] * len(table)
    facets = table[sorted(column for column in map(str, table) if column not in RESERVED or column == "cluster")]
    cells = facets.itertuples(index=False, name=None)
    columns = (table["prompt"], seeds, cells, table["measure"], table["value"])
    for prompt, seed, row, measure, value in zip(*columns, strict=True):
        named = zip(facets.columns, row, strict=True)
        words = "".join(f", {name} {cell}" for name, cell in named if pd.notna(cell) and cell != prompt)
        yield prompt, int(seed) if pd.notna(seed) else None, words, str(measure), float(value)


def _name(prompt: str, seed: int | None) -> str:
    return f"prompt {prompt!r}" if seed is None else f"prompt {prompt!r}, seed {seed}"


def _is_equal(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _write(value: float | None) -> str:
    return "no value" if value is None else f"{value:.6g}"


def describe_change(
    entry: BoardEntry, sample: str, measure: str, what: str, stored: str, found: str
) -> ChangedValue:
    """Return a change as the command tells it.

    Args:
        entry: The score.
        sample: The prompt's id and the seed, in words; empty if it is about all samples.
        measure: The measure; empty if it is about something else.
        what: What it is about then.
        stored: What the run has, in words.
        found: What verification finds instead, in words.
    """
    metric, label = entry.result.title, entry.result.label
    return ChangedValue(entry.run.path, label, metric, sample or "all samples", measure or what, stored, found)
