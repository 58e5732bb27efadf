"""Images that repeat others of a set: of the same text and seed, or byte-equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from t2i_core.api import Observed, Sample


class RepetitionFilter:
    """Passes the first image of each text and seed, and of each file content.

    The jackknife filters anew without each block: it resamples prompts with their images, and leaving one out
    removes its image only if no other one repeats it.

    Attributes:
        dropped: Number of images that were not passed.
    """

    def __init__(self, keep_all: bool) -> None:
        self._keep_all = keep_all
        self._texts: set[tuple[str, int]] = set()
        self._digests: set[str] = set()
        self.dropped = 0

    def __call__(self, observed: Iterable[Observed]) -> Iterator[Observed]:
        """Yield the observed images that repeat none before them."""
        for each in observed:
            if self._keep_all or self._is_new(each.sample):
                yield each
            else:
                self.dropped += 1

    def _is_new(self, sample: Sample) -> bool:
        assert sample.image is not None  # the metrics of sets ask about images
        text, digest = (sample.prompt.text, sample.seed), sample.image.digest
        if text in self._texts or digest in self._digests:
            return False
        self._texts.add(text)
        self._digests.add(digest)
        return True
