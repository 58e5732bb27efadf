"""Options of the metrics: the paper's parameters, and the choices that it leaves open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from t2i_core.api import Options
from t2i_core.api.options import ExecutionOption

Votes = Annotated[Path | None, ExecutionOption()]
_VOTES = Field(
    None,
    description="Analyses: file of people's preferences, a database of t2i people serve or CSV.",
)
Estimator = Literal["mean", "sum", "log-mean-exp", "q-mean", "q-log-mean-exp"]


class TermsOptions(Options):
    """Options of all metrics that use the model's likelihood."""

    trials: int = Field(10, ge=1, description="N: number of independent draws of the noise.")
    steps: int = Field(
        100,
        ge=1,
        description="T: number of steps of the respaced schedule, or of timesteps for prediction errors.",
    )
    fit: Literal["crop", "stretch"] = Field(
        "crop", description="How to bring images of another aspect ratio to the model's size."
    )

    @model_validator(mode="before")
    @classmethod
    def _unguided(cls, given: Any) -> Any:
        if isinstance(given, dict) and {"guidance", "guidance_scale"} & given.keys():
            raise ValueError(
                "guidance cannot be set, because a guided mean is not the mean of the model's density; remove it"
            )
        return given


class EliminationOptions(TermsOptions):
    """Options of all metrics that pick one of several captions by the model's likelihood."""

    exact: bool = Field(
        False, description="Compute all terms of all captions instead of eliminating captions that cannot win."
    )
    error_rate: float = Field(
        0.05, gt=0, lt=1, description="Maximum share of samples whose best caption is eliminated by mistake."
    )
    blind: bool = Field(
        False, description="Show a grey image in place of every image, to measure what captions alone decide."
    )
    votes: Votes = _VOTES


class _Chain(Options):
    """Options of the chain of Gaussians (equations 6 to 9 of the paper)."""

    estimator: Estimator = Field(
        "mean",
        description="How to combine trials. mean: mean of the log-probabilities. sum: equation 9 as printed, "
        "without 1/N. log-mean-exp: log of the mean probability. With q-, log q(x_t | x_t-1) is subtracted first; "
        "the mean is then the bound on log p(x), and log-mean-exp converges to log p(x).",
    )
    chain: Literal["forward", "free-running", "free-running-mean"] = Field(
        "forward",
        description="Input of the denoiser. forward: the noised image (equations 6 to 9). free-running: samples "
        "of the model's own reverse process from x_T on (section 3.3). free-running-mean: the means of this "
        "process, which the paper does not have.",
    )
    noise: Literal["step", "trial", "marginal"] = Field(
        "step",
        description="step: new noise in each step. trial: the same noise in all steps of a trial (equation 7 as "
        "printed). marginal: the same, with x_t drawn from x_0 directly.",
    )
    variance: Literal["auto", "posterior", "beta", "learned"] = Field(
        "auto",
        description="Variance of p(x_t-1 | x_t). auto: the learned variance if the model has one, else the "
        "posterior's.",
    )
    minus_empty: bool = Field(
        False, description="Compute log p(x | empty caption) too, and its difference to log p(x | caption)."
    )

    @model_validator(mode="after")
    def _has_log_q(self) -> _Chain:
        if self.estimator.startswith("q-") and self.noise != "step":
            raise ValueError(
                f"estimator={self.estimator} needs noise=step (got noise={self.noise}, which has no "
                "log q(x_t | x_t-1))"
            )
        return self


def _check_chain(steps: int) -> None:
    """Raise ValueError for a chain of one step, because its first variance is set to its second."""
    if steps < 2:
        raise ValueError(f"steps must be at least 2 (got {steps})")


class SelfEvalOptions(_Chain, EliminationOptions):
    """Options of `selfeval`."""

    also_steps: tuple[int, ...] = Field(
        (), description="Further numbers of steps T to query the model for, for the ablation of steps."
    )

    @model_validator(mode="after")
    def _check_chains(self) -> SelfEvalOptions:
        for steps in (self.steps, *self.also_steps):
            _check_chain(steps)
        return self

    @property
    def gives_up(self) -> bool:
        """True if captions may be eliminated; only a mean of terms can be estimated from a part of them."""
        means = self.estimator in ("mean", "sum", "q-mean")
        return not (self.exact or self.minus_empty or self.chain != "forward") and means


class ElboOptions(EliminationOptions):
    """Options of `selfeval-elbo`."""

    stages: tuple[tuple[int, int], ...] = Field(
        (),
        description="Eliminate captions in stages as Li et al. do, in place of the error rate: pairs of a number "
        "of terms and the number of captions to keep after it.",
    )
    weights: Literal["none", "bound"] = Field(
        "none",
        description="none: unweighted errors (Li et al.). bound: weights of the bound on log p(x), for flow "
        "models only.",
    )

    @model_validator(mode="after")
    def _check_stages(self) -> ElboOptions:
        if self.stages and (self.exact or self.weights == "bound"):
            raise ValueError("stages cannot be combined with exact=true or weights=bound; remove one of them")
        terms = [n for n, _ in self.stages]
        if terms != sorted(set(terms)) or any(n < 1 or keep < 1 for n, keep in self.stages):
            raise ValueError(
                "stages must be pairs of a number of terms, in ascending order, and a number of captions to keep, "
                "both at least 1"
            )
        if terms and terms[-1] > self.trials * self.steps:
            raise ValueError(
                f"stages: the number of terms must be at most {self.trials * self.steps}, trials x steps "
                f"(got {terms[-1]})"
            )
        return self

    @property
    def gives_up(self) -> bool:
        """True if captions may be eliminated; elimination uses unweighted errors."""
        return not self.exact and self.weights == "none"


class SelfEvalClipOptions(Options):
    """Options of `selfeval-clip`."""

    votes: Votes = _VOTES


class WinogroundOptions(_Chain, TermsOptions):
    """Options of `winoground`."""

    by: Literal["log_p", "error", "clip"] = Field(
        "log_p",
        description="Score to compare: log p(x | caption), prediction errors (Li et al.), or CLIP cosines.",
    )

    @model_validator(mode="after")
    def _check_score(self) -> WinogroundOptions:
        if self.by == "log_p":
            _check_chain(self.steps)
        if self.by == "clip" and self.minus_empty:
            raise ValueError("minus_empty cannot be combined with by=clip; use by=log_p or by=error")
        return self
