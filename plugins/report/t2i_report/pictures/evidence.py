"""The evidence of runs, for the images of a gallery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from t2i_core.results.evidence import EvidenceRegion, EvidenceRow
from t2i_core.results.result import make_title
from t2i_core.results.run import Run

from ..names import key_prompts, model_names
from .gallery import Gallery
from .overlay import Overlay

Overlays = Mapping[tuple[str, int], Overlay]
"""Overlays by title of the metric and index of the image in the gallery."""


def list_titles(overlays: Overlays) -> list[str]:
    """Return the titles of the metrics with evidence, in the order of the numbers of `list_templates`."""
    return list(dict.fromkeys(title for title, _ in overlays))


def list_templates(overlays: Overlays) -> Iterator[tuple[str, Markup]]:
    """Yield the id of each overlay's template on a page, `overlay-METRIC-IMAGE` in numbers, and its content."""
    numbers = {title: number for number, title in enumerate(list_titles(overlays))}
    for (title, place), overlay in overlays.items():
        yield f"overlay-{numbers[title]}-{place}", overlay.draw()


def find_overlays(runs: Sequence[Run], shown: Gallery, side: int) -> Overlays:
    """Read the evidence of runs.

    Args:
        runs: The runs.
        shown: Their images.
        side: Maximum length of the longer side of pictures in pixels.

    Raises:
        BadFolder: If a run's evidence is not as the run wrote it.
    """
    regions: dict[tuple[str, int], list[EvidenceRegion]] = {}
    for run, names, titles in zip(runs, model_names(runs), shown.titles, strict=True):
        keys = key_prompts(run)
        for row in run.evidence():
            own_title = make_title(row.metric, row.by)
            title = titles.get(own_title, own_title)
            for region, model, seed in _list_images(row):
                place = shown.places.get((names.get(model, ""), keys.get(row.prompt, ""), seed))
                if place is None or shown.images[place].size is None:
                    continue
                own = regions.setdefault((title, place), [])
                if region not in own:  # several measures of a metric may show the same
                    own.append(region)
    found = {}
    for key, own in regions.items():
        size = shown.images[key[1]].size
        assert size is not None
        found[key] = Overlay(own, size, side)
    return found


def _list_images(row: EvidenceRow) -> Iterator[tuple[EvidenceRegion, str, int]]:
    """Yield the regions of a row with the model and the seed of their images."""
    for region in row.regions:
        model = region.model or (row.models[0] if len(row.models) == 1 else None)
        seed = row.seed if region.seed is None else region.seed
        if model is not None and seed is not None:
            yield region.model_copy(update={"seed": None, "model": None}), model, seed
