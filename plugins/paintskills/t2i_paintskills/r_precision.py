"""The metric `r-precision`: does an image find its own caption among others?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from t2i_core.components import Setup
from t2i_core.errors import BadPrompts
from t2i_core.generation import Failure
from t2i_core.judging import Query
from t2i_core.metrics import Answer, Metric, Need, Note, Row, Sample, Unit
from t2i_core.prompt_files import read_prompts
from t2i_core.prompts import Prompt, digest_of

from . import retrieval
from .options import RetrievalOptions

OWN, POOL = "embeddings", "captions"


class RPrecision(Metric):
    """Does an image find its own caption among others?"""

    options: RetrievalOptions

    def __init__(self, setup: Setup[RetrievalOptions]) -> None:
        super().__init__(setup)
        self.needs = (
            Need(OWN, "embed", queries=_image_and_caption),
            Need(POOL, "embed", images="prompt", per="run", queries=self._pool_queries),
        )
        self._places: dict[str, int] = {}
        self._pool: tuple[Sequence[Answer], retrieval.Vectors] | None = None

    @cached_property
    def _file(self) -> tuple[str, ...]:
        assert self.options.captions is not None
        return tuple(prompt.text for prompt in read_prompts(self.options.captions))

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse lists with fewer captions than a choice has, and what the reference's draws cannot be made of."""
        if self.options.reference and self.options.captions is not None:
            raise BadPrompts(
                "r-precision: with reference the run's own prompts are the captions: leave out captions"
            )
        known = self._texts(prompts)
        others = max((sum(text != prompt.text for text in known) for prompt in prompts[:1]), default=0)
        if not self.options.reference and others < self.options.candidates - 1:
            whose = self.options.captions or "the run's prompts"
            raise BadPrompts(
                f"r-precision: {self.options.candidates - 1} negatives want as many other captions, and {whose} "
                f"have {others}; set -o r-precision.candidates, or name a file with -o r-precision.captions"
            )

    def _texts(self, prompts: Sequence[Prompt]) -> tuple[str, ...]:
        """The captions that negatives are drawn from; each once, but in the reference's way each prompt's."""
        if self.options.reference:
            return tuple(prompt.text for prompt in prompts)
        return tuple(dict.fromkeys(self._file if self.options.captions else (p.text for p in prompts)))

    def _pool_queries(self, samples: Sequence[Sample]) -> list[Query]:
        prompts = [sample.prompt for sample in samples]
        texts = self._texts(prompts)
        names = [prompt.id for prompt in prompts] if self.options.reference else texts
        self._places = {name: place for place, name in enumerate(names)}
        return [Query(texts=(text,)) for text in texts]

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn one image into a row: the share of repeats in which its own caption is the nearest."""
        observed = unit.one()
        image, own = observed.all(OWN)
        pool = self._vectors(unit.shared[POOL])
        if not image.values.shape == own.values.shape == pool.shape[1:]:
            yield Failure(f"an image's embedding has {image.values.size} dimensions, a caption's {pool.shape[1]}")
            return
        if own.cut_to is not None:
            yield Note(f"the caption is longer than the {own.cut_to} tokens that the judge reads", counted=True)
        if not self.options.reference and not (image.values.any() and own.values.any()):
            yield Failure("an embedding is 0: it has no cosine")
            return
        yield Row("r-precision", float(self._found(observed.sample, image.values, own.values, pool).mean()))

    def _found(
        self, sample: Sample, image: retrieval.Vectors, own: retrieval.Vectors, pool: retrieval.Vectors
    ) -> NDArray[np.float64]:
        if self.options.reference:
            place = self._places[sample.prompt.id]
            return retrieval.reference_nearest(image, pool, place, self._reference_draws[:, place])
        rng = np.random.default_rng(int(digest_of([self.options.seed, sample.prompt.id, sample.seed])[:16], 16))
        place = self._places.get(sample.prompt.text)
        drawn = retrieval.draw(rng, len(pool), place, self.options.candidates - 1, self.options.repeats)
        return retrieval.nearest(retrieval.unit_length(image), retrieval.unit_length(own), pool[drawn])

    @cached_property
    def _reference_draws(self) -> NDArray[np.int32]:
        """For each prompt by its place; several seeds of one prompt have the same."""
        options = self.options
        return retrieval.reference_draws(len(self._places), options.candidates - 1, options.repeats)

    def _vectors(self, answers: Sequence[Answer]) -> retrieval.Vectors:
        """The pool as one array, made once for all images."""
        if self._pool is None or self._pool[0] is not answers:
            vectors = np.stack([answer.observation.values for answer in answers])
            self._pool = (answers, vectors if self.options.reference else retrieval.unit_length(vectors))
        return self._pool[1]


def _image_and_caption(samples: Sequence[Sample]) -> list[Query]:
    (sample,) = samples
    return [sample.query(), Query(texts=(sample.prompt.text,))]
