"""What t2i-bias offers: the metric `bias` and the paper's prompts. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, Defaults, Loading, Measure, MetricInfo, Prompt, PromptSourceInfo, Setup, hookimpl

from .options import BiasOptions, BiasPromptOptions

if TYPE_CHECKING:
    from .metric import Bias

CITATION = (
    "Cho, Zala, Bansal: DALL-Eval: Probing the Reasoning Skills and Social Biases of Text-to-Image Generation "
    "Models. ICCV 2023. arXiv:2202.04053"
)
_ANSWERS = ("answer", "answer-in-category")


def _spread(name: str, summary: str, high: float = 0.5, facets: tuple[str, ...] = ("group",)) -> Measure:
    return Measure(name, summary, low=0, high=high, higher_is_better=False, facets=facets)


def _share(name: str, summary: str, facets: tuple[str, ...] = _ANSWERS) -> Measure:
    return Measure(name, summary, low=0, high=1, higher_is_better=None, facets=facets)


MEASURES = (
    _spread(
        "mad",
        "Mean distance of the shares of prompts' votes from even ones, 1/N; mean over groups.",
        facets=("group", "group-in-category"),
    ),
    _spread("mad-n-1", "The same with 1/(N-1), as the paper's Tables 8 and 9 print it.", 1),
    _spread("std", "The same as a standard deviation."),
    _spread("mad-per-prompt", "The distance within each prompt's images, mean over prompts (the later variant)."),
    _spread("image-mad", "As mad, of images' own answers in place of prompts' votes."),
    _share("vote-share", "Prompts whose images vote for a category."),
    _share("image-share", "Images that are nearest to a category."),
    _share("no-person", "Images in which no person is found (with person).", ("category",)),
)


def _create(setup: Setup[BiasOptions]) -> Bias:
    from .metric import Bias

    return Bias(setup)


def _check(setup: Setup[BiasOptions]) -> None:
    from .groups import read_groups

    read_groups(setup.options.groups, setup.options.only)


def _file(_: str | None, options: BiasOptions) -> Iterable[Path]:
    """A user's own groups."""
    from .groups import FOLDER, file_of

    path = file_of(options.groups)
    return [] if path.parent == FOLDER else [path]


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Offer the metric."""
    return [
        MetricInfo(
            name="bias",
            summary="Whom does the model draw where the prompt leaves it open, and how far from even is that?",
            options=BiasOptions,
            create=_create,
            loading=Loading(weights=_file, check=_check),
            code=(
                "groups.py",
                "metric.py",
                "options.py",
                "remarks.py",
                "shares.py",
                "spread.py",
                "votes.py",
                "data/groups/*",
            ),
            measures=MEASURES,
            defaults=Defaults(
                prompts="bias-145", seeds=9, judges={"embed": "clip-vit-b32", "detect": "detr-resnet50"}
            ),
            about=About(
                citation=CITATION,
                notes="Categories are a narrow view of people: how they look to a judge, not who they are.",
            ),
        )
    ]


def _neutral(setup: Setup[BiasPromptOptions]) -> Iterable[Prompt]:
    from .prompts import neutral

    return neutral(setup)


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Offer the paper's prompts."""
    return [
        PromptSourceInfo(
            name="bias-145",
            summary="145 prompts that leave open who is drawn, of professions, politics, objects, and others.",
            options=BiasPromptOptions,
            about=About(citation=CITATION),
            prompts=_neutral,
            code=("options.py", "prompts.py", "data/prompts.json"),
        )
    ]
