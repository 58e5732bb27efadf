"""Images of runs with their measured values, in columns, in the form that the page's script reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd
from t2i_core.api.image import Image
from t2i_core.api.metric_output import Measure
from t2i_core.api.text import escape_control_characters
from t2i_core.results.result import make_title
from t2i_core.results.run import Run
from t2i_core.results.thumbnails import CHUNK

from ..names import key_prompts, metric_titles, model_names, run_names
from .shown_image import ShownImage

MOST_LEVELS = 500
"""Maximum number of levels of a facet that is offered as a filter."""

_COLUMNS = {
    *("metric", "model", "model_a", "model_b", "prompt", "cluster", "seed", "seeds", "left_out", "measure"),
    *("value", "because", "by", "title"),
}
"""Columns of measurements.csv that are not facets."""

Place = tuple[str, str, str, int]
"""Model, prompt id, prompt text and seed."""


@dataclass
class GalleryColumn:
    """Values of a measure.

    Attributes:
        title: Title of the column.
        better: Whether higher is better; None if neither is, or it is unknown.
        values: Value of each image of the gallery, or None.
        metric: Title of the metric.
    """

    title: str
    better: bool | None
    values: list[float | None]
    metric: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the column as data for the page's script."""
        present = {value for value in self.values if value is not None}
        return {
            "title": escape_control_characters(self.title),
            "metric": escape_control_characters(self.metric),
            "better": self.better,
            "right": self.better is not None and present <= {0.0, 1.0},  # each value is a hit or a miss
            "values": [None if value is None else float(f"{value:.6g}") for value in self.values],
        }


@dataclass
class Gallery:
    """Images with their measured values.

    Attributes:
        images: The images.
        columns: Measured values.
        facets: Level of each image, by name of the facet; None if it has none.
        tables: Measurements of each run, of single images or of all images of a model for a prompt. Models have
            their names in the gallery, prompts are `ShownImage.prompt_key`, and a column `title` is added.
        titles: Titles of each run's metrics in the gallery, by those in the run.
    """

    images: list[ShownImage]
    columns: list[GalleryColumn] = field(default_factory=list)
    facets: dict[str, list[str | None]] = field(default_factory=dict)
    tables: list[pd.DataFrame] = field(default_factory=list)
    titles: list[dict[str, str]] = field(default_factory=list)

    @property
    def pictures(self) -> list[Image | None]:
        """Picture of each image."""
        return [image.picture for image in self.images]

    @cached_property
    def places(self) -> dict[tuple[str, str, int], int]:
        """Index of each image, by model, `ShownImage.prompt_key` and seed."""
        return {(each.model, each.prompt_key, each.seed): place for place, each in enumerate(self.images)}

    @cached_property
    def _by_prompt(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for place, each in enumerate(self.images):
            found.setdefault((each.model, each.prompt_key), []).append(place)
        return found

    def find_all(self, model: str, prompt_key: str, seed: int | None) -> list[int]:
        """Return the index of an image as a list, or, with seed None, those of all images of a prompt."""
        if seed is None:
            return self._by_prompt.get((model, prompt_key), [])
        place = self.places.get((model, prompt_key, seed))
        return [] if place is None else [place]

    def plain(self, damaged: Mapping[int, str]) -> dict[str, Any]:
        """Return the gallery as data for the page's script.

        Args:
            damaged: Why a picture cannot be shown, by its index.
        """
        prompts = dict.fromkeys((image.prompt, image.text) for image in self.images)
        models = dict.fromkeys(image.model for image in self.images)
        numbers = {prompt: number for number, prompt in enumerate(prompts)}
        model_numbers = {model: number for number, model in enumerate(models)}
        return {
            "chunk": CHUNK,
            "evidence": [],
            "because": [],
            "sides": 1,
            "models": [escape_control_characters(model) for model in models],
            "prompts": [[escape_control_characters(id), escape_control_characters(text)] for id, text in prompts],
            "model": [model_numbers[image.model] for image in self.images],
            "prompt": [numbers[image.prompt, image.text] for image in self.images],
            "seed": [image.seed for image in self.images],
            "why": {n: escape_control_characters(image.why) for n, image in enumerate(self.images) if image.why}
            | {n: escape_control_characters(why) for n, why in damaged.items()},
            "measures": [column.plain() for column in self.columns],
            "facets": [_encode_facet(name, levels) for name, levels in self.facets.items()],
        }


def _encode_facet(name: str, levels: Sequence[str | None]) -> dict[str, Any]:
    known = sorted({level for level in levels if level is not None}, key=_by_number)
    codes = {level: number for number, level in enumerate(known)}
    return {
        "name": escape_control_characters(name),
        "levels": [escape_control_characters(level) for level in known],
        "codes": [-1 if level is None else codes[level] for level in levels],
    }


def _by_number(level: str) -> tuple[bool, float, str]:
    try:
        return False, float(level), level
    except ValueError:
        return True, 0.0, level


def gallery(
    runs: Sequence[Run], measures: Mapping[str, Sequence[Measure]], compared: Collection[str] = ()
) -> Gallery:
    """Read the images of runs with their measured values.

    Args:
        runs: The runs.
        measures: Measures of each installed metric, the headline first.
        compared: Titles of metrics whose values are compared across the runs.
    """
    names = model_names(runs)
    found: dict[Place, ShownImage] = {}
    for run, own in zip(runs, names, strict=True):
        for image in _images(run, own):
            place = (image.model, image.prompt, image.text, image.seed)
            if place not in found or found[place].picture is None:
                found[place] = image
    shown = Gallery(list(found.values()), titles=metric_titles(runs, compared))
    shown.tables = [_table(*each) for each in zip(runs, names, shown.titles, strict=True)]
    shown.columns = list(_columns(shown.images, shown.tables, run_names(runs), measures))
    shown.facets = _facets(shown.images, shown.tables)
    return shown


def _images(run: Run, names: Mapping[str, str]) -> Iterable[ShownImage]:
    samples, images = run.samples(), run.images()
    columns = ["model", "prompt", "text", "seed", "status", "reason", "width", "height"]
    rows = samples[columns].itertuples(index=False, name=None)
    for (model, prompt, text, seed, status, reason, width, height), image in zip(rows, images, strict=True):
        why = "" if image is not None else f"{status}: {_text(reason)}"
        size = None if pd.isna(width) or pd.isna(height) else (int(width), int(height))
        yield ShownImage(names[model], prompt, _text(text), int(seed), image, why, size)


def _text(cell: Any) -> str:
    return "" if pd.isna(cell) else str(cell)


def _table(run: Run, names: Mapping[str, str], shown: Mapping[str, str]) -> pd.DataFrame:
    if "measurements.csv" not in run.manifest.files:
        return pd.DataFrame()
    table = run.measurements()
    if not {"model", "prompt"} <= set(table.columns):
        return pd.DataFrame()
    table = table.dropna(subset=["model", "prompt"])
    if "seed" not in table:
        table["seed"] = pd.array([None] * len(table), "Int64")
    known = key_prompts(run)
    keys = [known.get(id, f"{id}\0") for id in table["prompt"]]
    by = table["by"].fillna("") if "by" in table else [""] * len(table)
    titles = [make_title(metric, judges or None) for metric, judges in zip(table["metric"], by, strict=True)]
    return table.assign(model=table["model"].map(names), prompt=keys, title=[shown.get(t, t) for t in titles])


Cells = dict[tuple[str, str, int | None], Any]
"""Values by model, `ShownImage.prompt_key`, and seed (None: over all seeds)."""


def _columns(
    images: Sequence[ShownImage],
    tables: Sequence[pd.DataFrame],
    names: Sequence[str],
    measures: Mapping[str, Sequence[Measure]],
) -> Iterable[GalleryColumn]:
    """Yield a column for each measure; one for each run if runs measured the same image differently."""
    found: dict[tuple[str, str, str], dict[str, Cells]] = {}
    for table, name in zip(tables, names, strict=True):
        groups = table.groupby(["title", "metric", "measure"], sort=False) if len(table) else ()
        for (title, metric, measure), rows in groups:
            found.setdefault((str(title), str(metric), str(measure)), {})[name] = _cells(rows, "mean", "value")
    order = {(metric, m.name): n for metric, own in measures.items() for n, m in enumerate(own)}
    better = {(metric, m.name): m.higher_is_better for metric, own in measures.items() for m in own}
    titles = list(dict.fromkeys(title for title, _, _ in found))
    for key in sorted(found, key=lambda key: (titles.index(key[0]), order.get(key[1:], 0))):
        title = " ".join(dict.fromkeys((key[0], key[2]) if key[0] != key[1] else key[1:]))
        merged: Cells = {}
        agree = all(merged.setdefault(cell, v) == v for cells in found[key].values() for cell, v in cells.items())
        for name, cells in {"": merged}.items() if agree else found[key].items():
            values = [_value_of(cells, image) for image in images]
            if any(value is not None for value in values):
                yield GalleryColumn(f"{title} ({name})" if name else title, better.get(key[1:]), values, key[0])


def _cells(rows: pd.DataFrame, how: str, column: str) -> Cells:
    """Aggregate rows to one value per image, or per prompt for rows without a seed."""
    cells: Cells = {}
    for one, own in ((True, rows[rows["seed"].notna()]), (False, rows[rows["seed"].isna()])):
        keys = ["model", "prompt", "seed"] if one else ["model", "prompt"]
        values = own.groupby(keys, sort=False)[column].agg(how)
        for (model, prompt, *seed), value in zip(values.index, values, strict=True):
            cells[(model, prompt, int(seed[0]) if one else None)] = value
    return cells


def _value_of(cells: Cells, image: ShownImage) -> Any:
    found = cells.get((image.model, image.prompt_key, image.seed))
    return cells.get((image.model, image.prompt_key, None)) if found is None else found


def _facets(images: Sequence[ShownImage], tables: Sequence[pd.DataFrame]) -> dict[str, list[str | None]]:
    """Return the facets of which each image has one level. Others, such as a position, cannot filter images."""
    cells: dict[str, Cells] = {}
    several: set[str] = set()
    for table in tables:
        for name in set(table.columns) - _COLUMNS:
            rows = table.dropna(subset=[name]).drop_duplicates(["model", "prompt", "seed", name])
            if rows.duplicated(["model", "prompt", "seed"]).any():
                several.add(name)
                continue
            own = _cells(rows, "first", name)
            known = cells.setdefault(name, {})
            if any(known.setdefault(cell, level) != level for cell, level in own.items()):
                several.add(name)
    found = {}
    for name in sorted(set(cells) - several):
        levels = [_value_of(cells[name], image) for image in images]
        if 1 < len({level for level in levels if level is not None}) <= MOST_LEVELS:
            found[name] = levels
    return found
