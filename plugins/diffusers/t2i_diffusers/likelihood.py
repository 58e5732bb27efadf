"""Likelihoods of images under captions, computed by the model's own denoiser.

For models with betas, this module computes SelfEval's chain of Gaussians; for these and for flows, prediction
errors. All arithmetic except the denoiser is in float64 on the CPU. Guidance is off, because a guided mean is not
the mean of the model's density.

References:
    SelfEval, eq. 6 to 9. Li et al.: Your Diffusion Model is Secretly a Zero-Shot Classifier. ICCV 2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from t2i_core.api import Failure, LikelihoodTerms, Query, Setup
from t2i_core.api.errors import BadModel

from .denoiser import Denoiser
from .latents import encode, fit_image
from .likelihood_params import LikelihoodParams, check_terms, read_params
from .loaded_pipeline import LoadedPipeline
from .options import DiffusersOptions
from .terms import NotNumbers, Terms, chain, errors


class Likelihood:
    """Computes likelihoods with one loaded model.

    Raises:
        BadModel: The model needs more than a text, or its schedule is not supported.
    """

    def __init__(self, loaded: LoadedPipeline, setup: Setup[DiffusersOptions]) -> None:
        self._loaded = loaded
        self._denoiser = Denoiser(loaded, setup.batch_size)
        self._asked_batch_size = setup.batch_size

    def observe(self, queries: Iterable[Query]) -> Iterator[tuple[Query, LikelihoodTerms | Failure]]:
        """Yield each query with its answer, in order.

        Raises:
            BadOption: A param is unknown or not possible with this model.
        """
        for query in queries:
            want = read_params(query.params)
            if len(query.images) != 1 or not query.texts:
                yield query, Failure("a likelihood query needs one image and at least one caption")
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
        """Settings for the manifest."""
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
        pixels = fit_image(query.images[0].pil(), self._denoiser.size, want.fit)
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
