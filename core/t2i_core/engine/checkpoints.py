"""Scores of a model during its training: each checkpoint is compared with the one before."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..api.errors import BadOption
from ..api.plugin_info import GeneratorInfo, MetricInfo
from ..results.result import Comparison, Result
from ..results.run import Run
from ..results.scores import name_judges
from .callable_model import ModelInMemory
from .code.digest import UnhashableCode, digest_code
from .evaluation import Model, evaluate, make_request
from .plan import make_plan
from .request import ModelRequest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ScoredCheckpoint:
    """The scores of one checkpoint.

    Attributes:
        step: The training step, as the caller named it.
        label: The checkpoint's label in the run.
        run: The run, with the results of this checkpoint and of the one before.
    """

    step: int | str
    label: str
    run: Run

    @property
    def results(self) -> list[Result]:
        """The checkpoint's own results."""
        return [result for result in self.run.results if result.label == self.label]

    @property
    def comparisons(self) -> list[Comparison]:
        """The difference to the checkpoint before, paired by prompt and seed; empty for the first checkpoint."""
        return self.run.comparisons


class CheckpointScorer:
    """Scores checkpoints in a training loop, each on the same prompts and seeds, and compares it with the last.

    Args:
        metric: Metrics, as `evaluate` takes them.
        **options: The other arguments of `evaluate`, such as prompts, seeds and judge; not fresh.

    Raises:
        BadOption: If an option is wrong, or is fresh (the images of the checkpoint before can only come from the
            cache) or the model.

    Attributes:
        checkpoints: The checkpoints that were scored.

    Example:
        >>> scorer = CheckpointScorer("tiam", prompts="tiam-5-2", seeds=4)  # doctest: +SKIP
        >>> for step in range(0, 10_000, 1_000):  # doctest: +SKIP
        ...     train(pipeline.unet, steps=1_000)
        ...     scorer(pipeline, step)
        >>> scorer.history  # doctest: +SKIP
    """

    def __init__(self, metric: str | MetricInfo | Sequence[str | MetricInfo], **options: Any) -> None:
        if options.get("fresh"):
            raise BadOption(
                "CheckpointScorer takes no fresh: the images of the checkpoint before must come from the cache"
            )
        if options.get("until"):
            raise BadOption("CheckpointScorer takes no until: each checkpoint is measured on all samples")
        for name in ("model", "models", "images"):
            if name in options:
                raise BadOption(f"CheckpointScorer takes no {name}: each call takes the model of its checkpoint")
        make_request({**_select_request(options), "metrics": metric}, None, options.get("resolver"))
        self._metric = metric
        self._options = options
        self._last: ModelRequest | None = None
        self._fingerprint = ""
        self.checkpoints: list[ScoredCheckpoint] = []

    def __call__(self, model: Model, step: int | str) -> ScoredCheckpoint:
        """Score a checkpoint.

        Args:
            model: One model in its present state, as `evaluate` takes it; in a `ModelRequest` with settings. Of a
                model in memory only the digest of its weights is kept, so that they may change afterwards. Files
                that a name stands for must stay as they are until the next checkpoint is scored.
            step: The training step, for the label.

        Returns:
            The checkpoint's results, and its difference to the checkpoint before.

        Raises:
            BadOption: If the step was scored already, these are several models, or the files of the checkpoint
                before have changed since.
            T2IError: As `evaluate`.
        """
        label = f"step {step}"
        if any(label == each.label for each in self.checkpoints):
            raise BadOption(f"checkpoint {label!r} was scored already; give each its own step")
        models = list((model if isinstance(model, ModelRequest) else ModelRequest(model)).expand())
        if len(models) > 1:
            raise BadOption(f"checkpoint {label!r}: must be one model (got {len(models)})")
        now = _freeze(models[0], label)
        options = dict(self._options)
        if "out" in options:
            options["out"] = Path(options["out"]) / f"step-{step}"
        models = [now, *([self._last] if self._last else [])]
        self._refuse_overwritten(models, options)
        run = evaluate(self._metric, models, **options)
        self._last, self._fingerprint = _drop_weights(now), run.manifest.models[label].fingerprint
        self.checkpoints.append(ScoredCheckpoint(step, label, run))
        return self.checkpoints[-1]

    def _refuse_overwritten(self, models: list[ModelRequest], options: dict[str, Any]) -> None:
        """Refuse to compare with the checkpoint before if its name stands for other files now."""
        last = self._last
        if last is None or _is_in_memory(last):
            return
        values = {**_select_request(options), "metrics": self._metric, "models": models}
        resolver = options.get("resolver")
        plan = make_plan(make_request(values, None, resolver), resolver)
        found = next(model for model in plan.models if model.label == last.label)
        if found.fingerprint != self._fingerprint:
            name = getattr(last.spec, "name", last.spec)
            raise BadOption(
                f"checkpoint {last.label!r}: {name} has changed since it was scored; "
                "save each checkpoint under its own name, and begin with a new CheckpointScorer"
            )

    @property
    def history(self) -> pd.DataFrame:
        """One row per checkpoint, metric and judge, with the difference to the checkpoint before.

        Its columns are step, metric, judge, score, lo, hi, n_ok, diff, diff_lo, diff_hi, p.
        """
        import pandas as pd

        columns = ["step", "metric", "judge", "score", "lo", "hi", "n_ok", "diff", "diff_lo", "diff_hi", "p"]
        rows = []
        for each in self.checkpoints:
            for result in each.results:
                found = next((c for c in each.comparisons if c.title == result.title), None)
                change = (found.diff, *found.ci, found.p_unadjusted) if found else (None,) * 4
                scored = (result.score, *(result.ci or (None, None)), result.n_ok)
                rows.append((each.step, result.metric, name_judges(result), *scored, *change))
        return pd.DataFrame(rows, columns=columns)


def _select_request(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the request among the arguments of `evaluate`."""
    values = {name: value for name, value in options.items() if name not in ("judge", "progress", "resolver")}
    return {"judges": options.get("judge", ()), **values}


def _freeze(model: ModelRequest, label: str) -> ModelRequest:
    """Return a model with the digest of its present state, if it is in memory."""
    info = model.spec
    if isinstance(info, GeneratorInfo) and isinstance(info.create, ModelInMemory):
        try:
            state = digest_code(info.create.model)
        except UnhashableCode:  # every checkpoint counts as another model then, as it should
            state = f"this checkpoint alone: {secrets.token_hex(16)}"
        info = replace(info, create=replace(info.create, state=state))
    return ModelRequest(info, label, model.settings)


def _drop_weights(checkpoint: ModelRequest) -> ModelRequest:
    """Return a checkpoint whose images can only be found in the cache, if its weights may change now."""
    info = checkpoint.spec
    if not (isinstance(info, GeneratorInfo) and isinstance(info.create, ModelInMemory)):
        return checkpoint
    gone = replace(info, create=replace(info.create, model=None))
    return ModelRequest(gone, checkpoint.label, checkpoint.settings)


def _is_in_memory(model: ModelRequest) -> bool:
    return isinstance(model.spec, GeneratorInfo) and isinstance(model.spec.create, ModelInMemory)
