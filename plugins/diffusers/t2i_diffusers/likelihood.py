"""Answers `likelihood`: the terms of an image's likelihood under captions, by the model's own denoiser.

SelfEval's chain of Gaussians (eq. 6 to 9) for models with betas, and the errors of Li et al. ("Your diffusion
model is secretly a zero-shot classifier") for these and for flows. All arithmetic is in float64 on the CPU but
for the denoiser itself. No guidance: a guided mean is not that of the model's density.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from t2i_core.api import Failure, LikelihoodTerms, Query, Setup
from t2i_core.api.errors import BadModel

from .asking import LikelihoodParams, asked, check_terms
from .denoising import Denoiser
from .latents import encode, fitted
from .loading import LoadedPipeline
from .options import DiffusersOptions
from .terms import NotNumbers, Terms, chain, errors


class Likelihood:
    """Asks one loaded model about images.

    Raises BadModel where texts alone do not tell what the model draws, or its schedule is not known here.
    """

    def __init__(self, loaded: LoadedPipeline, setup: Setup[DiffusersOptions]) -> None:
        self._loaded = loaded
        self._denoiser = Denoiser(loaded, setup.batch_size)
        self._asked_batch_size = setup.batch_size

    def observe(self, queries: Iterable[Query]) -> Iterator[tuple[Query, LikelihoodTerms | Failure]]:
        """Answer each query, in order.

        Raises BadOption for params that are unknown or not possible with this model.
        """
        for query in queries:
            want = asked(query.params)
            if len(query.images) != 1 or not query.texts:
                yield query, Failure("a likelihood is asked of one image under one caption or more")
                continue
            before = self._denoiser.calls
            try:
                terms = self._terms(query, want)
            except NotNumbers as error:
                yield query, Failure(f"{error} {self._loaded.not_numbers}")
            else:
                yield query, LikelihoodTerms(terms, self._denoiser.calls - before)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What a reader of its answers must know."""
        schedule = self._denoiser.schedule
        terms = "error (of the velocity)" if schedule.is_flow else "log_p, error (of the noise)"
        return {
            "size": list(self._denoiser.size),
            "prediction": schedule.prediction,
            "training_steps": schedule.length,
            "terms": terms,
            "timesteps": "log_p: evenly from the first to the last of training, betas worked out anew; error: the "
            "middles of equal intervals",
            "guidance": "none",
            "latents": "none"
            if self._denoiser.parts.autoencoder is None
            else "mean of the autoencoder's posterior",
            "noise": "float64, drawn on the CPU by seed and trial, shared by images and captions",
            "precision": self._loaded.dtype,
            "device": str(self._loaded.device),
            "batch_size": {
                "asked": self._asked_batch_size or "auto",
                "used": self._denoiser.batches.size,
                "halved_for_memory": self._denoiser.batches.halvings,
            },
        }

    def _terms(self, query: Query, want: LikelihoodParams) -> Terms:
        schedule = self._denoiser.schedule
        check_terms(want, schedule.is_flow, schedule.length)
        pixels = fitted(query.images[0].pil(), self._denoiser.size, want.fit)
        x0 = encode(self._denoiser.parts, pixels, self._loaded.device)
        expected = self._denoiser.shape(query.texts[0])
        if x0.shape != expected:
            raise BadModel(
                f"{self._loaded.main.model}: images of {pixels.shape[1]} x {pixels.shape[0]} pixels are encoded "
                f"to {tuple(x0.shape)}, but its denoiser takes {tuple(expected)}"
            )
        if not x0.isfinite().all():
            raise NotNumbers("encodes to latents that are")
        work = errors if want.terms == "error" else chain
        return work(self._denoiser, x0, query.texts, want)
