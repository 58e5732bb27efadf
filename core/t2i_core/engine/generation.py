"""The first stage: every image that is not kept is made, and kept as soon as it is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image as PILImage

from ..api.errors import T2IError
from ..api.failure import Failure
from ..api.generator import Generated, ImageRequest
from ..api.observation_check import find_image_fault
from ..api.plugin_info import ExistingImagesInfo
from ..api.progress import Progress
from ..api.text import describe_error
from ..files.decoding_rules import DEFAULT_RULES
from ..results.run import Made
from ..storage.store import Store
from .answer_stream import stream_answers
from .job import Failures, Job, Model
from .lifecycle import Execution, keep_settings, open_component
from .plugin_guard import describe_component


@dataclass(frozen=True)
class _ToMake:
    key: str
    request: ImageRequest


def generate(jobs: Iterable[Job], store: Store, failures: Failures, how: Execution, progress: Progress) -> Made:
    """Make what is missing, model by model, and keep what each model says of its settings."""
    all_made = Made()
    for model, own in by_model(jobs):
        total = sum(1 for _ in missing(own, store, failures))
        if total == 0:
            if store.settings(model.fingerprint) is None:  # a kill came before they were kept, or damage after
                with open_component(model.component, how) as generator:
                    keep_settings(store, model.component, generator, model.fingerprint)
            continue
        with (
            open_component(model.component, how) as generator,
            progress.task(_title(model), total, "images") as task,
        ):
            worked = any(_kept(own, store))
            started, done, failed = time.monotonic(), 0, 0
            in_flight: set[str] = set()
            keys: dict[int, str] = {}
            requests = _requests(missing(own, store, failures, in_flight), keys)
            for request, answer in stream_answers(
                generator.generate, requests, describe_component(model.component), worked
            ):
                key = keys.pop(id(request))
                if (failure := _keep(store, key, answer)) is not None:
                    failures.images[key] = failure
                    failed += 1
                in_flight.discard(key)
                done += 1
                task.advance()
            seconds = time.monotonic() - started
            keep_settings(store, model.component, generator, model.fingerprint)
            if done:
                store.put_rate(model.fingerprint, seconds / done)
            all_made += Made(done - failed, seconds)
    return all_made


def _title(model: Model) -> str:
    return (
        f"{'looking up ' if isinstance(model.component.info, ExistingImagesInfo) else ''}images of {model.label}"
    )


def _kept(jobs: Iterable[Job], store: Store) -> Iterator[bool]:
    """Whether each image is kept."""
    for job in jobs:
        for model, prompt, seed in job.cells():
            yield store.image(job.image_key(model, prompt, seed)) is not None


def _requests(items: Iterable[_ToMake], keys: dict[int, str]) -> Iterator[ImageRequest]:
    """Yield the requests alone, and note under which key each one's image will be kept."""
    for item in items:
        keys[id(item.request)] = item.key
        yield item.request


def by_model(jobs: Iterable[Job]) -> Iterator[tuple[Model, list[Job]]]:
    """Yield each model that must be able to make images, with the jobs that look at them, cut down to it."""
    jobs = [job for job in jobs if job.generates]
    models = {model.fingerprint: model for job in jobs for model in job.models}
    for fingerprint, model in models.items():
        yield (
            model,
            [
                replace(job, models=own)
                for job in jobs
                if (own := tuple(m for m in job.models if m.fingerprint == fingerprint))
            ],
        )


def missing(
    jobs: Iterable[Job], store: Store, failures: Failures, in_flight: set[str] | None = None
) -> Iterator[_ToMake]:
    """Yield what must be asked of one model: images that are not kept and did not fail just now.

    Images that exist already are looked up every time, for their files may have changed. An image that several
    samples share (a prompt given twice) is asked for once: `in_flight` holds what was asked and is not yet kept.
    """
    in_flight = set() if in_flight is None else in_flight
    looked_up: set[str] = set()
    for job in jobs:
        for model, prompt, seed in job.cells():
            key = job.image_key(model, prompt, seed)
            if key in in_flight or key in failures.images:
                continue
            if (never := store.failure(key)) is not None:
                failures.images[key] = Failure(never, final=True)
                continue
            if isinstance(model.component.info, ExistingImagesInfo):
                if key in looked_up:
                    continue
                looked_up.add(key)
            elif store.image(key) is not None:
                continue
            in_flight.add(key)
            yield _ToMake(key, job.request(prompt, seed))


def _keep(store: Store, key: str, answer: Any) -> Failure | None:
    """Keep a generated image. Returns why it cannot be, if so."""
    if isinstance(answer, Failure):
        if answer.final:
            store.put_failure(key, answer.reason)
        return answer
    if not isinstance(answer, Generated):
        return Failure(f"the generator gave {type(answer).__name__} where an image was asked for")
    try:
        image = answer.image
        if isinstance(image, PILImage):
            image = np.asarray(image.convert("RGB"))
        fault = None if isinstance(image, Path) else find_image_fault(image, answer.truth)
        if fault is not None:
            return Failure(fault)
        store.put_image(key, image, answer.record, answer.truth, answer.rules or DEFAULT_RULES)
    except T2IError:
        raise
    except Exception as error:  # whatever is wrong with it, it is this request's failure
        return Failure(f"cannot be kept: {describe_error(error)}")
    return None
