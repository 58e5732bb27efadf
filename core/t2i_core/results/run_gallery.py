"""A few images of a run with their values and why, for notebooks: the worst first, or the best."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Literal

from ..api.errors import BadOption, UnknownName
from ..api.image import Image
from .images import find_images
from .number_format import format_number
from .result import Result
from .run_view import show_text
from .shown_measure import choose_measure
from .thumbnails import Thumbnails

if TYPE_CHECKING:
    import pandas as pd

    from .run import Run

KEYS = ["model", "prompt", "seed"]


@dataclass(frozen=True)
class RunGallery:
    """Images of a run.

    Attributes:
        title: What is shown.
        table: One row per image: model, prompt, text, seed, value, because.
        images: The images.
        side: Maximum length of the longer side in pixels.
    """

    title: str
    table: pd.DataFrame
    images: Sequence[Image | None] = field(repr=False)
    side: int = 160

    def _repr_html_(self) -> str:
        """Return the images side by side, each with its value, its prompt and why."""
        pictures = Thumbnails(self.images, self.side)
        encoded = chain.from_iterable(part.split("\n") for part in pictures)
        shown = [self._show(data, row) for data, row in zip(encoded, self.table.to_dict("records"), strict=True)]
        style = "display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-start"
        left_out = f"<p>{show_text(pictures.left_out)}</p>" if pictures.left_out else ""
        return (
            f'<p><strong>{show_text(self.title)}</strong></p><div style="{style}">{"".join(shown)}</div>{left_out}'
        )

    def _show(self, data: str, row: Mapping[Hashable, object]) -> str:
        text = show_text(row["text"])
        picture = (
            f'<img alt="{text}" src="data:image/webp;base64,{data}" style="max-width: {self.side}px">'
            if data
            else "(no picture)"
        )
        why = f"<br><em>{show_text(row['because'])}</em>" if row["because"] else ""
        return (
            f'<figure style="margin: 0; width: {self.side}px">{picture}<figcaption style="text-align: left">'
            f"<strong>{format_number(float(str(row['value'])))}</strong> {text}{why}"
            f"<br><small>{show_text(row['model'])}, seed {show_text(row['seed'])}</small></figcaption></figure>"
        )


def make_gallery(
    run: Run,
    model: str | None = None,
    metric: str | None = None,
    order: Literal["worst", "best"] = "worst",
    limit: int = 8,
    side: int = 160,
) -> RunGallery:
    """Return the images of a run with the worst or best values, one of each prompt before a second one.

    Args:
        run: The run.
        model: Label of the model; if None, all.
        metric: The metric; if None, the first that measures single images.
        order: `worst` or `best` first. If neither is, the lowest counts as worst.
        limit: Number of images.
        side: Maximum length of the longer side in pixels.

    Raises:
        UnknownName: If the run has no such model or metric.
        BadOption: If no such metric measures single images.
    """
    _check(run, model, metric)
    measured = run.measurements()
    first: dict[str, Result] = {}  # of each metric; with several judges, that of the first
    for result in run.results:
        first.setdefault(result.metric, result)
    for result in (each for each in first.values() if metric in (None, each.metric)):
        values = _select_values(measured, result)
        if values is not None:
            break
    else:
        raise BadOption(f"{run.path}: {metric or 'no metric of this run'} measures single images one by one")
    samples = run.samples()
    table = samples[samples["status"] == "ok"].merge(values, on=KEYS)
    if model is not None:
        table = table[table["model"] == model]
    ascending = (result.higher_is_better is not False) == (order == "worst")
    table = table.sort_values("value", ascending=ascending, kind="stable")
    table = table.assign(again=table.groupby(["value", "prompt"]).cumcount())
    table = table.sort_values(["value", "again"], ascending=[ascending, True], kind="stable").head(limit)
    images = list(find_images(table, run.folder, run.images_from))
    return RunGallery(
        f"{order} of {result.headline}" + (f", {model}" if model is not None else ""),
        table[["model", "prompt", "text", "seed", "value", "because"]].reset_index(drop=True),
        images,
        side,
    )


def _check(run: Run, model: str | None, metric: str | None) -> None:
    if model is not None and model not in run.manifest.models:
        raise UnknownName.among(
            "model", model, run.manifest.models, f"the run has {', '.join(run.manifest.models)}"
        )
    known = list(dict.fromkeys(each.metric for each in run.results))
    if metric is not None and metric not in known:
        raise UnknownName.among("metric", metric, known, f"the run has {', '.join(known)}")


def _select_values(measured: pd.DataFrame, result: Result) -> pd.DataFrame | None:
    """Return the value of each image under a metric, with why; None if the metric measures no single images.

    The value is that of the headline measure, or, if no row has that, of the measure with most rows.
    """
    own = measured[measured["metric"] == result.metric]
    if not {*KEYS, "value"} <= set(own.columns):
        return None
    own = own[own["seed"].notna() & own["model"].notna()]
    if result.by is not None and "by" in own:
        own = own[own["by"] == result.by]
    if own.empty:
        return None
    rows = own[own["measure"] == choose_measure(own, next(iter(result.scores), ""))]
    values = rows.assign(value=rows["value"].astype(float)).groupby(KEYS, sort=False)["value"].mean().reset_index()
    if "because" not in rows:
        return values.assign(because="")
    why = (
        rows.dropna(subset=["because"])
        .groupby(KEYS, sort=False)["because"]
        .agg(lambda a: "; ".join(dict.fromkeys(a)))
    )
    return values.merge(why.reset_index(), on=KEYS, how="left").fillna({"because": ""})
