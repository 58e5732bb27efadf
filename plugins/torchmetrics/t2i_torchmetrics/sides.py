"""Base class of distances from reference images: needs and features of the two sides of a distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Answer, Need, Note, Query, Sample, SetMetric, Unit
from t2i_core.api.errors import BadOption
from t2i_core.api.image import Image, load_image

from t2i_torchmetrics import reference, remarks
from t2i_torchmetrics.images import SIZE, Seen, count_files
from t2i_torchmetrics.options import ReferenceOptions
from t2i_torchmetrics.repetitions import RepetitionFilter

PreparedT = TypeVar("PreparedT")

GENERATED, REFERENCE = "features", "reference"

JUDGES = {
    "tensorflow": "inception-v3",
    "torchvision": "inception-v3-torchvision",
    "dinov2": "dinov2-vit-l14",
    "clip": "clip-vit-l14",
}
"""Judges of the option `network`."""


def refuse_other_judge(metric: str, network: str | None, judge: str) -> None:
    """Refuse another judge than that of the option `network`.

    Args:
        metric: Name of the metric.
        network: The option; None if it is not set.
        judge: Name of the judge.

    Raises:
        BadOption: If the judge is not that of the option.
    """
    if network is not None and judge != JUDGES[network]:
        raise BadOption(
            f"option 'network' of {metric!r}: {network} is the judge {JUDGES[network]}, but the run uses "
            f"{judge} (--judge); leave one of them out"
        )


class Distance(SetMetric):
    """A metric between a model's images and those of a folder, with features from the same judge."""

    name: ClassVar[str]
    options: ReferenceOptions
    _known: tuple[Sequence[Answer], Any] | None = None

    def __init__(self, setup: Any) -> None:
        super().__init__(setup)
        generated = Need(GENERATED, "features", derive=SIZE)
        of_images = Need(REFERENCE, "features", images="prompt", per="run", queries=self._reference_queries)
        has_images = not reference.is_statistics(self.options.reference)
        self.needs = (generated, of_images) if has_images else (generated,)

    @cached_property
    def _reference_images(self) -> list[Image]:
        images = [
            load_image(path, reference.RULES) for path in reference.list_reference_files(self.options.reference)
        ]
        return images if self.options.repetitions else list({image.digest: image for image in images}.values())

    @cached_property
    def _reference_seen(self) -> Seen:
        return count_files([image.path for image in self._reference_images])

    def read(
        self, unit: Unit, seen: Seen, chosen: RepetitionFilter
    ) -> Iterator[tuple[Sample, NDArray[np.float32]]]:
        """Yield each chosen sample of a set with its features, and count its file's format and size."""
        for observed in chosen(unit.observed):
            sample = observed.sample
            width, height = observed.derived(GENERATED)["size"].tolist()
            assert sample.image is not None  # the need requests images
            seen.add(sample.image.path, (width, height))
            yield sample, observed.one(GENERATED).values

    def prepare_reference(
        self, unit: Unit, prepare: Callable[[Iterable[NDArray[np.float32]]], PreparedT]
    ) -> PreparedT:
        """Return what a function makes of the reference's features, computed once for all sets of one judge."""
        answers = unit.shared[REFERENCE]
        if self._known is None or self._known[0] is not answers:
            self._known = (answers, prepare(answer.observation.values for answer in answers))
        prepared: PreparedT = self._known[1]
        return prepared

    def count_shared(self, unit: Unit) -> int:
        """Return the number of a set's images that are also among the reference images."""
        return sum(
            observed.sample.image is not None and observed.sample.image.digest in self._reference_digests
            for observed in unit.observed
        )

    @cached_property
    def _reference_digests(self) -> frozenset[str]:
        return frozenset(image.digest for image in self._reference_images)

    def note_images(self, unit: Unit, seen: Seen, chosen: RepetitionFilter) -> Iterator[Note]:
        """Yield notes on repeated images, images that the reference holds too, and files that differ."""
        yield from map(Note, remarks.count_repetitions(self.name, chosen.dropped))
        yield from map(Note, remarks.warn_shared(self.name, self.count_shared(unit)))
        yield from self.warn_differences(seen)

    def warn_differences(self, seen: Seen) -> Iterator[Note]:
        """Warn about differences between the two sides' files."""
        return map(Note, remarks.warn_differences(self.name, seen, self._reference_seen))

    def _reference_queries(self, _: Sequence[Sample]) -> list[Query]:
        return [Query((image,)) for image in self._reference_images]
