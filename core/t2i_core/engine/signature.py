"""Signature lines: the protocol of a result in one line. Results with equal lines are comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..api.digest import digest_data, digest_text, encode_canonically
from ..api.options import select_result_options
from ..api.prompt import Prompt
from ..api.text import escape_control_characters
from ..files.digest import digest_file
from ..io.prompt_file import write_prompt
from ..version import __version__
from .component import Component, drop_places
from .job import Job, Served
from .request import Request
from .sample import Model

_DIGITS = 8
"""Hex digits of a digest."""

_MOST_RANGES = 3
"""Seeds in more ranges than these are shown by their number and digest."""

_LONGEST = 40
"""Options whose value is longer are shown by their digest."""


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
        ("metric", _drop_place(metric.spec)),
        ("version", str(metric.info.version)),
        *([(metric.dist, metric.version)] if metric.dist else []),
        *_list_options(metric),
        ("prompts", f"{_name_prompts(job.prompts_name)}({len(job.prompts)})#{digest_prompts(job.prompts)}"),
        *([("perturb", _name_component(model.perturbation))] if model.perturbation else []),
        *([("judge", "+".join(map(_name_judge, job.needs)))] if job.needs else []),
        ("seeds", describe_seeds(job.seeds)),
        ("interval", request.interval),
        ("noise", job.noise),
        *([("until", request.until)] if request.until else []),
        *([("models", _name_models(job.models))] if job.pairs else []),
        ("t2i", __version__),
    ]
    return "|".join(f"{key}:{_escape(value)}" for key, value in parts)


def digest_prompts(prompts: Iterable[Prompt]) -> str:
    """Return the digest of what prompts say, expect and show, in whatever order."""
    return _shorten(digest_data(sorted(map(_encode_prompt, prompts))))


def _encode_prompt(prompt: Prompt) -> str:
    return encode_canonically([write_prompt(prompt), [_digest_image(image) for image in prompt.images]])


def _digest_image(path: str) -> str:
    try:
        return digest_file(Path(path))
    except OSError:
        return "missing"  # such a sample fails, with the reason


def describe_seeds(seeds: Sequence[int]) -> str:
    """Return seeds as `--seeds` takes them: `0-31`, `0,7`; of many ranges, their number and a digest."""
    ordered = sorted(set(seeds))
    starts = [seed for n, seed in enumerate(ordered) if n == 0 or ordered[n - 1] != seed - 1]
    ends = [a for a, b in pairwise(ordered) if b != a + 1] + ordered[-1:]
    if len(starts) > _MOST_RANGES:
        return f"{len(ordered)}#{_shorten(digest_data(ordered))}"
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, ends, strict=True)
    )


def _list_options(metric: Component[Any]) -> Iterator[tuple[str, str]]:
    """Yield the options that differ from their defaults, and the digest of the files that the metric reads."""
    fields = type(metric.options).model_fields
    for name, value in sorted(select_result_options(metric.options).items()):
        if getattr(metric.options, name) != fields[name].get_default(call_default_factory=True):
            text = value if isinstance(value, str) else encode_canonically(drop_places(value))
            text = drop_places(text)
            yield name, text if len(text) <= _LONGEST else f"#{_shorten(digest_text(text))}"
    if metric.info.loading.weights is not None:
        yield "files", f"#{_shorten(metric.weights_digest)}"


def _name_prompts(name: str) -> str:
    """Return the prompt sources or files, without the folders of files."""
    return "+".join(_drop_place(each) for each in name.split(" + "))


def _drop_place(spec: str) -> str:
    """Return a component's name and argument; of a path, the last part alone."""
    name, colon, argument = spec.partition(":")
    return f"{drop_places(name)}{colon}{drop_places(argument)}"


def _name_judge(served: Served) -> str:
    if served.choice is None:
        return "itself"
    instead = "" if served.asked == served.need.capability else f"({served.asked})"
    return _name_component(served.choice.judge, instead)


def _name_component(component: Component[Any], note: str = "") -> str:
    return f"{_drop_place(component.spec)}{note}#{_shorten(component.content_digest)}"


def _name_models(models: Sequence[Model]) -> str:
    """Return the models that a metric compares with each other, on whose choice its scores depend."""
    return f"{len(models)}#{_shorten(digest_data(sorted(map(_digest_model, models))))}"


def _digest_model(model: Model) -> str:
    """Return the digest of a model and of what changes its prompts."""
    own = model.component.content_digest
    return own if model.perturbation is None else digest_data([own, model.perturbation.content_digest])


def _shorten(digest: str) -> str:
    return digest[:_DIGITS]


def _escape(text: str) -> str:
    """Return a text without the sign that separates parts, and without control characters."""
    return escape_control_characters(text).replace("|", "%7C")
