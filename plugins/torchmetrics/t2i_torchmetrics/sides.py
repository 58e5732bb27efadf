"""Base class of `fid` and `kid`: needs and features of the two sides of a distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Need, Note, Query, Sample, SetMetric, Unit
from t2i_core.api.image import Image, load_image

from t2i_torchmetrics import reference, remarks
from t2i_torchmetrics.images import SIZE, Seen, count_files
from t2i_torchmetrics.options import ReferenceOptions
from t2i_torchmetrics.repetitions import RepetitionFilter

GENERATED, REFERENCE = "features", "reference"


class Distance(SetMetric):
    """A metric between a model's images and those of a folder, with features from the same judge."""

    name: ClassVar[str]
    options: ReferenceOptions

    def __init__(self, setup: Any) -> None:
        super().__init__(setup)
        self.needs = (
            Need(GENERATED, "features", derive=SIZE),
            Need(REFERENCE, "features", images="prompt", per="run", queries=self._reference_queries),
        )

    @cached_property
    def _reference_images(self) -> list[Image]:
        images = [load_image(path, reference.RULES) for path in reference.files(self.options.reference)]
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

    def warn_differences(self, seen: Seen) -> Iterator[Note]:
        """Warn about differences between the two sides' files."""
        return map(Note, remarks.warn_differences(self.name, seen, self._reference_seen))

    def _reference_queries(self, _: Sequence[Sample]) -> list[Query]:
        return [Query((image,)) for image in self._reference_images]
