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
from ..api.prompt import Prompt
from ..storage.run_folder import RunFolder, make_slug
from ..storage.store import Store
from .job import Failures, Job, Model, noise_seed
from .observation import gathered
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
    failure: why it is not there; what follows is empty then
    path:    where it is, within the run's folder, or absolute where it existed already
    size:    its width and height in pixels
    """

    number: int
    model: Model
    prompt: Prompt
    seed: int
    noise_seed: int
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
    failures: Failures,
    progress: Progress,
) -> Iterator[Listed]:
    """Yield each image that was asked for, linked into the run's folder.

    places: the name of each model's folder, by its label
    """
    asked: Counter[str] = Counter()
    with progress.task("listing samples", sum(1 for _ in _images(jobs)), "samples") as task:
        for number, job, model, prompt, seed in _images(jobs):
            task.advance()
            asked[model.label] += 1
            head = (asked[model.label], model, prompt, seed, noise_seed(job.noise, prompt, seed))
            found = gathered(job, (model,), prompt, seed, store, failures)
            if isinstance(found, Failure):
                if not isinstance(model.component.info, ExistingImagesInfo):
                    folder.drop_image(places[model.label], number, seed)
                yield Listed(*head, failure=found)
                continue
            image = found[0].image
            assert image is not None  # gather gives samples with images, or a failure
            own = store.holds(image)
            path = folder.link_image(places[model.label], number, seed, image) if own else str(image.path)
            key = job.image_key(model, prompt, seed)
            yield Listed(*head, None, path, image.digest, *store.details(key))


def sample_row(image: Listed) -> tuple[Any, ...]:
    """A row of samples.csv."""
    head = (image.model.label, image.prompt.id, image.prompt.text, image.seed, image.noise_seed)
    if image.failure is not None:
        status = "missing" if image.failure.missing else "failed"
        return (*head, status, image.failure.reason, "", "", "", "", "")
    said = json.dumps(image.record, ensure_ascii=False) if image.record else ""
    return (*head, "ok", "", image.path, image.digest, *image.size, said)


def lost_row(metric: str, lost: Lost) -> tuple[Any, ...]:
    """A row of failures.csv."""
    return metric, " | ".join(lost.models), lost.prompt, lost.seed, lost.kind, lost.reason


def _images(jobs: Iterable[Job]) -> Iterator[tuple[int, Job, Model, Prompt, int]]:
    """Yield each image once, though several metrics look at it, with the number of its prompt for that model."""
    numbers: dict[str, dict[str, int]] = {}
    seen: dict[tuple[str, str], set[int]] = {}
    for job in jobs:
        for model in job.models if job.generates else ():
            known = numbers.setdefault(model.label, {})
            for prompt, seed in job.drawn():
                number = known.setdefault(prompt.id, len(known))
                listed = seen.setdefault((model.label, prompt.id), set())
                if seed not in listed:
                    listed.add(seed)
                    yield number, job, model, prompt, seed


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
