"""The metric `r-precision`: whether an image's own caption is the nearest among other captions."""

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
    """Vectors of all captions of a run, computed once for all images.

    Attributes:
        answers: The judge's answers for the captions.
        vectors: Vectors of shape (captions, d), those from which negatives are drawn first; of length 1 except
            with the option `reference`.
    """

    answers: Sequence[Answer]
    vectors: retrieval.Vectors


class RPrecision(Metric):
    """Share of draws of negative captions in which an image's own caption is the nearest."""

    options: RetrievalOptions

    def __init__(self, setup: Setup[RetrievalOptions]) -> None:
        super().__init__(setup)
        self.needs = (
            Need(IMAGE, "embed"),
            Need(POOL, "embed", images="prompt", per="run", queries=self._pool_queries),
        )
        self.rows_depend_on_prompts = setup.options.captions is None
        self._places: dict[str, int] = {}
        self._texts: tuple[str, ...] = ()
        self._negatives = 0
        self._pool: _Pool | None = None

    @cached_property
    def _file(self) -> tuple[str, ...]:
        assert self.options.captions is not None
        return tuple(prompt.text for prompt in read_prompts(self.options.captions))

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject lists of prompts with too few captions, and a file of captions with the option `reference`."""
        options = self.options
        if options.reference:
            if options.captions is not None:
                raise BadPrompts(
                    "r-precision: the option reference uses the run's own prompts as captions; remove the option "
                    "captions"
                )
            return
        captions = self._find_captions(prompts)
        others = len(captions) - max(prompt.text in captions for prompt in prompts)
        if others < options.candidates - 1:
            source = options.captions or "the run's prompts"
            raise BadPrompts(
                f"r-precision: {options.candidates - 1} negatives need as many other captions, but {source} have "
                f"{others}; set -o r-precision.candidates, or name a file with -o r-precision.captions"
            )

    def _find_captions(self, prompts: Sequence[Prompt]) -> dict[str, None]:
        """Return the captions from which negatives are drawn, each once."""
        return dict.fromkeys(self._file if self.options.captions else (prompt.text for prompt in prompts))

    def _pool_queries(self, samples: Sequence[Sample]) -> list[Query]:
        prompts = [sample.prompt for sample in samples]
        if self.options.reference:  # captions that appear twice are drawn twice as often
            self._places = {prompt.id: place for place, prompt in enumerate(prompts)}
            self._texts = tuple(prompt.text for prompt in prompts)
            return [Query(texts=(text,)) for text in self._texts]
        texts = self._find_captions(prompts)
        self._negatives = len(texts)
        texts |= dict.fromkeys(prompt.text for prompt in prompts)
        self._places, self._texts = {text: place for place, text in enumerate(texts)}, tuple(texts)
        return [Query(texts=(text,)) for text in texts]

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield one row for an image: the share of repeats in which its own caption is the nearest."""
        observed = unit.one()
        sample, image = observed.sample, observed.one(IMAGE).values
        pool = self._vectors(unit.shared[POOL])
        place = self._places[sample.prompt.id if self.options.reference else sample.prompt.text]
        if image.shape != pool.vectors.shape[1:]:
            yield Failure(
                f"the embedding of an image has {image.size} dimensions, that of a caption {pool.vectors.shape[1]}"
            )
            return
        if (read := pool.answers[place].observation.cut_to) is not None:
            yield Note(f"the caption is longer than the {read} tokens that the judge reads", counted=True)
        if self.options.reference:
            drawn: NDArray[np.integer] = self._reference_draws[:, place]
            found = retrieval.reference_nearest(image, pool.vectors, place, drawn)
        elif not image.any() or not pool.vectors[place].any():
            yield Failure("an embedding is 0, so it has no cosine")
            return
        else:
            own = place if place < self._negatives else None
            size = self.options.candidates - 1, self.options.repeats
            drawn = retrieval.draw(self._rng(sample), self._negatives, own, *size)
            found = retrieval.nearest(image, pool.vectors[place], pool.vectors[drawn])
        value = float(found.mean())
        because = "" if value == 1 else self._explain(image, pool.vectors, drawn, place)
        yield Row("r-precision", value, because=because)

    def _explain(
        self, image: retrieval.Vectors, captions: retrieval.Vectors, drawn: NDArray[np.integer], own: int
    ) -> str:
        """Return which of the captions that were drawn is the nearest to the image."""
        others = np.unique(drawn[drawn != own])
        best = others[np.einsum("nd,d->n", captions[others], image).argmax()]
        return f'nearest caption: "{self._texts[best]}"'

    def _rng(self, sample: Sample) -> np.random.Generator:
        """Return the random generator of an image's negatives, the same for every model."""
        return np.random.default_rng(int(digest_data([self.options.seed, sample.prompt.id, sample.seed])[:16], 16))

    @cached_property
    def _reference_draws(self) -> NDArray[np.int32]:
        """The draws of the reference code for each prompt; all seeds of a prompt share them."""
        options = self.options
        return retrieval.reference_draws(len(self._places), options.candidates - 1, options.repeats)

    def _vectors(self, answers: Sequence[Answer]) -> _Pool:
        if self._pool is None or self._pool.answers is not answers:
            vectors = np.stack([answer.observation.values for answer in answers])
            self._pool = _Pool(answers, vectors if self.options.reference else retrieval.unit_length(vectors))
        return self._pool
