"""The plugin: sinks for trackers and model cards. Only their factories import the libraries of the trackers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, Loading, Setup, Sink, SinkInfo, hookimpl
from t2i_core.api.errors import MissingDependency

from .options import CardOptions, MlflowOptions, TrackerOptions, WandbOptions

if TYPE_CHECKING:
    from .tensorboard_logs import TensorboardLogs


@hookimpl
def t2i_sinks() -> list[SinkInfo]:
    """Return the descriptors of the sinks."""
    return [
        SinkInfo(
            name="wandb",
            summary="Scores, settings and worst images to Weights & Biases.",
            argument="PROJECT: the project; default: t2i",
            options=WandbOptions,
            loading=Loading(check=_check_wandb),
            about=About(licence="MIT", notes="Needs t2i-trackers[wandb]."),
            create=_wandb,
        ),
        SinkInfo(
            name="mlflow",
            summary="Scores, settings and worst images to an MLflow server.",
            argument="ADDRESS: http://HOST:PORT; default: the environment's MLFLOW_TRACKING_URI",
            options=MlflowOptions,
            loading=Loading(check=_check_mlflow),
            about=About(licence="Apache-2.0", notes="Needs t2i-trackers[mlflow]."),
            create=_mlflow,
        ),
        SinkInfo(
            name="tensorboard",
            summary="Scores, settings and worst images as TensorBoard's event files.",
            argument="FOLDER: folder of the event files; default: tensorboard",
            options=TrackerOptions,
            loading=Loading(check=_check_tensorboard),
            about=About(licence="Apache-2.0", notes="Needs t2i-trackers[tensorboard]."),
            create=_tensorboard,
        ),
        SinkInfo(
            name="model-card",
            summary="Scores in a model card of the Hugging Face hub (model-index, evaluation results).",
            argument="FILE: a card whose scores are replaced; default: new cards in the run's folder",
            options=CardOptions,
            loading=Loading(check=_check_card),
            create=_model_card,
        ),
    ]


def _wandb(setup: Setup[WandbOptions]) -> Sink:
    with _needs("wandb"):
        from .wandb_runs import WandbRuns
    return WandbRuns(setup)


def _check_wandb(setup: Setup[WandbOptions]) -> None:
    with _needs("wandb"):
        from .wandb_runs import check_login
    check_login(setup)


def _mlflow(setup: Setup[MlflowOptions]) -> Sink:
    with _needs("mlflow"):
        from .mlflow_runs import MlflowRuns
    return MlflowRuns(setup)


def _check_mlflow(setup: Setup[MlflowOptions]) -> None:
    with _needs("mlflow"):
        from .mlflow_runs import check_server
    check_server(setup)


def _tensorboard(setup: Setup[TrackerOptions]) -> TensorboardLogs:
    with _needs("tensorboard"):
        from .tensorboard_logs import TensorboardLogs
    return TensorboardLogs(setup)


def _check_tensorboard(setup: Setup[Any]) -> None:
    sink = _tensorboard(setup)
    if not setup.dry:
        sink.check()


def _check_card(setup: Setup[CardOptions]) -> None:
    if setup.argument is not None:
        from .model_card import check_card

        check_card(Path(setup.argument))


def _model_card(setup: Setup[CardOptions]) -> Sink:
    from .model_card import ModelCards

    return ModelCards(setup)


@contextmanager
def _needs(extra: str) -> Iterator[None]:
    """Say which extra a sink needs, if its library is missing."""
    try:
        yield
    except ImportError as error:
        raise MissingDependency(
            f"'{extra}': {error.name or 'its library'} is not installed; install t2i-trackers[{extra}]"
        ) from error
