"""The outcome of each model of a run, as trackers hold it: settings, named numbers, a few images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from t2i_core.api.digest import digest_data
from t2i_core.api.image import Image
from t2i_core.files.slug import make_slug
from t2i_core.results.number_format import format_number
from t2i_core.results.result import Result
from t2i_core.results.run import Run
from t2i_core.results.scores import make_score_table
from t2i_core.results.table_format import format_table

_DIGITS = 16
"""Hex digits of an identity."""

_HEADINGS = {
    **{"name": "measure", "lo": "low", "hi": "high"},  # the interval stands in the cell of the value
    **{"n_prompts": "number of prompts", "n_seeds": "number of seeds"},
    **{"n_ok": "measured", "n_failed": "failed", "n_missing": "missing", "n_excluded": "excluded"},
}


@dataclass(frozen=True)
class ModelOutcome:
    """The outcome of one model of a run. A tracker holds one entry for each.

    Attributes:
        label: The model's label.
        identity: The same for the same model of the same run, so that writing it again replaces the entry.
        file_name: A name for its files or folder, which no other model of the run has.
        results: Its results.
        config: What was measured: the model and its settings, prompts, seeds, and each result's signature line.
        values: Scores, their 95 % bounds and the numbers of samples, by name. What does not exist is left out.
    """

    label: str
    identity: str
    file_name: str
    results: list[Result] = field(repr=False)
    config: Mapping[str, Any]
    values: Mapping[str, float]


@dataclass(frozen=True)
class WorstImage:
    """An image with a low value.

    Attributes:
        name: Its prompt and seed.
        caption: Its value, its prompt's text, and why.
        image: The image.
    """

    name: str
    caption: str
    image: Image


def list_outcomes(run: Run) -> Iterator[ModelOutcome]:
    """Yield the outcome of each model of a run, in the run's order."""
    request = run.manifest.request
    slugs = Counter(map(make_slug, run.manifest.models))
    for label, model in run.manifest.models.items():
        results = [each for each in run.results if each.label == label]
        config = {
            "run": run.folder.name,
            "model": model.name,
            "settings": model.settings,
            "prompts": request.prompts,
            "seeds": len(request.seeds),
            "interval": request.interval,
            "noise": request.noise,
            "t2i": run.manifest.t2i,
            "started": run.manifest.started,
            "signature": {each.title: each.signature for each in results if each.signature is not None},
        }
        identity = digest_data([run.manifest.plan, label])[:_DIGITS]
        slug = make_slug(label)
        name = slug if slugs[slug] == 1 else f"{slug}-{identity}"
        yield ModelOutcome(label, identity, name, results, config, dict(_name_values(results)))


def list_worst_images(run: Run, outcome: ModelOutcome, count: int) -> Iterator[tuple[str, list[WorstImage]]]:
    """Yield the images with the worst values under each metric that measures single images.

    Args:
        run: The run.
        outcome: The model.
        count: Number of images of each metric.

    Yields:
        The metric, and the worst images first. Images that may not be read are left out.
    """
    if not count:
        return
    measured = set(run.measurements().dropna(subset=["seed", "model"])["metric"]) if outcome.results else set()
    directed = (each.metric for each in outcome.results if each.higher_is_better is not None)
    for metric in dict.fromkeys(name for name in directed if name in measured):
        gallery = run.gallery(outcome.label, metric, "worst", count)
        rows = gallery.table.to_dict("records")
        shown = [
            WorstImage(
                f"{row['prompt']}, seed {row['seed']}",
                f"{format_number(float(row['value']))}: {row['text']}"
                + (f" ({row['because']})" if row["because"] else ""),
                image,
            )
            for row, image in zip(rows, gallery.images, strict=True)
            if image is not None and image.refused is None
        ]
        if shown:
            yield metric, shown


def flatten(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested settings, under names such as `settings/size`."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value


def format_setting(value: Any) -> str:
    """Return a setting as plain text."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def format_scores(results: list[Result]) -> str:
    """Return the scores as a table in Markdown, with headings for people."""
    return format_table(make_score_table(results).rename(columns=_HEADINGS), "markdown")


def count_runs(outcomes: Sequence[ModelOutcome]) -> str:
    """Return the number of a tracker's runs, one for each model, as text."""
    return "1 run" if len(outcomes) == 1 else f"{len(outcomes)} runs"


def _name_values(results: list[Result]) -> Iterator[tuple[str, float]]:
    for result in results:
        for measure, score in result.scores.items():
            name, (low, high) = f"{result.title}/{measure}", score.ci
            for key, value in ((name, score.value), (f"{name}_low", low), (f"{name}_high", high)):
                if value is not None:
                    yield key, float(value)
        yield f"{result.title}/n_ok", float(result.n_ok)
        yield f"{result.title}/n_failed", float(result.n_failed)
