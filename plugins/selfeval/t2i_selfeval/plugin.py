"""The plugin: SelfEval, its baselines, Winoground's scores, and right captions as prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from t2i_core.api import Measure, Metric, MetricInfo, Preset, Prompt, PromptSourceInfo, Setup, hookimpl
from t2i_core.api.errors import BadPrompts

from .explanations import CLIP, ELBO, ELBO_PAPER, PAPER, SELFEVAL, WINOGROUND, WINOGROUND_CLIP
from .options import ElboOptions, SelfEvalClipOptions, SelfEvalOptions, WinogroundOptions

_CODE = (
    "ablation.py", "queries.py", "choices.py", "estimators.py", "grey.png", "metrics.py", "options.py",
    "samples.py",
)  # fmt: skip

_DECISIONS = (
    Measure(
        "above_chance", "Mean over tasks of accuracy minus chance.", low=-1, high=1, facets=("task", "repeat")
    ),
    Measure(
        "above_papers_chance",
        "Mean over tasks of accuracy minus the chance levels of the paper's Table 2.",
        low=-1,
        high=1,
    ),
    Measure(
        "accuracy",
        "Share of samples whose right caption is picked; tied captions share the decision.",
        low=0,
        high=1,
        facets=("task", "source"),
    ),
    # No upper bound: with one, the known value of chance would get the interval of an estimated share.
    Measure("chance", "Mean of 1/K over samples of K captions.", 0, higher_is_better=None, facets=("task",)),
)
_CALLS = (
    Measure("calls", "Denoiser calls per sample.", low=0, higher_is_better=False, facets=("task",)),
    Measure("calls_unpruned", "Denoiser calls per sample without elimination.", low=0, higher_is_better=None),
)
_Z = Measure(
    "z", "Mean difference of the best and the second caption over its standard error; with all terms.", low=0
)


def _create(module: str, name: str) -> Callable[[Setup[Any]], Metric]:
    def create(setup: Setup[Any]) -> Metric:
        metric: Metric = getattr(import_module(f".{module}", __package__), name)(setup)
        return metric

    return create


def _captions(setup: Setup[Any]) -> Iterator[Prompt]:
    from t2i_core.io.prompt_file import is_prompt_file, read_prompts

    from .captions import right_captions
    from .task_sources import t2i_prompt_sources as task_sources

    origin = setup.argument or ""
    if is_prompt_file(origin):
        return right_captions(read_prompts(origin))
    name, _, argument = origin.partition(":")
    known = {source.name: source for source in task_sources()}
    if name not in known:
        raise BadPrompts(
            "selfeval-captions: the argument must be a file of samples (JSON lines) or SOURCE:ARGUMENT with one "
            f"of the sources {', '.join(known)} (got {origin!r}); for other sources use `--prompts NAME`, "
            "because the text of their samples is the right caption"
        )
    source = known[name]
    return right_captions(source.prompts(Setup(argument or None, source.options(), offline=setup.offline)))


@hookimpl
def t2i_metrics() -> list[MetricInfo | Preset]:
    """Return SelfEval with both kinds of conditioning, its baselines, and Winoground's scores by each of them."""
    return [
        MetricInfo(
            name="selfeval",
            summary="Accuracy of the model's own likelihood in picking an image's right caption.",
            options=SelfEvalOptions,
            about=SELFEVAL,
            create=_create("metrics", "SelfEval"),
            code=_CODE,
            measures=(
                *_DECISIONS,
                Measure("posterior", "Posterior probability of the right caption; with all terms.", low=0, high=1),
                Measure("gain", "log p(x | right caption) - log p(x | empty caption), in nats; with minus_empty."),
                *_CALLS,
                _Z,
            ),
        ),
        Preset(
            name="selfeval-free-running",
            summary="SelfEval with a denoiser that sees samples of its own reverse process (section 3.3).",
            of="t2i-selfeval/selfeval",
            options={"chain": "free-running"},
        ),
        MetricInfo(
            name="selfeval-elbo",
            summary="SelfEval's tasks by the model's prediction errors; supports flow models too.",
            options=ElboOptions,
            about=ELBO,
            create=_create("metrics", "SelfEvalElbo"),
            code=_CODE,
            measures=(*_DECISIONS, *_CALLS, _Z),
        ),
        MetricInfo(
            name="selfeval-clip",
            summary="SelfEval's tasks by CLIP cosines, the paper's baseline; does not use the model.",
            options=SelfEvalClipOptions,
            about=CLIP,
            create=_create("metrics", "SelfEvalClip"),
            code=_CODE,
            measures=_DECISIONS,
        ),
        MetricInfo(
            name="winoground",
            summary="Accuracy of the model's own likelihood in matching two captions to two images.",
            options=WinogroundOptions,
            about=WINOGROUND,
            create=_create("winoground", "Winoground"),
            code=(*_CODE, "winoground.py"),
            measures=(
                Measure("text", "Share of pairs whose two images prefer their own captions.", 0, 1, facets=("*",)),
                Measure(
                    "image", "Share of pairs whose two captions prefer their own images.", 0, 1, facets=("*",)
                ),
                Measure("group", "Share of pairs with both text and image right.", 0, 1, facets=("*",)),
                Measure("calls", "Denoiser calls per sample.", low=0, higher_is_better=False),
            ),
        ),
        Preset(
            name="winoground-elbo",
            summary="Winoground's scores by the model's prediction errors.",
            of="t2i-selfeval/winoground",
            options={"by": "error"},
            about=ELBO_PAPER,
        ),
        Preset(
            name="winoground-clip",
            summary="Winoground's scores by CLIP cosines; does not use the model.",
            of="t2i-selfeval/winoground",
            options={"by": "clip"},
            about=WINOGROUND_CLIP,
        ),
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the prompt source of right captions."""
    return [
        PromptSourceInfo(
            name="selfeval-captions",
            summary="Distinct right captions of samples, as prompts for generation.",
            argument="FILE.jsonl: samples; or SOURCE:ARGUMENT: a task source of this plugin, as clevr:CLEVR_v1.0",
            needs_argument=True,
            about=PAPER,
            prompts=_captions,
            code=("captions.py", "plugin.py", "task_options.py", "task_sources.py", "tasks/*.py"),
        )
    ]
