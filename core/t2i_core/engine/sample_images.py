"""Images of a run's samples, and checks that readers of the scores should know about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from ..api.failure import Failure
from ..api.plugin_info import ExistingImagesInfo
from ..api.progress import Progress
from ..storage.encoded_image import DECODED
from ..storage.store import KeptImage, Store
from .job import SampleSet
from .plan import Plan
from .query_index import Failures, make_gone_error
from .sample import Model, PlannedSample, SampleGrid, iterate_blocks


@dataclass(frozen=True)
class SampleImage:
    """A sample with its image.

    Attributes:
        number: Its place among all samples of its model, from 1, whether they have an image or not.
        prompt_number: The place of its prompt among those of its model, from 0.
        sample: The sample.
        image: The image, with its size and record; a Failure without an image.
    """

    number: int
    prompt_number: int
    sample: PlannedSample
    image: KeptImage | Failure


def iterate_images(
    plan: Plan, store: Store, without_image: Failures, progress: Progress, doing: str, look: bool = True
) -> Iterator[SampleImage]:
    """Yield every image of a run once, even if several metrics use it, prompt by prompt.

    Args:
        plan: The plan.
        store: The cache.
        without_image: Why samples have no image, by their keys.
        progress: Shows the caller's progress.
        doing: The caller's work, in words.
        look: Whether to look at the images' files, as `Store.images` does.

    Raises:
        BadFolder: If an image has disappeared since it was generated.
    """
    numbers: Counter[str] = Counter()
    with progress.task(doing, sum(1 for _ in _list_places(plan.image_sets)), "samples") as task:
        for places in iterate_blocks(_list_places(plan.image_sets)):
            block: list[tuple[int, PlannedSample]] = [(number, grid[index]) for number, grid, index in places]
            kept = store.details([sample.key for _, sample in block], look)
            for (prompt_number, sample), image in zip(block, kept, strict=True):
                numbers[sample.model.label] += 1
                found = without_image.get(sample.key) or image
                if found is None:
                    raise make_gone_error(store, (sample,))
                yield SampleImage(numbers[sample.model.label], prompt_number, sample, found)
                task.advance()


def _list_places(image_sets: Iterable[SampleSet]) -> Iterator[tuple[int, SampleGrid, int]]:
    """Yield the grid and the index of each sample once, with the number of its prompt for that model."""
    numbers: dict[str, dict[str, int]] = {}
    listed: dict[tuple[str, str], set[int]] = {}
    grids = list(dict.fromkeys(chain.from_iterable(each.grids for each in image_sets)))
    shares = Counter((grid.model.label, prompt.id) for grid in grids for prompt in grid.prompts)
    for grid in grids:
        label = grid.model.label
        known = numbers.setdefault(label, {})
        for index, (prompt, seed) in enumerate(grid.cells()):
            number = known.setdefault(prompt.id, len(known))
            if shares[label, prompt.id] > 1:  # seeds are remembered only then: a run may have millions of samples
                seeds = listed.setdefault((label, prompt.id), set())
                if seed in seeds:
                    continue
                seeds.add(seed)
            yield number, grid, index


@dataclass
class ImageChecks:
    """Observations about images that are not failures, but that readers of the scores should know.

    A model may ignore seeds, or read only a part of a prompt; files may be decoded in an unusual way.

    Attributes:
        sizes: Number of images of each width and height, by model.
        copies: Number of images that equal that of another seed of their prompt, by model.
        truncated: Label, prompt and seed of the samples whose prompt is longer than their model reads.
        conversions: Number of images with each conversion that decoding applies, by model.
    """

    sizes: defaultdict[str, Counter[tuple[int, int]]] = field(default_factory=lambda: defaultdict(Counter))
    copies: Counter[str] = field(default_factory=Counter)
    truncated: set[tuple[str, str, int]] = field(default_factory=set)
    conversions: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def count_truncated(self, samples: SampleSet, model: Model) -> int:
        """Return the number of samples of a model whose prompt is longer than the model reads."""
        if not self.truncated:
            return 0
        return sum((model.label, prompt.id, seed) in self.truncated for prompt, seed in samples.grids[0].cells())

    def describe_decoding(self, model: Model) -> list[str]:
        """Return a note on the conversions that decoding applies to a model's images, if any."""
        counts = self.conversions[model.label]
        if not counts:
            return []
        return [f"{model.label}: images {'; '.join(f'{name}: {n}' for name, n in sorted(counts.items()))}"]

    def notes(self) -> Iterator[str]:
        """Yield a note on each model whose images differ in size, or do not differ between seeds."""
        for label, sizes in self.sizes.items():
            if len(sizes) > 1:
                most = ", ".join(f"{w} x {h} ({n})" for (w, h), n in sizes.most_common(3))
                yield f"{label}: its images are of {len(sizes)} sizes: {most}{', ...' if len(sizes) > 3 else ''}"
            if copies := self.copies[label]:
                yield (
                    f"{label}: {copies} of its {sizes.total()} images are the same as under another seed of their "
                    "prompt: does it use the seed?"
                )


def check_images(images: Iterable[SampleImage]) -> ImageChecks:
    """Check images by their records, without opening them.

    For images that existed already only the decoding matters.
    """
    checks = ImageChecks()
    prompt, digests = ("", ""), set[str]()
    for each in images:
        label, kept = each.sample.model.label, each.image
        if isinstance(kept, Failure):
            continue
        if DECODED in kept.record:
            checks.conversions[label].update(kept.record[DECODED]["conversions"])
        if isinstance(each.sample.model.component.info, ExistingImagesInfo):
            continue
        if kept.record.get("tokens_lost"):
            checks.truncated.add((label, each.sample.prompt.id, each.sample.seed))
        checks.sizes[label][kept.size] += 1
        if prompt != (label, each.sample.prompt.id):
            prompt, digests = (label, each.sample.prompt.id), set()
        checks.copies[label] += kept.digest in digests
        digests.add(kept.digest)
    return checks
