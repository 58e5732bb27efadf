"""Options of the sinks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class TrackerOptions(Options):
    """Options that all trackers have."""

    images: int = Field(
        8, ge=0, le=100, description="Number of images with the worst values, of each model and metric."
    )


class WandbOptions(TrackerOptions):
    """Options of `wandb`. What they leave out, the client takes from its own settings and environment."""

    entity: str | None = Field(None, description="User or team; default: the client's own.")
    mode: Literal["online", "offline"] | None = Field(
        None, description="`offline` writes files for `wandb sync`; default: the client's own (WANDB_MODE)."
    )
    folder: str | None = Field(None, description="Folder for the client's files; default: the client's own.")


class MlflowOptions(TrackerOptions):
    """Options of `mlflow`."""

    experiment: str = Field("t2i", min_length=1, description="Name of the experiment; a new name makes a new one.")


class CardOptions(Options):
    """Options of `model-card`."""

    model: str | None = Field(
        None, description="Label of the one model to write. Needed for a given card if the run has several models."
    )
    benchmark: str | None = Field(
        None,
        pattern=r"^[^/\s]+/[^/\s]+$",
        description="Data set on the hub (ORG/NAME) whose prompts the run has. With it, the scores are also "
        "written as evaluation results, which the hub shows on the leaderboard of that data set.",
    )
    task: str = Field("default", min_length=1, description="Name of the task in that data set's leaderboard.")
