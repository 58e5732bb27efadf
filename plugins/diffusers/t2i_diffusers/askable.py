"""Which models can be asked for a likelihood, told from what their pipeline is made of. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from t2i_core.api import Setup
from t2i_core.api.errors import BadModel, NoJudge

from .asking import asked, check_terms
from .hub import folder_with, index_folder
from .options import DiffusersOptions
from .presets import KNOWN
from .sources import SCHEDULER, parts_of, read_index, read_object, sources

DENOISERS = ("unet", "transformer")
"""What pipelines call their denoiser."""

VELOCITIES = {
    "StableDiffusion3Pipeline": (1000.0, False),
    "SanaPipeline": (1000.0, False),
    "FluxPipeline": (1.0, False),
    "Flux2Pipeline": (1.0, False),
    "Flux2KleinPipeline": (1.0, False),
    "QwenImagePipeline": (1.0, False),
    "ZImagePipeline": (1.0, True),
}
"""How flow models count time, which is the share of noise times this; or backwards, with the velocity's sign."""

TRAINING_STEPS = 1000
"""Of a schedule whose configuration does not say how many there were: the default of diffusers."""


def check_askable(setup: Setup[DiffusersOptions], params: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a model that has no likelihood of an image under a text, as far as its index and its schedule tell.

    params: of the queries that it will be asked

    How it calls its denoiser is known only when it is loaded. Raises NoJudge, BadModel for a schedule that is not
    known here, and BadOption for params that are not possible with it.
    """
    main = sources(setup.argument, setup.options)[0]
    if any(known.repository == main.model and not known.likelihood for known in KNOWN):
        raise NoJudge(f"{main}: draws from what its prior made of a text: there is no likelihood under a text")
    index = read_index(index_folder(main, setup.offline))
    if why := why_not(index["_class_name"], parts_of(index), setup.options.stages):
        raise NoJudge(f"{main}: {why}")
    config = read_object(folder_with(main, SCHEDULER, setup.offline) / SCHEDULER)
    scheduler = setup.options.scheduler or str(index["scheduler"][1])
    config |= setup.options.scheduler_options
    flow = is_flow(scheduler, config, index["_class_name"], main.model)
    for own in params:
        check_terms(asked(own), flow, int(config.get("num_train_timesteps", TRAINING_STEPS)))


def is_flow(scheduler: str, config: Mapping[str, Any], pipeline: str, model: str) -> bool:
    """Whether a schedule mixes image and noise along a straight line, without betas.

    scheduler, pipeline:  their classes

    Raises BadModel where it is a flow's and how the pipeline counts time is not known, or has no betas either, as
    far as its class tells.
    """
    if scheduler.startswith("FlowMatch") or config.get("prediction_type") == "flow_prediction":
        if pipeline in VELOCITIES:
            return True
        raise BadModel(
            f"{model}: {scheduler} is a flow's, and how a flow of {pipeline} counts time is not known here"
        )
    if scheduler.startswith("EDM"):
        raise without_betas(scheduler, model)
    return False


def without_betas(scheduler: str, model: str) -> BadModel:
    """What to say of a schedule that is neither a flow's nor has betas."""
    return BadModel(f"{model}: {scheduler} has no betas, so that there is no chain whose likelihood could be told")


def why_not(pipeline: str, parts: Collection[str], stages: Collection[str]) -> str | None:
    """Say why a pipeline has no likelihood of an image under a text; None where its parts do not tell.

    pipeline:  its class
    parts:     the names of those that it has
    stages:    the names of the further pipelines of its chain
    """
    if "prior" in stages:
        reason = "draws from what its prior made of a text, not from the text"
    elif "scheduler" not in parts or not any(name in parts for name in DENOISERS):
        reason = "has not one denoiser with one schedule"
    else:
        return None
    return f"{pipeline} {reason}: there is no likelihood of an image under a text"
