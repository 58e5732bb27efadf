"""What a query of `likelihood` may set by its `params`. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from t2i_core.api import Options
from t2i_core.api.errors import BadOption

SAMPLES = 10
"""The first look at which captions may be given up comes after so many terms of each."""


class LikelihoodParams(Options):
    """The params of a query; their names and meanings are documented in docs/plugins.md."""

    terms: Literal["log_p", "error"] = Field(
        "log_p",
        description="log_p: the chain of Gaussians (SelfEval, eq. 9). error: of the prediction (Li et al.).",
    )
    trials: int = Field(10, ge=1, description="Independent draws of the noise.")
    steps: int = Field(100, ge=1, description="Steps of the respaced schedule; of error, timesteps.")
    seed: int = Field(0, ge=0, description="Seed of the noise, which all images and captions share.")
    chain: Literal["forward", "free-running"] = Field(
        "forward", description="What the denoiser sees: the noised image, or its own means from pure noise on."
    )
    noise: Literal["step", "trial", "marginal"] = Field(
        "step",
        description="step: new noise in each step. trial: the same in all steps (eq. 7 to the letter). marginal: "
        "x_t from x_0 at once, with one noise a trial.",
    )
    variance: Literal["auto", "posterior", "beta", "learned"] = Field(
        "auto",
        description="auto: learned where the model has one, else posterior, whose first is set to its second.",
    )
    fit: Literal["crop", "stretch"] = Field(
        "crop", description="How images of another shape are brought to the model's size."
    )
    error_rate: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Give captions up that are worse than the best one, wrongly so in this share.",
    )
    stages: tuple[tuple[int, int], ...] = Field(
        (), description="After so many terms keep so many captions, and so on (Li et al.)."
    )

    @model_validator(mode="after")
    def _possible(self) -> LikelihoodParams:
        if self.terms == "log_p" and self.steps < 2:
            raise ValueError("steps: a chain has at least 2")
        if self.gives_up and self.terms == "log_p" and self.chain == "free-running":
            raise ValueError("a free-running chain needs all its steps: no captions are given up in it")
        if self.stages and self.error_rate is not None:
            raise ValueError("captions are given up by error_rate or by stages, not by both")
        samples = [n for n, _ in self.stages]
        if samples != sorted(set(samples)) or any(n < 1 or keep < 1 for n, keep in self.stages):
            raise ValueError("stages: pairs of a growing number of terms and of captions to keep, both from 1")
        if samples and samples[-1] > self.trials * self.steps:
            raise ValueError(f"stages: {samples[-1]} terms of {self.trials * self.steps} (trials x steps)")
        return self

    @property
    def gives_up(self) -> bool:
        """Whether some captions get fewer terms than others."""
        return self.error_rate is not None or bool(self.stages)


def check_terms(want: LikelihoodParams, flow: bool, length: int) -> None:
    """Raise BadOption for terms that a model has not: of a flow, or trained on so many steps."""
    if want.terms == "log_p" and flow:
        raise BadOption(
            "likelihood, param terms: log_p is of a chain of Gaussians with betas, and a flow has none; ask this "
            "model for its errors (terms=error, as the metric selfeval-elbo does)"
        )
    check_steps(want.steps, length)


def check_steps(steps: int, length: int) -> None:
    """Raise BadOption for more steps than a model was trained on."""
    if steps > length:
        raise BadOption(f"likelihood, param steps: {steps}, but the model was trained on {length}")


def asked(params: Mapping[str, Any]) -> LikelihoodParams:
    """Read a query's params. Raises BadOption for unknown ones and for values that they cannot have."""
    try:
        return LikelihoodParams(**params)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadOption(
            f"likelihood, param {where + ': ' if where else ''}{first['msg'].removeprefix('Value error, ')}"
        ) from error
