"""What images that are no failures may still say of their model: that it takes no seed, or no size."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from .samples import Listed


class Doubts:
    """Looks at a run's images as they pass. Images that exist already are left out: they are as they are."""

    def __init__(self) -> None:
        self._sizes: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
        self._copies: Counter[str] = Counter()

    def passing(self, images: Iterable[Listed]) -> Iterator[Listed]:
        """Pass on each image; those of one model and prompt come one after another."""
        of, digests = ("", ""), set[str]()
        for each in images:
            yield each
            if each.failure is not None or each.model.component.info.existing:
                continue
            label = each.model.label
            self._sizes[label][each.size] += 1
            if of != (label, each.prompt.id):
                of, digests = (label, each.prompt.id), set()
            self._copies[label] += each.digest in digests
            digests.add(each.digest)

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
