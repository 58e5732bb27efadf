"""Check whether a model has a likelihood, from the parts of its pipeline. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from t2i_core.api import Setup
from t2i_core.api.errors import BadModel, NoJudge

from .hub import folder_with, index_folder
from .likelihood_params import check_terms, read_params
from .options import DiffusersOptions
from .presets import KNOWN
from .sources import DENOISERS, SCHEDULER, list_parts, read_index, read_object, sources

VELOCITIES = {
    "StableDiffusion3Pipeline": (1000.0, False),
    "SanaPipeline": (1000.0, False),
    "FluxPipeline": (1.0, False),
    "Flux2Pipeline": (1.0, False),
    "Flux2KleinPipeline": (1.0, False),
    "QwenImagePipeline": (1.0, False),
    "ZImagePipeline": (1.0, True),
}
"""Factor from the share of noise to the time of a flow model; negative if time runs backwards."""

TRAINING_STEPS = 1000
"""Number of training steps if the schedule's configuration has none: the default of diffusers."""


def check_askable(setup: Setup[DiffusersOptions], params: Iterable[Mapping[str, Any]]) -> None:
    """Check from a model's index and schedule that it has a likelihood of an image under a text.

    How the model calls its denoiser is known only after loading.

    Args:
        setup: Setup of the model.
        params: Params of the queries to come.

    Raises:
        NoJudge: The model has no likelihood.
        BadModel: The schedule is not supported.
        BadOption: The params do not fit the model.
    """
    main = sources(setup.argument, setup.options)[0]
    if any(known.repository == main.model and not known.likelihood for known in KNOWN):
        raise NoJudge(
            f"{main}: it draws from a prior's embedding of the text, so it has no likelihood under the text"
        )
    index = read_index(index_folder(main, setup.offline))
    if why := explain_no_likelihood(index["_class_name"], list_parts(index), setup.options.stages):
        raise NoJudge(f"{main}: {why}")
    config = read_object(folder_with(main, SCHEDULER, setup.offline) / SCHEDULER)
    scheduler = setup.options.scheduler or str(index["scheduler"][1])
    config |= setup.options.scheduler_options
    flow = is_flow(scheduler, config, index["_class_name"], main.model)
    for own in params:
        check_terms(read_params(own), flow, int(config.get("num_train_timesteps", TRAINING_STEPS)))


def is_flow(scheduler: str, config: Mapping[str, Any], pipeline: str, model: str) -> bool:
    """Return whether a schedule is a flow: it mixes image and noise along a straight line, without betas.

    Args:
        scheduler: Class of the scheduler.
        config: Its configuration.
        pipeline: Class of the pipeline.
        model: Name of the model, for messages.

    Raises:
        BadModel: The time of the flow is not known for the pipeline, or the schedule has no betas either.
    """
    if scheduler.startswith("FlowMatch") or config.get("prediction_type") == "flow_prediction":
        if pipeline in VELOCITIES:
            return True
        raise BadModel(
            f"{model}: likelihoods of a {pipeline} with the flow scheduler {scheduler} are not supported"
        )
    if scheduler.startswith("EDM"):
        raise make_no_betas_error(scheduler, model)
    return False


def make_no_betas_error(scheduler: str, model: str) -> BadModel:
    """Return the error for a schedule that is neither a flow nor has betas."""
    return BadModel(f"{model}: {scheduler} has no betas, so the model has no likelihood")


def explain_no_likelihood(pipeline: str, parts: Collection[str], stages: Collection[str]) -> str | None:
    """Return why a pipeline has no likelihood of an image under a text; None if its parts show no reason.

    Args:
        pipeline: Class of the pipeline.
        parts: Names of its parts.
        stages: Names of the further pipelines of its chain.
    """
    if "prior" in stages:
        reason = "draws from a prior's embedding of the text, not from the text"
    elif "scheduler" not in parts or not any(name in parts for name in DENOISERS):
        reason = "does not have exactly one denoiser with one schedule"
    else:
        return None
    return f"{pipeline} {reason}, so it has no likelihood of an image under a text"
