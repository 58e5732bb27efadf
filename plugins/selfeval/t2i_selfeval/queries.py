"""Queries to the model: the likelihood of each image of a sample under the sample's captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2i_core.api import Need, Query, Sample
from t2i_core.api.image import Image, load_image

from .options import ElboOptions, SelfEvalOptions, TermsOptions, WinogroundOptions
from .samples import REPEAT

NEED = "likelihood"
GREY = Path(__file__).with_name("grey.png")
"""A plain grey image that replaces every sample's image in blind runs."""

EMPTY = ""
REPEAT_STRIDE = 1_000_000
"""Difference between the noise seeds of two repeats, so that no seed of one is a seed of the other."""

Params = Mapping[str, Any]


def build_need(
    options: TermsOptions, variants: Sequence[Params], empty: bool = False, blind: bool = False
) -> Need:
    """Return a need of the likelihood of each image of a sample.

    Args:
        options: The options.
        variants: Parameters of the queries; each image is queried once per variant.
        empty: Add the empty caption after the sample's captions.
        blind: Show a grey image in place of the sample's images.
    """

    params = tuple({"trials": options.trials, "fit": options.fit, **own} for own in variants)

    def queries(samples: Sequence[Sample]) -> list[Query]:
        sample = samples[0]
        texts = (*sample.prompt.texts, EMPTY) if empty else sample.prompt.texts
        images: tuple[Image, ...] = (load_image(GREY),) if blind else sample.own_images
        # All samples of one seed and repeat share their noise; another repeats the measurement with other noise.
        seed = sample.seed + REPEAT_STRIDE * (int(sample.prompt.facets.get(REPEAT, 1)) - 1)
        return [Query((image,), texts, {**own, "seed": seed}) for own in params for image in images]

    return Need(NEED, "likelihood", source="model", images="prompt", queries=queries, params=params)


def chain_params(options: SelfEvalOptions | WinogroundOptions, steps: int) -> Params:
    """Return the parameters of SelfEval's chain with a given number of steps, without the trials."""
    return {
        "terms": "log_p",
        "steps": steps,
        "chain": options.chain,
        "noise": options.noise,
        "variance": options.variance,
    }


def elimination_params(options: SelfEvalOptions | ElboOptions) -> Params:
    """Return the parameters of the elimination of captions; empty if no caption may be eliminated."""
    if isinstance(options, ElboOptions) and options.stages:
        return {"stages": [list(stage) for stage in options.stages]}
    return {"error_rate": options.error_rate} if options.gives_up else {}
