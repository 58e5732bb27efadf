"""The plugin: `tiam`, `object-cosine`, `object-attention`, and the prompt sources of the study."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import Defaults, Measure, MetricInfo, Prompt, PromptSourceInfo, Setup, hookimpl

from .explanations import ATTENTION, COSINE, PAPER, TIAM
from .options import ObjectAttentionOptions, ObjectCosineOptions, TiamOptions
from .sources import TEMPLATES
from .templates import Template, read_template

if TYPE_CHECKING:
    from .metric import Tiam
    from .object_attention import ObjectAttention
    from .object_cosine import ObjectCosine

_CODE = (
    "colours.py",
    "mask_measurements.py",
    "metric.py",
    "options.py",
    "questions.py",
    "reasons.py",
    "references.py",
    "rules.py",
    "spans.py",
    "table.py",
    "*.xz",
)
_PER_OBJECT = ("object", "position", "colour")


def _measure(name: str, summary: str, *facets: str) -> Measure:
    return Measure(name, summary, low=0, high=1, facets=facets)


_PER_IMAGE = ("prompt", "seed", "n_objects")
MEASURES = (
    _measure("tiam", "Share of images that show every object, in its colour if it has one.", *_PER_IMAGE),
    _measure(
        "objects", "Share of images that show every object, in any colour; prompts with colours.", *_PER_IMAGE
    ),
    _measure("found", "Share of objects that are found.", *_PER_OBJECT),
    _measure("binding_pooled", "Share of found objects in their colour, over all images.", *_PER_OBJECT),
    _measure(
        "binding_per_prompt", "Share of found objects in their colour, averaged over prompts with found objects."
    ),
)


def _create(setup: Setup[TiamOptions]) -> Tiam:
    from .metric import Tiam

    return Tiam(setup)


def _create_cosine(setup: Setup[ObjectCosineOptions]) -> ObjectCosine:
    from .object_cosine import ObjectCosine

    return ObjectCosine(setup)


def _create_attention(setup: Setup[ObjectAttentionOptions]) -> ObjectAttention:
    from .object_attention import ObjectAttention

    return ObjectAttention(setup)


def _cosine_measure(name: str, summary: str) -> Measure:
    return Measure(name, summary, low=-1, high=1, higher_is_better=None)


def _source(name: str, summary: str, template: Template) -> PromptSourceInfo:
    def prompts(_: Setup[Any]) -> Iterator[Prompt]:
        return template.prompts()

    return PromptSourceInfo(name=name, summary=summary, about=PAPER, prompts=prompts)


def _read_prompts(setup: Setup[Any]) -> Iterator[Prompt]:
    return read_template(Path(setup.argument or "")).prompts()


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the metrics."""
    return [
        MetricInfo(
            name="tiam",
            summary="Share of images that show all objects of the prompt in the right colours.",
            options=TiamOptions,
            about=TIAM,
            create=_create,
            code=_CODE,
            measures=MEASURES,
            defaults=Defaults(
                prompts="tiam-24-2",
                seeds=32,
                judges={"segment": "yolov8x-seg"},
                absent={
                    "segment": "either `pip install 't2i[ultralytics]'` (AGPL-3.0), or add `--judge "
                    "mask2former-swin-small` (its scores are not comparable to the paper's)"
                },
            ),
        ),
        MetricInfo(
            name="object-cosine",
            summary="Similarity of the two objects of a prompt in a text encoder; uses no images.",
            options=ObjectCosineOptions,
            about=COSINE,
            create=_create_cosine,
            code=("object_cosine.py", "options.py", "sources.py", "templates.py"),
            measures=(
                _cosine_measure(
                    "object-cosine", "Cosine of the two objects' texts, averaged over prompts of two objects."
                ),
            ),
            defaults=Defaults(prompts="tiam-24-2", seeds=1, judges={"embed": "clip-vit-l14"}),
        ),
        MetricInfo(
            name="object-attention",
            summary="Similarity of the two objects of a prompt in the model's own attention; uses no images.",
            options=ObjectAttentionOptions,
            about=ATTENTION,
            create=_create_attention,
            code=("object_attention.py", "options.py"),
            measures=(
                _cosine_measure(
                    "state_cosine", "Cosine of the text encoder's states of both objects in the prompt."
                ),
                _cosine_measure(
                    "embedding_cosine", "Cosine of both objects in the text encoder's embedding matrix."
                ),
                _cosine_measure("key_cosine", "Cosine of both objects' keys, over all cross-attention heads."),
                _cosine_measure("value_cosine", "Cosine of both objects' values, over all cross-attention heads."),
            ),
            defaults=Defaults(prompts="tiam-28", seeds=1),
        ),
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the prompt sources: the study's, and one for template files."""
    return [
        *(_source(name, summary, template) for name, (summary, template) in TEMPLATES.items()),
        PromptSourceInfo(
            name="tiam-template",
            summary="Prompts from a template in a YAML file.",
            argument="FILE.yaml: the template",
            needs_argument=True,
            about=PAPER,
            prompts=_read_prompts,
        ),
    ]
