"""What t2i-paintskills offers: PaintSkills' skills with their prompts, and R-precision. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from t2i_core.api import (
    About,
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

CITATION = (
    "Cho, Zala, Bansal: DALL-Eval - Probing the Reasoning Skills and Social Biases of Text-to-Image Generative "
    "Transformers. arXiv:2202.04053, first version"
)
_CODE = ("decisions.py", "metrics.py", "options.py", "skills.py")


def _share(name: str, summary: str, *facets: str) -> Measure:
    return Measure(name, summary, low=0, high=1, facets=facets)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Offer the four skills, their average, and R-precision."""
    return [
        MetricInfo(
            name="paintskills",
            summary="PaintSkills' four skills and their average.",
            options=PaintSkillsOptions,
            about=About(citation=CITATION),
            create=_metric("metrics", "PaintSkills"),
            code=_CODE,
            measures=(
                _share("paintskills", "The mean of the four."),
                _share("object", "Images of the object.", "object"),
                _share("count", "Images of exactly so many.", "object", "count"),
                _share("color", "Images of the object in its colour.", "object", "colour"),
                _share("spatial", "Images of both objects where they should be.", "relation"),
            ),
            defaults=Defaults(prompts="paintskills", seeds=min(SEEDS.values())),
        ),
        _skill(
            "object", "Is it the object?", ConfidenceOptions, "ObjectSkill",
            _share("paintskills-object", "Images whose most confident detection is the object.", "object"),
        ),
        _skill(
            "count", "Are there exactly as many as asked?", CountOptions, "CountSkill",
            _share("paintskills-count", "Images of exactly so many.", "object", "count"),
            _share("number", "Images with so many confident detections, whatever they are.", "count"),
        ),
        _skill(
            "color", "Is it the object, in its colour?", ColorOptions, "ColorSkill",
            _share("paintskills-color", "Images of the object in its colour.", "object", "colour"),
            _share("object", "Images of the object, in any colour.", "colour"),
            _share("colour", "Images whose most confident detection has the colour.", "colour"),
        ),
        _skill(
            "spatial", "Are both objects there, and where they should be?", SkillOptions, "SpatialSkill",
            _share("paintskills-spatial", "Images of both in their places.", "object", "object_2", "relation"),
            _share("objects", "Images whose two most confident detections are both.", "relation"),
        ),
        MetricInfo(
            name="r-precision",
            summary="Does an image find its own caption among others, by CLIP?",
            options=RetrievalOptions,
            about=About(citation=CITATION),
            create=_metric("r_precision", "RPrecision"),
            code=("options.py", "r_precision.py", "retrieval.py"),
            loading=Loading(weights=_captions),
            measures=(_share("r-precision", "Images that their own caption is the nearest to."),),
            defaults=Defaults(seeds=1, judges={"embed": "clip-vit-b32"}),
        ),
    ]  # fmt: skip


def _skill(skill: Skill, summary: str, options: type[Options], cls: str, *measures: Measure) -> MetricInfo:
    return MetricInfo(
        name=f"paintskills-{skill}",
        summary=summary,
        options=options,
        about=About(citation=CITATION),
        create=_metric("metrics", cls),
        code=_CODE,
        measures=measures,
        defaults=Defaults(prompts=f"paintskills-{skill}", seeds=SEEDS[skill]),
    )


def _metric(module: str, cls: str) -> Callable[[Setup[Any]], Metric]:
    def create(setup: Setup[Any]) -> Metric:
        made: Metric = getattr(import_module(f"t2i_paintskills.{module}"), cls)(setup)
        return made

    return create


def _captions(_: str | None, options: Any) -> Iterable[Path]:
    return [options.captions] if options.captions is not None else []


def _prompts(skills: tuple[Skill, ...], setup: Setup[SourceOptions]) -> Iterator[Prompt]:
    from .sources import prompts_of

    return prompts_of(skills, setup)


def _scene_file(_: str | None, options: Any) -> Iterable[Path]:
    return [options.scenes] if options.scenes is not None else []


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Offer the distinct texts of each skill, and of all four."""
    texts = {
        "object": "21 objects",
        "count": "21 objects, one to four of them",
        "color": "21 objects in six colours",
        "spatial": "21 x 21 pairs of objects in four relations",
    }
    return [
        _source("paintskills", "The texts of all four skills: 1,995.", SKILLS),
        *(_source(f"paintskills-{skill}", f"PaintSkills: {texts[skill]}.", (skill,)) for skill in SKILLS),
    ]


def _source(name: str, summary: str, skills: tuple[Skill, ...]) -> PromptSourceInfo:
    return PromptSourceInfo(
        name=name,
        summary=summary,
        options=SourceOptions,
        about=About(citation=CITATION),
        prompts=partial(_prompts, skills),
        loading=Loading(weights=_scene_file),
    )
