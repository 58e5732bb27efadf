"""What t2i-selfeval offers: SelfEval, its baselines, Winoground's scores, and right captions as prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from t2i_core.api import About, Measure, Metric, MetricInfo, Preset, Prompt, PromptSourceInfo, Setup, hookimpl
from t2i_core.api.errors import BadPrompts

from .options import ElboOptions, SelfEvalClipOptions, SelfEvalOptions, WinogroundOptions

CITATION = "SelfEval: Leveraging the discriminative nature of generative models for evaluation"
ELBO_CITATION = "Li et al.: Your Diffusion Model is Secretly a Zero-Shot Classifier. ICCV 2023"
WINOGROUND_CITATION = "Thrush et al.: Winoground - Probing Vision and Language Models. CVPR 2022"
_CODE = (
    "ablation.py", "asking.py", "choices.py", "estimators.py", "grey.png", "metrics.py", "options.py",
    "samples.py",
)  # fmt: skip

_DECISIONS = (
    Measure("above_chance", "Mean over tasks of accuracy minus chance.", low=-1, high=1, facets=("task",)),
    Measure("above_papers_chance", "The same with the chances of the paper's Table 2.", low=-1, high=1),
    Measure("accuracy", "Right captions that are picked, ties shared.", low=0, high=1, facets=("task", "source")),
    # known of the samples, and no share that is estimated: with a bound above it would get such a one's interval
    Measure("chance", "Mean of 1/K over samples of K captions.", 0, higher_is_better=None, facets=("task",)),
)
_CALLS = (
    Measure("calls", "Calls of the denoiser a sample.", low=0, higher_is_better=False, facets=("task",)),
    Measure("calls_unpruned", "Calls that all terms of a sample take.", low=0, higher_is_better=None),
)
_SURE = Measure("z", "Best less second caption, its mean over its standard error; with all terms.", low=0)


def _made(module: str, name: str) -> Callable[[Setup[Any]], Metric]:
    def create(setup: Setup[Any]) -> Metric:
        metric: Metric = getattr(import_module(f".{module}", __package__), name)(setup)
        return metric

    return create


def _captions(setup: Setup[Any]) -> Iterator[Prompt]:
    from t2i_core.io.prompt_file import is_prompt_file, read_prompts

    from .captions import right_captions
    from .task_sources import t2i_prompt_sources as task_sources

    said = setup.argument or ""
    if is_prompt_file(said):
        return right_captions(read_prompts(said))
    name, _, argument = said.partition(":")
    known = {source.name: source for source in task_sources()}
    if name not in known:
        raise BadPrompts(
            f"selfeval-captions:{said}: want a file of samples (JSON lines) or SOURCE:ARGUMENT of "
            f"{', '.join(known)}; samples of other sources are prompts themselves, the right caption their text: "
            "--prompts NAME"
        )
    source = known[name]
    return right_captions(source.prompts(Setup(argument or None, source.options(), offline=setup.offline)))


@hookimpl
def t2i_metrics() -> list[MetricInfo | Preset]:
    """Offer SelfEval both ways, its baselines, and Winoground's scores by each."""
    return [
        MetricInfo(
            name="selfeval",
            summary="Does the model find an image likeliest under its right caption? By its own likelihood.",
            options=SelfEvalOptions,
            about=About(citation=CITATION),
            create=_made("metrics", "SelfEval"),
            code=_CODE,
            measures=(
                *_DECISIONS,
                Measure("posterior", "Probability of the right caption; with all terms.", low=0, high=1),
                Measure("gain", "log p(x | right caption) - log p(x | empty), in nats; with minus_empty."),
                *_CALLS,
                _SURE,
            ),
        ),
        Preset(
            name="selfeval-free-running",
            summary="SelfEval where the denoiser sees its own means, as section 3.3 has it.",
            of="t2i-selfeval/selfeval",
            options={"chain": "free-running"},
        ),
        MetricInfo(
            name="selfeval-elbo",
            summary="SelfEval's tasks by the errors of the model's prediction; flow models too.",
            options=ElboOptions,
            about=About(citation=ELBO_CITATION),
            create=_made("metrics", "SelfEvalElbo"),
            code=_CODE,
            measures=(*_DECISIONS, *_CALLS, _SURE),
        ),
        MetricInfo(
            name="selfeval-clip",
            summary="SelfEval's tasks by the cosines of a CLIP, the paper's baseline; models have no part in it.",
            options=SelfEvalClipOptions,
            about=About(citation=CITATION),
            create=_made("metrics", "SelfEvalClip"),
            code=_CODE,
            measures=_DECISIONS,
        ),
        MetricInfo(
            name="winoground",
            summary="Which of two captions belongs to which of two images? By the model's own likelihood.",
            options=WinogroundOptions,
            about=About(citation=WINOGROUND_CITATION),
            create=_made("winoground", "Winoground"),
            code=(*_CODE, "winoground.py"),
            measures=(
                Measure("text", "Both images prefer their own caption.", low=0, high=1, facets=("*",)),
                Measure("image", "Both captions prefer their own image.", low=0, high=1, facets=("*",)),
                Measure("group", "Both.", low=0, high=1, facets=("*",)),
                Measure("calls", "Calls of the denoiser a sample.", low=0, higher_is_better=False),
            ),
        ),
        Preset(
            name="winoground-elbo",
            summary="Winoground's scores by the errors of the model's prediction.",
            of="t2i-selfeval/winoground",
            options={"by": "error"},
            about=About(citation=ELBO_CITATION),
        ),
        Preset(
            name="winoground-clip",
            summary="Winoground's scores by the cosines of a CLIP; the model has no part in it.",
            of="t2i-selfeval/winoground",
            options={"by": "clip"},
        ),
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Offer right captions."""
    return [
        PromptSourceInfo(
            name="selfeval-captions",
            summary="The right captions of samples, each once, to generate from.",
            argument="FILE.jsonl of samples, or SOURCE:ARGUMENT, a task source of this plugin: clevr:CLEVR_v1.0",
            needs_argument=True,
            about=About(citation=CITATION),
            prompts=_captions,
            code=("captions.py", "plugin.py", "task_options.py", "task_sources.py", "tasks/*.py"),
        )
    ]
