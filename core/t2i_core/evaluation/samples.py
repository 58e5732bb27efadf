"""The list of a run's images, and of what has no value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..generation import Failure
from ..progress import Progress
from ..prompts import Prompt
from ..store import Store
from .folder import RunFolder, slug
from .jobs import Failures, Job, Model, noise_seed
from .measuring import Lost
from .observing import gather

SAMPLE_COLUMNS = (
    *("model", "prompt", "text", "seed", "noise_seed", "status", "reason"),
    *("image", "digest", "width", "height", "record"),
)
LOST_COLUMNS = ("metric", "model", "prompt", "seed", "kind", "reason")


def samples(
    jobs: Sequence[Job], folder: RunFolder, store: Store, failures: Failures, progress: Progress
) -> Iterator[tuple[Any, ...]]:
    """Yield a row per image that was asked for, and link the image into the run's folder."""
    looking = [job for job in jobs if job.generates]
    places = _places(m.label for job in looking for m in job.models)
    with progress.task("listing samples", sum(1 for _ in _images(looking)), "samples") as task:
        for number, job, model, prompt, seed in _images(looking):
            task.advance()
            head = (model.label, prompt.id, prompt.text, seed, noise_seed(job.noise, prompt, seed))
            found = gather(job, (model,), prompt, seed, None, store, failures)
            if isinstance(found, Failure):
                yield (*head, "missing" if found.missing else "failed", found.reason, "", "", "", "", "")
                continue
            image = found[0].image
            assert image is not None  # gather gives samples with images, or a failure
            own = store.holds(image)
            path = folder.link_image(places[model.label], number, seed, image) if own else str(image.path)
            key = job.image_key(model, prompt, seed)
            record, size = store.record(key), store.size(key) or ("", "")
            said = json.dumps(record, ensure_ascii=False) if record else ""
            yield (*head, "ok", "", path, image.digest, *size, said)


def lost_row(metric: str, lost: Lost) -> tuple[Any, ...]:
    """A row of failures.csv."""
    return metric, " | ".join(lost.models), lost.prompt, lost.seed, lost.kind, lost.reason


def _images(jobs: Iterable[Job]) -> Iterator[tuple[int, Job, Model, Prompt, int]]:
    """Yield each image once, though several metrics look at it, with the number of its prompt for that model."""
    numbers: dict[str, dict[str, int]] = {}
    seen: dict[tuple[str, str], set[int]] = {}
    for job in jobs:
        for model in job.models:
            known = numbers.setdefault(model.label, {})
            for prompt, seed in job.drawn():
                number = known.setdefault(prompt.id, len(known))
                listed = seen.setdefault((model.label, prompt.id), set())
                if seed not in listed:
                    listed.add(seed)
                    yield number, job, model, prompt, seed


def _places(labels: Iterable[str]) -> dict[str, str]:
    """A folder name for each model, different ones for labels that look alike."""
    places: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        name, count = slug(label), 1
        while name in places.values():
            count += 1
            name = f"{slug(label)}-{count}"
        places[label] = name
    return places
