"""The metric `clipscore`: the cosine of an image's and its prompt's embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Failure, Metric, Need, Note, Query, Row, Sample, Setup, Unit

from t2i_torchmetrics.options import ClipScoreOptions

NEED = "embeddings"


def clip_score(image: NDArray[np.float32], text: NDArray[np.float32], w: float) -> float:
    """Return w max(cos(image, text), 0); NaN if either vector is 0.

    References:
        Hessel et al. (2021), equation in section 3.
    """
    a, b = image.astype(np.float64), text.astype(np.float64)
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    # rounding may make the cosine of a vector with itself exceed 1, and the score exceed w
    return w * min(max(float(a @ b) / length, 0.0), 1.0) if length else float("nan")


class ClipScore(Metric):
    """CLIPScore: the similarity of image and prompt."""

    options: ClipScoreOptions

    def __init__(self, setup: Setup[ClipScoreOptions]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "embed", queries=self._queries),)

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        (sample,) = samples
        return [sample.query(), Query(texts=(self.options.prefix + sample.prompt.text,))]

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield one row for one image."""
        answers = unit.one().all(NEED)
        image, text = (answer.values for answer in answers)
        if image.shape != text.shape:
            yield Failure(f"an image's embedding has {image.size} dimensions, a text's {text.size}")
            return
        if (read := answers[1].cut_to) is not None:
            yield Note(
                f"the text is longer than the {read} tokens that the judge reads; the rest is not scored",
                counted=True,
            )
        score = clip_score(image, text, self.options.w)
        yield Failure("an embedding is 0: it has no cosine") if np.isnan(score) else Row("clipscore", score)
