"""A model's noise schedule in float64, and steps of it.

Half precision would not do: in float16 the first step's variance, 1 - alpha_bar_1, is off by 15 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from t2i_core.api.errors import BadModel

from .askable import is_flow, without_betas
from .asking import check_steps


@dataclass(frozen=True)
class Schedule:
    """How a model was trained to denoise.

    prediction:  of what its denoiser gives: `epsilon`, `v_prediction`, `sample`, or `flow` (a velocity)
    betas:       float64 (n,), the variance that each of n training steps adds; of a flow there are none
    length:      how many training steps there are
    """

    prediction: str
    betas: torch.Tensor | None
    length: int

    @property
    def is_flow(self) -> bool:
        """Whether noise and image are mixed along a straight line, without betas."""
        return self.betas is None


def schedule_of(scheduler: Any, pipeline: str, model: str) -> Schedule:
    """Read a scheduler of diffusers, whose betas are float32, into float64.

    pipeline:  the class of pipeline that it belongs to

    Raises BadModel where it has neither betas nor a flow whose time the pipeline is known to count, or predicts
    what is not known here.
    """
    name, config = type(scheduler).__name__, scheduler.config
    prediction, length = config.get("prediction_type", "epsilon"), config.num_train_timesteps
    if is_flow(name, config, pipeline, model):
        return Schedule("flow", None, length)
    betas = getattr(scheduler, "betas", None)
    if betas is None:
        raise without_betas(name, model)
    if prediction not in ("epsilon", "v_prediction", "sample"):
        raise BadModel(f"{model}: likelihoods of models that predict {prediction!r} are not known here")
    schedule = Schedule(prediction, betas.detach().cpu().double(), length)
    if prediction == "epsilon" and not (1 - betas).prod() > 0:
        raise BadModel(f"{model}: with no signal left in its last step, a prediction of the noise says nothing")
    return schedule


@dataclass(frozen=True)
class Steps:
    """T steps of a schedule, ascending: step i leads from x_{i-1} to x_i, where x_0 is the image.

    timesteps:  int64 (T,), what the denoiser is told
    beta, signal, before:  float64 (T,): the variance that a step adds; the share of the image's variance that is
                left after it (alpha_bar); and before it
    """

    timesteps: torch.Tensor
    beta: torch.Tensor
    signal: torch.Tensor
    before: torch.Tensor

    def __len__(self) -> int:
        return len(self.timesteps)

    @property
    def posterior(self) -> torch.Tensor:
        """Variance of q(x_{t-1} | x_t, x_0); that of the first step, which is 0, is set to the second's."""
        variance = self.beta * (1 - self.before) / (1 - self.signal)
        variance[0] = variance[1]
        return variance


def respaced(betas: torch.Tensor, steps: int) -> Steps:
    """Take so many steps of a schedule, evenly from its first to its last, and work the betas out anew.

    Raises BadOption where the schedule has not so many.
    """
    check_steps(steps, len(betas))
    timesteps = torch.linspace(0, len(betas) - 1, steps, dtype=torch.float64).round().long()
    signal = torch.cumprod(1 - betas, 0)[timesteps]
    before = torch.cat([torch.ones(1, dtype=torch.float64), signal[:-1]])
    return Steps(timesteps, 1 - signal / before, signal, before)


def midpoints(length: int, steps: int) -> torch.Tensor:
    """Return the middles of so many equal intervals of a schedule, int64: where Li et al. look at errors."""
    check_steps(steps, length)
    interval = length // steps
    return interval // 2 + interval * torch.arange(steps)
