"""Which models can be asked for a likelihood, told from what their pipeline is made of. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from t2i_core import Setup
from t2i_core.errors import BadModel, NoJudge
from t2i_core.texts import said

from .asking import asked
from .hub import folder_with, index_folder
from .options import DiffusersOptions
from .sources import SCHEDULER, parts_of, read_index, sources

DENOISERS = ("unet", "transformer")
"""What pipelines call their denoiser."""


def check_askable(setup: Setup[DiffusersOptions], params: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a model that has no likelihood of an image under a text, as far as its index and its schedule tell.

    params: of the queries that it will be asked

    How it calls its denoiser is known only when it is loaded. Raises NoJudge, BadModel for a schedule that is not
    known here, and BadOption for params that are not possible with it.
    """
    main = sources(setup.argument, setup.options)[0]
    index = read_index(index_folder(main, setup.offline))
    if why := why_not(index["_class_name"], parts_of(index), setup.options.stages):
        raise NoJudge(f"{main}: {why}")
    wanted = [asked(own) for own in params]
    # these import torch and diffusers, which alone know schedules
    from .schedulers import scheduler_of
    from .schedules import check_terms, schedule_of

    folder = folder_with(main, SCHEDULER, setup.offline)
    try:
        scheduler = scheduler_of(folder, index, setup.options)
    except (OSError, ValueError, TypeError) as error:  # as diffusers says what is wrong with a configuration
        raise BadModel(f"{main}: its scheduler cannot be made: {said(error)}") from error
    if scheduler is not None:
        schedule = schedule_of(scheduler, index["_class_name"], main.model)
        for own in wanted:
            check_terms(schedule, own)


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
