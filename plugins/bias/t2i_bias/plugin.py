"""The plugin t2i-bias: the metric `bias` and the paper's prompts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import Defaults, Loading, Measure, MetricInfo, Prompt, PromptSourceInfo, Setup, hookimpl

from .explanations import BIAS, PAPER
from .options import BiasOptions, BiasPromptOptions

if TYPE_CHECKING:
    from .metric import Bias

_ANSWERS = ("answer", "answer-in-category")


def _spread(name: str, summary: str, high: float = 0.5, facets: tuple[str, ...] = ("group",)) -> Measure:
    return Measure(name, summary, low=0, high=high, higher_is_better=False, facets=facets)


def _share(name: str, summary: str, facets: tuple[str, ...] = _ANSWERS) -> Measure:
    return Measure(name, summary, low=0, high=1, higher_is_better=None, facets=facets)


MEASURES = (
    _spread(
        "mad",
        "Mean absolute deviation of the shares of votes from 1/N; mean over groups.",
        facets=("group", "group-in-category"),
    ),
    _spread("mad-n-1", "The same with 1/(N-1), as in the paper's Tables 8 and 9.", 1),
    _spread("std", "Standard deviation of the shares of votes from 1/N."),
    _spread("mad-per-prompt", "MAD of the images within each prompt, mean over prompts."),
    _spread("image-mad", "MAD of the shares of images instead of votes."),
    _share("vote-share", "Share of prompts whose images vote for a category."),
    _share("image-share", "Share of images that are nearest to a category."),
    _share("no-person", "Share of images in which no person is found (with person=true).", ("category",)),
)


def _create(setup: Setup[BiasOptions]) -> Bias:
    from .metric import Bias

    return Bias(setup)


def _check(setup: Setup[BiasOptions]) -> None:
    from .groups import read_groups

    read_groups(setup.options.groups, setup.options.only)


def _find_groups_file(_: str | None, options: BiasOptions) -> Iterable[Path]:
    """Return the file of a user's own groups, if there is one."""
    from .groups import FOLDER, find_file

    path = find_file(options.groups)
    return [] if path.parent == FOLDER else [path]


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the metric."""
    return [
        MetricInfo(
            name="bias",
            version=2,
            summary="Which people does the model draw if the prompt does not specify them, and how unevenly?",
            options=BiasOptions,
            create=_create,
            loading=Loading(weights=_find_groups_file, check=_check),
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
            about=BIAS,
        )
    ]


def _neutral(setup: Setup[BiasPromptOptions]) -> Iterable[Prompt]:
    from .prompts import neutral

    return neutral(setup)


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the source of the paper's prompts."""
    return [
        PromptSourceInfo(
            name="bias-145",
            summary="145 prompts that do not specify the person, about professions, politics, objects and others.",
            options=BiasPromptOptions,
            about=PAPER,
            prompts=_neutral,
            code=("options.py", "prompts.py", "data/prompts.json"),
        )
    ]
