"""What a model is asked: a likelihood of each of a sample's images, under its captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2i_core.api import Need, Query, Sample
from t2i_core.api.image import Image, load_image

from .options import ElboOptions, SelfEvalOptions, TermsOptions, WinogroundOptions

NEED = "likelihood"
GREY = Path(__file__).with_name("grey.png")
"""The plain image that is shown in place of every sample's own."""

EMPTY = ""

Params = Mapping[str, Any]


def need(options: TermsOptions, asked: Sequence[Params], empty: bool = False, blind: bool = False) -> Need:
    """Return the need of a likelihood of each image of a sample's, as often as there are params.

    empty: under the empty caption too, which comes last
    """

    params = tuple({"trials": options.trials, "fit": options.fit, **own} for own in asked)

    def queries(samples: Sequence[Sample]) -> list[Query]:
        sample = samples[0]
        texts = (*sample.prompt.texts, EMPTY) if empty else sample.prompt.texts
        images: tuple[Image, ...] = (load_image(GREY),) if blind else sample.own_images
        # the noise of all samples of one seed is the same: a repeat is another seed
        return [Query((image,), texts, {**own, "seed": sample.seed}) for own in params for image in images]

    return Need(NEED, "likelihood", source="model", images="prompt", queries=queries, params=params)


def chain_params(options: SelfEvalOptions | WinogroundOptions, steps: int) -> Params:
    """Return what SelfEval's chain takes beyond trials, with so many steps."""
    return {
        "terms": "log_p",
        "steps": steps,
        "chain": options.chain,
        "noise": options.noise,
        "variance": options.variance,
    }


def elimination(options: SelfEvalOptions | ElboOptions) -> Params:
    """Return what says when captions are given up."""
    if isinstance(options, ElboOptions) and options.stages:
        return {"stages": [list(stage) for stage in options.stages]}
    return {"error_rate": options.error_rate} if options.gives_up else {}
