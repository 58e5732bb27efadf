"""The first pass: generate every image that the cache lacks, and store it at once."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from PIL.Image import Image as PILImage

from ..api.budget import Budget
from ..api.errors import T2IError
from ..api.executor import ComponentSettings, Workers
from ..api.failure import Failure
from ..api.generator import Generated, Generator, ImageRequest
from ..api.image import Image, Truth
from ..api.plugin_guard import describe_component
from ..api.plugin_info import ExistingImagesInfo, GeneratorInfo
from ..api.progress import Progress
from ..api.text import describe_error
from ..files.decoding_rules import DEFAULT_RULES
from ..files.digest import digest_file
from ..results.run import Made
from ..storage.encoded_image import EncodedImage, encode_image
from ..storage.store import IMAGES, Store, make_image_name
from .answer_stream import Patience
from .background import Background
from .batch_clock import BatchClock
from .component import Component
from .executors import open_workers
from .job import SampleSet
from .lifecycle import Execution, add_note, keep_rate, keep_settings, keep_speed
from .query_index import Failures
from .sample import Model, PlannedSample, SampleGrid, iterate_blocks
from .time_stamp import get_time


@dataclass(frozen=True)
class GeneratedImages:
    """Result of the first pass. The images themselves are in the cache.

    Attributes:
        made: The number of images that were made, and the time that it took.
        failures: Why samples have no image, by their keys.
    """

    made: Made = field(default_factory=Made)
    failures: Failures = field(default_factory=dict)


@dataclass
class Missing:
    """The samples whose images a model must still generate, as packed indices into its grids.

    Attributes:
        parts: The places in each grid.
        kept: Number of images in the cache, each counted once.
        failures: Why samples can never have an image, by their keys.
    """

    parts: list[tuple[SampleGrid, array[int]]] = field(default_factory=list)
    kept: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(places) for _, places in self.parts)

    def samples(self) -> Iterator[PlannedSample]:
        """Yield the samples."""
        return (grid[place] for grid, places in self.parts for place in places)


@dataclass(frozen=True)
class _StoredSample:
    """Outcome of a request: an image in the cache, or the reason of a failure.

    Attributes:
        key: The key of the sample.
        request: The request.
        image: The image; None if it failed.
        failure: Why it failed; None if it did not.
    """

    key: str
    request: ImageRequest
    image: Image | None = None
    failure: Failure | None = None


def generate(
    image_sets: Iterable[SampleSet],
    store: Store,
    how: Execution,
    progress: Progress,
    before: GeneratedImages = GeneratedImages(),
) -> GeneratedImages:
    """Generate the images that the cache lacks, model by model, and store the settings that each model reports.

    Args:
        image_sets: The samples.
        store: The cache.
        how: How components run.
        progress: Shows the progress to the user.
        before: What the pass gave before damaged images were dropped. Samples that failed then are not tried
            again.

    Raises:
        CostLimitReached: If the budget is spent; what is made is stored.
    """
    all_made, failures = before.made, dict(before.failures)
    for model, grids in group_by_model(image_sets):
        missing = find_missing(grids, store, failures)
        failures |= missing.failures
        for failure in missing.failures.values():
            how.journal.add_failure(failure)
        if not len(missing):
            if store.settings(model.fingerprint) is None:  # killed before they were stored, or damaged since
                with open_workers(GenerationTask(model.component, how.settings), how) as generator:
                    keep_settings(store, model.component, generator.settings, model.fingerprint)
            continue
        is_existing = isinstance(model.component.info, ExistingImagesInfo)
        clock = BatchClock() if _is_timed(model) else None
        with (
            open_workers(GenerationTask(model.component, how.settings, clock), how) as generator,
            progress.task(add_note(_make_title(model), generator.note), len(missing), "images") as task,
        ):
            started, done, failed = time.monotonic(), 0, 0
            for stored in _make_images(model, missing, generator, store, how.budget):
                if stored.failure is not None:
                    failures[stored.key] = stored.failure
                    failed += 1
                    how.journal.add_failure(stored.failure)
                elif stored.image is not None and store.holds(stored.image):
                    how.journal.add_image(model.label, stored.request, stored.image.digest, is_existing)
                done += 1
                task.advance(failed=stored.failure is not None)
            seconds = time.monotonic() - started
            keep_settings(store, model.component, generator.settings, model.fingerprint)
            how.budget.end_run(f"{done - failed} of {len(missing)} images by {model.label} are made")
            keep_rate(store, model.fingerprint, generator, seconds, done)
            if clock is not None:
                speed = clock.describe(generator.settings, how.settings.device, get_time())
                keep_speed(store, model.fingerprint, speed)
            all_made += Made(done - failed, seconds)
    return GeneratedImages(all_made, failures)


def _is_timed(model: Model) -> bool:
    """Return whether the time that a model takes is its own: not that of a search for files, or of a service."""
    return not isinstance(model.component.info, ExistingImagesInfo) and model.component.info.price is None


def _make_title(model: Model) -> str:
    return (
        f"{'looking up ' if isinstance(model.component.info, ExistingImagesInfo) else ''}images of {model.label}"
    )


def group_by_model(image_sets: Iterable[SampleSet]) -> Iterator[tuple[Model, list[SampleGrid]]]:
    """Yield each model with its samples, each grid once."""
    grids = list(dict.fromkeys(grid for each in image_sets for grid in each.grids))
    models = {grid.model.fingerprint: grid.model for grid in grids}
    for fingerprint, model in models.items():
        yield model, [grid for grid in grids if grid.model.fingerprint == fingerprint]


def find_missing(grids: Iterable[SampleGrid], store: Store, failures: Failures) -> Missing:
    """Return a model's samples that need an image: not in the cache, and not known to fail (`failures`).

    Images that exist already are looked up every time, because their files may have changed. If several samples
    share an image (a prompt given twice), the first one requests it.
    """
    grids = list(grids)
    found, seen, shared = Missing(), set[str](), _find_shared_prompts(grids)
    for grid in grids:
        places = array("Q")
        existing = isinstance(grid.model.component.info, ExistingImagesInfo)
        for block in iterate_blocks(grid):
            keys = [sample.key for sample in block]
            for sample, kept, never in zip(block, store.has_images(keys), store.failures(keys), strict=True):
                if sample.key in failures or sample.key in seen:
                    continue
                if never is not None:
                    found.failures[sample.key] = Failure(never, final=True)
                    continue
                if id(sample.prompt) in shared:
                    seen.add(sample.key)
                found.kept += kept
                if existing or not kept:
                    places.append(sample.index)
        found.parts.append((grid, places))
    return found


def _find_shared_prompts(grids: Sequence[SampleGrid]) -> set[int]:
    """Return the ids of the prompt objects of which another one gives the same images.

    Only their samples must be remembered, so that each image is requested once: a run may have millions.
    """
    prompts = [(grid.make_key_head(prompt), id(prompt)) for grid in grids for prompt in grid.prompts]
    counts = Counter(head for head, _ in prompts)
    return {number for head, number in prompts if counts[head] > 1}


def _make_requests(missing: Missing, store: Store, keys: dict[int, str]) -> Iterator[ImageRequest]:
    """Yield the generator's requests, and note the key of each image.

    Images that another process has made in the meantime are skipped.
    """
    for block in iterate_blocks(missing.samples()):
        now_kept = store.has_images([sample.key for sample in block])
        for sample, kept in zip(block, now_kept, strict=True):
            if not kept or isinstance(sample.model.component.info, ExistingImagesInfo):
                request = sample.request()
                keys[id(request)] = sample.key
                yield request


def _make_images(
    model: Model, missing: Missing, generator: Workers, store: Store, budget: Budget
) -> Iterator[_StoredSample]:
    """Have images made and stored; yield each one that is done.

    The images are encoded and stored beside the generator. None are requested once the budget is spent.
    """
    keys: dict[int, str] = {}
    patience = Patience(describe_component(model.component), missing.kept > 0)
    with Background[_StoredSample]() as background:
        requests = takewhile(lambda _: not budget.is_spent, _make_requests(missing, store, keys))
        for request, encode, raised in generator.answer(requests):
            patience.count(encode() if raised else None)
            yield from background.submit(partial(_keep, store, keys.pop(id(request)), request, encode))
        yield from background.finish()


def _keep(
    store: Store, key: str, request: ImageRequest, encode: Callable[[], EncodedImage | Failure]
) -> _StoredSample:
    """Store a generated image; return it, or the reason if that fails."""
    encoded = encode()
    if isinstance(encoded, Failure):
        if encoded.final:
            store.put_failure(key, encoded.reason)
        return _StoredSample(key, request, failure=encoded)
    try:
        return _StoredSample(key, request, store.put_image(key, encoded))
    except T2IError:
        raise
    except Exception as error:  # any fault of the image is this request's failure
        return _StoredSample(key, request, failure=Failure(f"cannot be kept: {describe_error(error)}"))


@dataclass(frozen=True)
class GenerationTask:
    """Generate images.

    Attributes:
        component: The generator.
        settings: Settings of its setup.
        clock: Measures its batches, if it works in this process.
    """

    component: Component[GeneratorInfo]
    settings: ComponentSettings
    clock: BatchClock | None = None

    def with_component(self, component: Any) -> GenerationTask:
        """Return the same task for another component."""
        return replace(self, component=component)

    def work(self, instance: Generator, items: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Any]]:
        """Have images generated."""
        return iter(instance.generate(items)) if self.clock is None else self.clock.watch(instance.generate, items)

    def list_images(self, item: ImageRequest) -> tuple[Image, ...]:
        """Return none: a generator reads no images."""
        return ()

    def take(self, item: ImageRequest, answer: Any) -> Callable[[], EncodedImage | Failure]:
        """Copy the pixels; the returned function encodes them."""
        try:
            if isinstance(answer, Generated) and isinstance(answer.image, np.ndarray | PILImage):
                answer = replace(answer, image=answer.image.copy(), record=dict(answer.record or {}))
        except Exception as error:  # any fault of the image is this request's failure
            answer = Failure(f"cannot be kept: {describe_error(error)}")
        return partial(self._encode, item, answer)

    def _encode(self, item: ImageRequest, answer: Any) -> EncodedImage | Failure:
        """Return a generated image as the store keeps it, or why it cannot be kept."""
        if isinstance(answer, Failure):
            return answer
        if not isinstance(answer, Generated):
            return Failure(f"the generator gave {type(answer).__name__}; it must give Generated or Failure")
        try:
            image = answer.image
            if isinstance(image, PILImage):
                image = np.asarray(image.convert("RGB"))
            fault = None if isinstance(image, Path) else find_image_fault(image, answer.truth)
            if fault is not None:
                return Failure(fault)
            return encode_image(image, answer.record, answer.truth, answer.rules or DEFAULT_RULES)
        except T2IError:
            raise
        except Exception as error:  # any fault of the image is this request's failure
            return Failure(f"cannot be kept: {describe_error(error)}")

    def write(self, encoded: Any, cache: Path) -> Any:
        """Write an image's file into the cache folder, unless it is there already."""
        if not isinstance(encoded, EncodedImage) or encoded.data is None:
            return encoded
        file = cache / IMAGES / make_image_name(encoded.digest)
        is_there = file.exists() and digest_file(file) == encoded.digest
        return replace(encoded, data=None) if is_there else encoded.write(file)


def find_image_fault(pixels: Any, truth: Truth | None) -> str | None:
    """Say what is wrong with a generated image, or with the truth that comes with it, if anything."""
    if not isinstance(pixels, np.ndarray):
        return f"the generator gave {type(pixels).__name__} where pixels were asked for"
    if np.issubdtype(pixels.dtype, np.floating) and not np.isfinite(pixels).all():
        return "the generator gave pixels that are not numbers"
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        got = f"{pixels.dtype} of shape {pixels.shape}"
        return f"the generator's pixels must be uint8 of shape (height, width, 3) (got {got})"
    if not pixels.any():
        return "blank image: every pixel is black"
    width, height = size = (pixels.shape[1], pixels.shape[0])
    if truth is None or all(each == size for each in (truth.size, *(i.mask.size for i in truth.instances))):
        return None
    return f"the generator gave an image of {width} x {height} pixels with the truth of one of another size"


def drop_damaged(image_sets: Sequence[SampleSet], store: Store, progress: Progress) -> int:
    """Drop kept images whose files were altered, so that they are made again; return their number.

    A judge notices damage when it opens an image; nobody opens images that only go into a data set. An image whose
    truth is damaged is not found in the store, and so is made again anyway.
    """
    total = sum(len(grid) for each in image_sets for grid in each.grids)
    if total == 0:
        return 0
    damaged = set[str]()
    with progress.task("checking images", total, "images") as task:
        for block in chain.from_iterable(iterate_blocks(each.samples()) for each in image_sets):
            for image in store.images([sample.key for sample in block]):
                if image is not None and store.holds(image) and not _is_whole(image):
                    damaged.add(image.digest)
            task.advance(len(block))
    for digest in damaged:
        store.forget_image(digest)
    return len(damaged)


def _is_whole(image: Image) -> bool:
    try:
        return digest_file(image.path) == image.digest
    except OSError:
        return False
