"""The plugin t2i-paintskills: PaintSkills' skills with their prompts, and R-precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from t2i_core.api import (
    Defaults,
    Loading,
    Measure,
    Metric,
    MetricInfo,
    Options,
    Prompt,
    PromptSourceInfo,
    Setup,
    hookimpl,
)

from .explanations import ABOUT_SKILLS, PAINTSKILLS, PAPER, R_PRECISION
from .options import (
    ColorOptions,
    ConfidenceOptions,
    CountOptions,
    PaintSkillsOptions,
    RetrievalOptions,
    SkillOptions,
    SourceOptions,
)
from .skills import SEEDS, SKILLS, Skill

_CODE = ("decisions.py", "metrics.py", "options.py", "questions.py", "reasons.py", "skills.py")


def _share(name: str, summary: str, *facets: str) -> Measure:
    return Measure(name, summary, low=0, high=1, facets=facets)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the four skills, their average, and R-precision."""
    return [
        MetricInfo(
            name="paintskills",
            summary="PaintSkills: accuracy of four skills and their average.",
            options=PaintSkillsOptions,
            about=PAINTSKILLS,
            create=_metric("metrics", "PaintSkills"),
            code=_CODE,
            measures=(
                _share("paintskills", "Mean of the four skills."),
                _share("object", "Share of images with the object.", "object"),
                _share("count", "Share of images with the requested number of objects.", "object", "count"),
                _share("color", "Share of images with the object in its colour.", "object", "colour"),
                _share("spatial", "Share of images with both objects in the requested relation.", "relation"),
            ),
            defaults=Defaults(prompts="paintskills", seeds=min(SEEDS.values())),
        ),
        _skill(
            "object", "PaintSkills: does the image show the requested object?", ConfidenceOptions, "ObjectSkill",
            _share("paintskills-object", "Share of images whose top detection is the object.", "object"),
        ),
        _skill(
            "count", "PaintSkills: does the image show the requested number?", CountOptions, "CountSkill",
            _share("paintskills-count", "Share of images with the requested number.", "object", "count"),
            _share("number", "Share of images with that many confident detections, of any class.", "count"),
        ),
        _skill(
            "color", "PaintSkills: does the image show the requested colour?", ColorOptions, "ColorSkill",
            _share("paintskills-color", "Share of images with the object in its colour.", "object", "colour"),
            _share("object", "Share of images with the object, in any colour.", "colour"),
            _share("colour", "Share of images whose top detection has the colour.", "colour"),
        ),
        _skill(
            "spatial", "PaintSkills: does the image show both objects in the requested relation?", SkillOptions,
            "SpatialSkill",
            _share(
                "paintskills-spatial", "Share of images with both objects in the requested relation.",
                "object", "object_2", "relation",
            ),
            _share("objects", "Share of images whose two top detections are the two objects.", "relation"),
        ),
        MetricInfo(
            name="r-precision",
            summary="Is an image's own caption the nearest among other captions, by CLIP?",
            options=RetrievalOptions,
            about=R_PRECISION,
            create=_metric("r_precision", "RPrecision"),
            code=("options.py", "r_precision.py", "retrieval.py"),
            loading=Loading(weights=_find_caption_file),
            measures=(_share("r-precision", "Share of images whose own caption is the nearest."),),
            defaults=Defaults(seeds=1, judges={"embed": "clip-vit-b32"}),
        ),
    ]  # fmt: skip


def _skill(skill: Skill, summary: str, options: type[Options], cls: str, *measures: Measure) -> MetricInfo:
    return MetricInfo(
        name=f"paintskills-{skill}",
        summary=summary,
        options=options,
        about=ABOUT_SKILLS[skill],
        create=_metric("metrics", cls),
        code=_CODE,
        measures=measures,
        defaults=Defaults(prompts=f"paintskills-{skill}", seeds=SEEDS[skill]),
    )


def _metric(module: str, cls: str) -> Callable[[Setup[Any]], Metric]:
    def create(setup: Setup[Any]) -> Metric:
        metric: Metric = getattr(import_module(f"t2i_paintskills.{module}"), cls)(setup)
        return metric

    return create


def _find_caption_file(_: str | None, options: Any) -> Iterable[Path]:
    return [options.captions] if options.captions is not None else []


def _prompts(skills: tuple[Skill, ...], setup: Setup[SourceOptions]) -> Iterator[Prompt]:
    from .sources import prompts_of

    return prompts_of(skills, setup)


def _find_scene_file(_: str | None, options: Any) -> Iterable[Path]:
    return [options.scenes] if options.scenes is not None else []


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the sources of the distinct texts of each skill, and of all four."""
    texts = {
        "object": "21 objects",
        "count": "21 objects, one to four of them",
        "color": "21 objects in six colours",
        "spatial": "21 x 21 pairs of objects in four relations",
    }
    return [
        _source("paintskills", "PaintSkills: the 1,995 texts of all four skills.", SKILLS),
        *(_source(f"paintskills-{skill}", f"PaintSkills: {texts[skill]}.", (skill,)) for skill in SKILLS),
    ]


def _source(name: str, summary: str, skills: tuple[Skill, ...]) -> PromptSourceInfo:
    return PromptSourceInfo(
        name=name,
        summary=summary,
        options=SourceOptions,
        about=PAPER,
        prompts=partial(_prompts, skills),
        loading=Loading(weights=_find_scene_file),
    )
