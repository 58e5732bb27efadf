"""The list of a run's images, and of what has no value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api.failure import Failure
from ..api.plugin_info import ExistingImagesInfo
from ..api.progress import Progress
from ..files.slug import make_slug
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .job import Job
from .ledger import Ledger
from .observation import image_gone
from .sample import PlannedSample, iterate_blocks
from .sample_counts import Lost

SAMPLE_COLUMNS = (
    *("model", "prompt", "text", "seed", "noise_seed", "status", "reason"),
    *("image", "digest", "width", "height", "record"),
)
LOST_COLUMNS = ("metric", "model", "prompt", "seed", "kind", "reason")


@dataclass(frozen=True)
class Listed:
    """An image that was asked for, and what became of it.

    number:  its place among all that its model was asked for, from 1, whether they are there or not
    sample:  what was asked for
    failure: why it is not there; what follows is empty then
    path:    where it is, within the run's folder, or absolute where it existed already
    size:    its width and height in pixels
    """

    number: int
    sample: PlannedSample
    failure: Failure | None = None
    path: str = ""
    digest: str = ""
    size: tuple[int, int] = (0, 0)
    record: Mapping[str, Any] = field(default_factory=dict)


def listed(
    jobs: Sequence[Job],
    folder: RunFolder,
    places: Mapping[str, str],
    store: Store,
    ledger: Ledger,
    progress: Progress,
) -> Iterator[Listed]:
    """Yield each image that was asked for, linked into the run's folder.

    places: the name of each model's folder, by its label
    """
    asked: Counter[str] = Counter()
    with progress.task("listing samples", sum(1 for _ in _images(jobs)), "samples") as task:
        for block in iterate_blocks(_images(jobs)):
            found = store.details([sample.key for _, sample in block])
            for (number, sample), kept in zip(block, found, strict=True):
                task.advance()
                label = sample.model.label
                asked[label] += 1
                failure = ledger.images.get(sample.key)
                if failure is not None:
                    if not isinstance(sample.model.component.info, ExistingImagesInfo):
                        folder.drop_image(places[label], number, sample.seed)
                    yield Listed(asked[label], sample, failure=failure)
                    continue
                if kept is None:
                    raise image_gone(store, (sample,))
                own = store.holds(kept.image)
                place = places[label]
                try:
                    path = (
                        folder.link_image(place, number, sample.seed, kept.image) if own else str(kept.image.path)
                    )
                except FileNotFoundError as error:
                    raise image_gone(store, (sample,)) from error
                yield Listed(asked[label], sample, None, path, kept.image.digest, kept.size, kept.record)


def sample_row(image: Listed) -> tuple[Any, ...]:
    """A row of samples.csv."""
    sample = image.sample
    head = (sample.model.label, sample.prompt.id, sample.prompt.text, sample.seed, sample.noise_seed)
    if image.failure is not None:
        status = "missing" if image.failure.missing else "failed"
        return (*head, status, image.failure.reason, "", "", "", "", "")
    said = json.dumps(image.record, ensure_ascii=False) if image.record else ""
    return (*head, "ok", "", image.path, image.digest, *image.size, said)


def lost_row(metric: str, lost: Lost) -> tuple[Any, ...]:
    """A row of failures.csv."""
    return metric, " | ".join(lost.models), lost.prompt, lost.seed, lost.kind, lost.reason


def _images(jobs: Iterable[Job]) -> Iterator[tuple[int, PlannedSample]]:
    """Yield each image once, though several metrics look at it, after the number of its prompt for that model."""
    numbers: dict[str, dict[str, int]] = {}
    seen: dict[tuple[str, str], set[int]] = {}
    for job in jobs:
        for sample in job.samples() if job.generates else ():
            label, prompt = sample.model.label, sample.prompt.id
            known = numbers.setdefault(label, {})
            number = known.setdefault(prompt, len(known))
            listed = seen.setdefault((label, prompt), set())
            if sample.seed not in listed:
                listed.add(sample.seed)
                yield number, sample


def places_of(labels: Iterable[str]) -> dict[str, str]:
    """A folder name for each model, different ones for labels that look alike."""
    places: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        name, count = make_slug(label), 1
        while name in places.values():
            count += 1
            name = f"{make_slug(label)}-{count}"
        places[label] = name
    return places
