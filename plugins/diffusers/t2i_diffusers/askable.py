"""Which models can be asked for a likelihood, told from what their pipeline is made of. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Collection

from t2i_core import Setup
from t2i_core.errors import NoJudge

from .hub import index_folder
from .options import DiffusersOptions
from .sources import parts_of, read_index, sources

DENOISERS = ("unet", "transformer")
"""What pipelines call their denoiser."""


def check_askable(setup: Setup[DiffusersOptions]) -> None:
    """Raise NoJudge where a model's index tells that it has no likelihood of an image under a text.

    How it calls its denoiser, and its schedule, are known only when it is loaded.
    """
    main = sources(setup.argument, setup.options)[0]
    index = read_index(index_folder(main, setup.offline))
    if why := why_not(index["_class_name"], parts_of(index), setup.options.stages):
        raise NoJudge(f"{main}: {why}")


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
