"""Signature lines: the protocol of a result in one line. Results with equal lines are comparable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.digest import digest_data
from ..results.signature_line import (
    describe_metric,
    describe_prompts,
    describe_seeds,
    drop_place,
    shorten_digest,
    write_line,
)
from ..version import __version__
from .component import Component
from .job import Job, Served
from .request import Request
from .sample import Model


def make_signature(job: Job, model: Model, request: Request) -> str:
    """Return the signature line of a model's result: `metric:tiam|version:1|...|t2i:0.1.0`.

    The idea is sacreBLEU's: two results with equal lines were measured in the same way. The line depends neither
    on the model nor on the machine. It names the metric with its version, its distribution, the options that
    differ from their defaults, the prompts, the judges, the seeds, the question of the interval, the noise and the
    version of t2i; a digest stands for the content of prompts, judges and files.

    Args:
        job: The metric, its judges and its samples.
        model: The model, whose perturbation of the prompts counts.
        request: The run's request.

    References:
        Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018, section 4.
    """
    metric = job.metric
    parts = [
        *describe_metric(metric),
        *([("files", f"#{shorten_digest(metric.weights_digest)}")] if metric.info.loading.weights else []),
        ("prompts", f"{_name_prompts(job.prompts_name)}{describe_prompts(job.prompts)}"),
        *([("perturb", _name_component(model.perturbation))] if model.perturbation else []),
        *([("judge", "+".join(map(_name_judge, job.needs)))] if job.needs else []),
        ("seeds", describe_seeds(job.seeds)),
        ("interval", request.interval),
        ("noise", job.noise),
        *([("until", request.until)] if request.until else []),
        *([("models", _name_models(job.models))] if job.pairs else []),
        ("t2i", __version__),
    ]
    return write_line(parts)


def _name_prompts(name: str) -> str:
    """Return the prompt sources or files, without the folders of files."""
    return "+".join(drop_place(each) for each in name.split(" + "))


def _name_judge(served: Served) -> str:
    if served.choice is None:
        return "itself"
    instead = "" if served.asked == served.need.capability else f"({served.asked})"
    return _name_component(served.choice.judge, instead)


def _name_component(component: Component[Any], note: str = "") -> str:
    return f"{drop_place(component.spec)}{note}#{shorten_digest(component.content_digest)}"


def _name_models(models: Sequence[Model]) -> str:
    """Return the models that a metric compares with each other, on whose choice its scores depend."""
    return f"{len(models)}#{shorten_digest(digest_data(sorted(map(_digest_model, models))))}"


def _digest_model(model: Model) -> str:
    """Return the digest of a model and of what changes its prompts."""
    own = model.component.content_digest
    return own if model.perturbation is None else digest_data([own, model.perturbation.content_digest])
