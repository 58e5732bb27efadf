"""The metric `r-precision`: does an image find its own caption among others?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadPrompts
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Answer, Need, Sample, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt
from t2i_core.io.prompt_file import read_prompts

from . import retrieval
from .options import RetrievalOptions

IMAGE, POOL = "image", "captions"


@dataclass(frozen=True)
class _Pool:
    """All captions of a run as vectors, made once for all images.

    vectors:  (captions, d); first those that negatives are drawn from, of length 1 but in the reference's way
    """

    answers: Sequence[Answer]
    vectors: retrieval.Vectors


class RPrecision(Metric):
    """Does an image find its own caption among others?"""

    options: RetrievalOptions

    def __init__(self, setup: Setup[RetrievalOptions]) -> None:
        super().__init__(setup)
        self.needs = (
            Need(IMAGE, "embed"),
            Need(POOL, "embed", images="prompt", per="run", queries=self._pool_queries),
        )
        self._places: dict[str, int] = {}
        self._negatives = 0
        self._pool: _Pool | None = None

    @cached_property
    def _file(self) -> tuple[str, ...]:
        assert self.options.captions is not None
        return tuple(prompt.text for prompt in read_prompts(self.options.captions))

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse lists with fewer captions than a choice has, and what the reference's draws cannot be made of."""
        options = self.options
        if options.reference:
            if options.captions is not None:
                raise BadPrompts(
                    "r-precision: with reference the run's own prompts are the captions: leave out captions"
                )
            return
        drawn_from = self._drawn_from(prompts)
        others = len(drawn_from) - max(prompt.text in drawn_from for prompt in prompts)
        if others < options.candidates - 1:
            whose = options.captions or "the run's prompts"
            raise BadPrompts(
                f"r-precision: {options.candidates - 1} negatives want as many other captions, and {whose} have "
                f"{others}; set -o r-precision.candidates, or name a file with -o r-precision.captions"
            )

    def _drawn_from(self, prompts: Sequence[Prompt]) -> dict[str, None]:
        """The captions that negatives are drawn from, each once."""
        return dict.fromkeys(self._file if self.options.captions else (prompt.text for prompt in prompts))

    def _pool_queries(self, samples: Sequence[Sample]) -> list[Query]:
        prompts = [sample.prompt for sample in samples]
        if self.options.reference:  # captions that stand twice are drawn twice as often
            self._places = {prompt.id: place for place, prompt in enumerate(prompts)}
            return [Query(texts=(prompt.text,)) for prompt in prompts]
        texts = self._drawn_from(prompts)
        self._negatives = len(texts)
        texts |= dict.fromkeys(prompt.text for prompt in prompts)
        self._places = {text: place for place, text in enumerate(texts)}
        return [Query(texts=(text,)) for text in texts]

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn one image into a row: the share of repeats in which its own caption is the nearest."""
        observed = unit.one()
        sample, image = observed.sample, observed.one(IMAGE).values
        pool = self._vectors(unit.shared[POOL])
        place = self._places[sample.prompt.id if self.options.reference else sample.prompt.text]
        if image.shape != pool.vectors.shape[1:]:
            yield Failure(f"an image's embedding has {image.size} dimensions, a caption's {pool.vectors.shape[1]}")
            return
        if (read := pool.answers[place].observation.cut_to) is not None:
            yield Note(f"the caption is longer than the {read} tokens that the judge reads", counted=True)
        if self.options.reference:
            found = retrieval.reference_nearest(image, pool.vectors, place, self._reference_draws[:, place])
        elif not image.any() or not pool.vectors[place].any():
            yield Failure("an embedding is 0: it has no cosine")
            return
        else:
            own = place if place < self._negatives else None
            size = self.options.candidates - 1, self.options.repeats
            drawn = retrieval.draw(self._rng(sample), self._negatives, own, *size)
            found = retrieval.nearest(image, pool.vectors[place], pool.vectors[drawn])
        yield Row("r-precision", float(found.mean()))

    def _rng(self, sample: Sample) -> np.random.Generator:
        """What an image's negatives are drawn by: the same for every model."""
        return np.random.default_rng(int(digest_data([self.options.seed, sample.prompt.id, sample.seed])[:16], 16))

    @cached_property
    def _reference_draws(self) -> NDArray[np.int32]:
        """For each prompt by its place; several seeds of one prompt have the same."""
        options = self.options
        return retrieval.reference_draws(len(self._places), options.candidates - 1, options.repeats)

    def _vectors(self, answers: Sequence[Answer]) -> _Pool:
        if self._pool is None or self._pool.answers is not answers:
            vectors = np.stack([answer.observation.values for answer in answers])
            self._pool = _Pool(answers, vectors if self.options.reference else retrieval.unit_length(vectors))
        return self._pool
