"""A model's noise schedule in float64, and its steps.

Half precision is not enough: in float16 the first step's variance, 1 - alpha_bar_1, is off by 15 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from t2i_core.api.errors import BadModel

from .likelihood_params import check_steps
from .likelihood_support import is_flow, make_no_betas_error


@dataclass(frozen=True)
class Schedule:
    """The noise schedule that a model was trained with.

    Attributes:
        prediction: Output of the denoiser: `epsilon`, `v_prediction`, `sample`, or `flow` (a velocity).
        betas: float64 (n,), the variance that each of n training steps adds; empty for a flow.
        length: Number of training steps.
    """

    prediction: str
    betas: torch.Tensor | None
    length: int

    @property
    def is_flow(self) -> bool:
        """Whether the schedule mixes noise and image along a straight line, without betas."""
        return self.betas is None


def make_schedule(scheduler: Any, pipeline: str, model: str) -> Schedule:
    """Return the schedule of a diffusers scheduler, with betas converted from float32 to float64.

    `pipeline` is the class of the scheduler's pipeline.

    Raises:
        BadModel: The scheduler has neither betas nor a supported flow, or its prediction type is not supported.
    """
    name, config = type(scheduler).__name__, scheduler.config
    prediction, length = config.get("prediction_type", "epsilon"), config.num_train_timesteps
    if is_flow(name, config, pipeline, model):
        return Schedule("flow", None, length)
    betas = getattr(scheduler, "betas", None)
    if betas is None:
        raise make_no_betas_error(name, model)
    if prediction not in ("epsilon", "v_prediction", "sample"):
        raise BadModel(f"{model}: likelihoods of models that predict {prediction!r} are not supported")
    schedule = Schedule(prediction, betas.detach().cpu().double(), length)
    if prediction == "epsilon" and not (1 - betas).prod() > 0:
        raise BadModel(f"{model}: with no signal left in its last step, a prediction of the noise says nothing")
    return schedule


@dataclass(frozen=True)
class Steps:
    """T steps of a schedule, ascending: step i leads from x_{i-1} to x_i, where x_0 is the image.

    Attributes:
        timesteps: int64 (T,), times for the denoiser.
        beta: float64 (T,), variance that each step adds.
        signal: float64 (T,), share of the image's variance left after each step (alpha_bar).
        before: float64 (T,), that share before each step.
    """

    timesteps: torch.Tensor
    beta: torch.Tensor
    signal: torch.Tensor
    before: torch.Tensor

    def __len__(self) -> int:
        return len(self.timesteps)

    @property
    def posterior(self) -> torch.Tensor:
        """Variance of q(x_{t-1} | x_t, x_0); the first step, whose variance is 0, has the second step's."""
        variance = self.beta * (1 - self.before) / (1 - self.signal)
        variance[0] = variance[1]
        return variance


def respace(betas: torch.Tensor, steps: int) -> Steps:
    """Return evenly spaced steps of a schedule, from its first to its last, with recomputed betas.

    Raises:
        BadOption: The schedule has fewer steps.
    """
    check_steps(steps, len(betas))
    timesteps = torch.linspace(0, len(betas) - 1, steps, dtype=torch.float64).round().long()
    signal = torch.cumprod(1 - betas, 0)[timesteps]
    before = torch.cat([torch.ones(1, dtype=torch.float64), signal[:-1]])
    return Steps(timesteps, 1 - signal / before, signal, before)


def midpoints(length: int, steps: int) -> torch.Tensor:
    """Return the midpoints of equal intervals of a schedule, int64, where Li et al. evaluate errors."""
    check_steps(steps, length)
    interval = length // steps
    return interval // 2 + interval * torch.arange(steps)
