"""The params of likelihood queries. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from t2i_core.api import Options
from t2i_core.api.errors import BadOption

SAMPLES = 10
"""Number of terms per caption before captions may be given up for the first time."""


class LikelihoodParams(Options):
    """The params of a likelihood query; docs/plugins.md documents them."""

    terms: Literal["log_p", "error"] = Field(
        "log_p",
        description="log_p: the chain of Gaussians (SelfEval, eq. 9). error: prediction errors (Li et al.).",
    )
    trials: int = Field(10, ge=1, description="Number of independent draws of the noise.")
    steps: int = Field(100, ge=1, description="Number of steps of the respaced schedule; for error, of timesteps.")
    seed: int = Field(0, ge=0, description="Seed of the noise, which all images and captions share.")
    chain: Literal["forward", "free-running", "free-running-mean"] = Field(
        "forward",
        description="Input of the denoiser. forward: the noised image. free-running: samples of its own reverse "
        "process, starting from x_T (SelfEval, section 3.3). free-running-mean: its own means, starting from x_T.",
    )
    noise: Literal["step", "trial", "marginal"] = Field(
        "step",
        description="step: new noise in each step. trial: the same noise in all steps (eq. 7 literally). "
        "marginal: x_t directly from x_0, with one noise per trial.",
    )
    variance: Literal["auto", "posterior", "beta", "learned"] = Field(
        "auto",
        description="auto: learned if the model has one, otherwise posterior, with the second value as the first.",
    )
    fit: Literal["crop", "stretch"] = Field(
        "crop", description="How to fit images of another shape to the model's size."
    )
    error_rate: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Give up captions that are worse than the best one, with this error rate.",
    )
    stages: tuple[tuple[int, int], ...] = Field(
        (), description="Pairs (terms, captions): keep that many captions after that many terms (Li et al.)."
    )

    @model_validator(mode="after")
    def _possible(self) -> LikelihoodParams:
        if self.terms == "log_p" and self.steps < 2:
            raise ValueError("steps: a chain needs at least 2")
        if self.gives_up and self.terms == "log_p" and self.chain != "forward":
            raise ValueError("a free-running chain needs all steps; leave out error_rate and stages")
        if self.stages and self.error_rate is not None:
            raise ValueError("error_rate and stages exclude each other; set one of them")
        samples = [n for n, _ in self.stages]
        if samples != sorted(set(samples)) or any(n < 1 or keep < 1 for n, keep in self.stages):
            raise ValueError("stages: pairs of a growing number of terms and of captions to keep, both from 1")
        if samples and samples[-1] > self.trials * self.steps:
            raise ValueError(f"stages: {samples[-1]} terms of {self.trials * self.steps} (trials x steps)")
        return self

    @property
    def gives_up(self) -> bool:
        """Whether captions may be given up before all terms are computed."""
        return self.error_rate is not None or bool(self.stages)


def check_terms(want: LikelihoodParams, flow: bool, length: int) -> None:
    """Raise BadOption for terms that a model does not have.

    Args:
        want: The params.
        flow: Whether the model is a flow.
        length: Number of training steps of the model.
    """
    if want.terms == "log_p" and flow:
        raise BadOption(
            "likelihood, param terms: log_p needs a chain of Gaussians with betas, which a flow does not have; "
            "use terms=error, as the metric selfeval-elbo does"
        )
    check_steps(want.steps, length)


def check_steps(steps: int, length: int) -> None:
    """Raise BadOption if the steps exceed the model's training steps."""
    if steps > length:
        raise BadOption(f"likelihood, param steps: {steps}, but the model was trained on {length}")


def read_params(params: Mapping[str, Any]) -> LikelihoodParams:
    """Return the validated params of a query. Raises BadOption."""
    try:
        return LikelihoodParams(**params)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadOption(
            f"likelihood, param {where + ': ' if where else ''}{first['msg'].removeprefix('Value error, ')}"
        ) from error
