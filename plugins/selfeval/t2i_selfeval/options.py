"""Options of the metrics: what the paper says, and each choice that it leaves open. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from t2i_core.api import Options
from t2i_core.api.options import ExecutionOption

Votes = Annotated[Path | None, ExecutionOption()]
_VOTES = Field(
    None,
    description="What people prefer, for analyses: CSV of prompt, left, right, verdict, judge, as `t2i arena "
    "export` writes it.",
)
Estimator = Literal["mean", "sum", "log-mean-exp", "q-mean", "q-log-mean-exp"]


class TermsOptions(Options):
    """Of all that ask a model for a likelihood."""

    trials: int = Field(10, ge=1, description="N, independent draws of the noise.")
    steps: int = Field(100, ge=1, description="T, steps of the respaced schedule; of the ELBO, timesteps.")
    fit: Literal["crop", "stretch"] = Field(
        "crop", description="How images of another shape are brought to the model's size."
    )

    @model_validator(mode="before")
    @classmethod
    def _unguided(cls, given: Any) -> Any:
        if isinstance(given, dict) and {"guidance", "guidance_scale"} & given.keys():
            raise ValueError("guidance: there is none, for a guided mean is not that of the model's density")
        return given


class EliminationOptions(TermsOptions):
    """Of all that pick one of several captions."""

    exact: bool = Field(
        False, description="Ask for every term of every caption; otherwise captions that cannot win are given up."
    )
    error_rate: float = Field(
        0.05, gt=0, lt=1, description="In this share of samples at most the best caption is given up wrongly."
    )
    blind: bool = Field(
        False, description="Show a plain grey image in place of each sample's own: what captions alone decide."
    )
    votes: Votes = _VOTES


class _Chain(Options):
    """Choices about the chain of Gaussians, eq. 6 to 9."""

    estimator: Estimator = Field(
        "mean",
        description="How trials become one number. mean: of their log-probabilities. sum: eq. 9 as printed, which "
        "lacks 1/N. log-mean-exp: log of their mean. q-: less log q(x_t | x_t-1), which makes the mean the bound "
        "on log p(x), and log-mean-exp converge to it.",
    )
    chain: Literal["forward", "free-running"] = Field(
        "forward",
        description="What the denoiser sees: the noised image (eq. 6 to 9), or its own means from x_T on (section "
        "3.3).",
    )
    noise: Literal["step", "trial", "marginal"] = Field(
        "step",
        description="step: new noise in each step. trial: one in all steps (eq. 7 to the letter). marginal: x_t "
        "from x_0 at once, one a trial.",
    )
    variance: Literal["auto", "posterior", "beta", "learned"] = Field(
        "auto", description="Of p(x_t-1 | x_t): learned where the model has one, else that of the posterior."
    )
    minus_empty: bool = Field(
        False, description="Ask under the empty caption too: log p(x | caption) - log p(x | empty)."
    )

    @model_validator(mode="after")
    def _has_log_q(self) -> _Chain:
        if self.estimator.startswith("q-") and self.noise != "step":
            raise ValueError(
                f"estimator={self.estimator}: noise={self.noise} has no log q(x_t | x_t-1); take step"
            )
        return self


def _a_chain(steps: int) -> None:
    """Refuse a chain whose first variance cannot be set to its second's."""
    if steps < 2:
        raise ValueError(f"steps: a chain has at least 2, not {steps}")


class SelfEvalOptions(_Chain, EliminationOptions):
    """Options of `selfeval`."""

    also_steps: tuple[int, ...] = Field(
        (), description="Further numbers of steps to ask for, for the ablation: T is no part of a longer chain's."
    )

    @model_validator(mode="after")
    def _chains(self) -> SelfEvalOptions:
        for steps in (self.steps, *self.also_steps):
            _a_chain(steps)
        return self

    @property
    def gives_up(self) -> bool:
        """Whether captions may be given up: only a mean of terms can be told from some of them."""
        means = self.estimator in ("mean", "sum", "q-mean")
        return not (self.exact or self.minus_empty or self.chain == "free-running") and means


class ElboOptions(EliminationOptions):
    """Options of `selfeval-elbo`."""

    stages: tuple[tuple[int, int], ...] = Field(
        (),
        description="Give captions up by stages in place of the error rate, as Li et al.: pairs, after so many "
        "terms so many captions stay.",
    )
    weights: Literal["none", "bound"] = Field(
        "none",
        description="none: errors as they are (Li et al.). bound: of a flow, weighted to the bound on log p(x).",
    )

    @model_validator(mode="after")
    def _one_way(self) -> ElboOptions:
        if self.stages and (self.exact or self.weights == "bound"):
            raise ValueError("stages: captions are given up by errors as they are, so not with exact or weights")
        terms = [n for n, _ in self.stages]
        if terms != sorted(set(terms)) or any(n < 1 or keep < 1 for n, keep in self.stages):
            raise ValueError(
                "stages: want pairs of a growing number of terms and of captions to keep, both from 1"
            )
        if terms and terms[-1] > self.trials * self.steps:
            raise ValueError(f"stages: {terms[-1]} terms of {self.trials * self.steps} (trials x steps)")
        return self

    @property
    def gives_up(self) -> bool:
        """Whether captions may be given up: it is decided on errors as they are."""
        return not self.exact and self.weights == "none"


class SelfEvalClipOptions(Options):
    """Options of `selfeval-clip`."""

    votes: Votes = _VOTES


class WinogroundOptions(_Chain, TermsOptions):
    """Options of `winoground`."""

    by: Literal["log_p", "error", "clip"] = Field(
        "log_p", description="What is compared: log p(x | caption), errors (Li et al.), or a CLIP's cosines."
    )

    @model_validator(mode="after")
    def _asks_a_model(self) -> WinogroundOptions:
        if self.by == "log_p":
            _a_chain(self.steps)
        if self.by == "clip" and self.minus_empty:
            raise ValueError("minus_empty: cosines know no empty caption; take by=log_p or by=error")
        return self
