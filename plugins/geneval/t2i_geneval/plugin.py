"""The plugin: the metric `geneval`, and its prompts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from t2i_core.api import Defaults, Measure, MetricInfo, Prompt, PromptSourceInfo, Setup, hookimpl

from .explanations import GENEVAL, PAPER
from .options import GenEvalOptions, PromptOptions

if TYPE_CHECKING:
    from .metric import GenEval

_CODE = ("boxes.py", "colours.py", "metric.py", "options.py", "rules.py", "tasks.py")


def _create(setup: Setup[GenEvalOptions]) -> GenEval:
    from .metric import GenEval

    return GenEval(setup)


def _read_geneval(setup: Setup[PromptOptions]) -> Iterable[Prompt]:
    from .sources import read_geneval

    return read_geneval(setup)


def _read_mini(setup: Setup[PromptOptions]) -> Iterable[Prompt]:
    from .sources import read_mini

    return read_mini(setup)


def _task(name: str, asked: str) -> Measure:
    return Measure(name, f"Share of correct images of {asked}.", low=0, high=1, facets=("class",))


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the metric."""
    return [
        MetricInfo(
            name="geneval",
            summary="Mean of six tasks' shares of correct images: objects, counts, colours, positions.",
            options=GenEvalOptions,
            about=GENEVAL,
            create=_create,
            code=_CODE,
            measures=(
                Measure("geneval", "Mean of the tasks' shares of correct images.", low=0, high=1),
                _task("single_object", "one object"),
                _task("two_object", "two objects"),
                _task("counting", "two to four objects of one class"),
                _task("colors", "an object in a colour"),
                _task("position", "two objects in a position to each other"),
                _task("color_attr", "two objects in two colours"),
                Measure("images", "Share of correct images, whatever their task.", low=0, high=1),
                Measure("prompts", "Share of prompts with at least one correct image.", low=0, high=1),
            ),
            defaults=Defaults(
                prompts="geneval",
                seeds=4,
                judges={"segment": "mask2former-swin-small-pairs", "embed": "clip-vit-l14"},
            ),
        )
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the prompts of GenEval, of a file in its format, and of its tasks about the mini world."""
    return [
        PromptSourceInfo(
            name="geneval",
            summary="GenEval's 553 prompts of six tasks, or those of a file in its format.",
            argument="FILE.jsonl: a record of GenEval's metadata in each line",
            about=PAPER,
            options=PromptOptions,
            prompts=_read_geneval,
        ),
        PromptSourceInfo(
            name="geneval-mini",
            summary="Prompts of GenEval's six tasks about the mini world's classes and colours.",
            about=PAPER,
            options=PromptOptions,
            prompts=_read_mini,
        ),
    ]
