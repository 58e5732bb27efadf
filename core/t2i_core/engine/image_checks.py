"""What readers of the scores should know about images that are not failures.

Their model may ignore the seed, or a part of the prompt; or their files may be decoded in an unusual way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from ..api.plugin_info import ExistingImagesInfo
from ..storage.store import DECODED
from .job import Job
from .sample import Model
from .sample_list import Listed


class Doubts:
    """Looks at a run's images as they pass. Of images that exist already only how they are decoded matters."""

    def __init__(self) -> None:
        self._sizes: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
        self._copies: Counter[str] = Counter()
        self._truncated: set[tuple[str, str, int]] = set()
        self._conversions: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def passing(self, images: Iterable[Listed]) -> Iterator[Listed]:
        """Pass on each image; those of one model and prompt come one after another."""
        of, digests = ("", ""), set[str]()
        for each in images:
            yield each
            label = each.sample.model.label
            self._conversions[label].update(each.record.get(DECODED, {}).get("conversions", ()))
            if each.failure is not None or isinstance(each.sample.model.component.info, ExistingImagesInfo):
                continue
            if each.record.get("tokens_lost"):
                self._truncated.add((label, each.sample.prompt.id, each.sample.seed))
            self._sizes[label][each.size] += 1
            if of != (label, each.sample.prompt.id):
                of, digests = (label, each.sample.prompt.id), set()
            self._copies[label] += each.digest in digests
            digests.add(each.digest)

    def truncated(self, job: Job, model: Model) -> int:
        """How many of a model's samples in a job were drawn from a prompt of which the model read only a part."""
        if not self._truncated:
            return 0
        return sum((model.label, prompt.id, seed) in self._truncated for prompt, seed in job.grids[0].cells())

    def converted(self, model: Model) -> list[str]:
        """Return a note on what decoding a model's images does beside reading their pixels, if anything."""
        counts = self._conversions[model.label]
        if not counts:
            return []
        return [f"{model.label}: images {'; '.join(f'{name}: {n}' for name, n in sorted(counts.items()))}"]

    def notes(self) -> Iterator[str]:
        """Say what gives reason to doubt."""
        for label, sizes in self._sizes.items():
            if len(sizes) > 1:
                said = ", ".join(f"{w} x {h} ({n})" for (w, h), n in sizes.most_common(3))
                yield f"{label}: its images are of {len(sizes)} sizes: {said}{', ...' if len(sizes) > 3 else ''}"
            if copies := self._copies[label]:
                yield (
                    f"{label}: {copies} of its {sizes.total()} images are the same as under another seed of their "
                    "prompt: does it heed seeds?"
                )
