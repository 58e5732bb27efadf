"""The plugin: prompts from COCO, DrawBench, any data set of Hugging Face's library; annotations as COCO JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from t2i_core.api import About, Loading, ObjectClass, Prompt, PromptSourceInfo, Setup, Sink, SinkInfo, hookimpl
from t2i_core.api.errors import BadPrompts
from t2i_torch_support.coco_classes import NAMES

from .options import CocoOptions, HubOptions


def _coco(setup: Setup[CocoOptions]) -> Iterator[Prompt]:
    from .coco import prompts

    if setup.argument is None:
        raise BadPrompts("prompts 'coco' need the file of captions: coco:captions_val2014.json")
    return prompts(Path(setup.argument), setup.options)


def _coco_labels(argument: str | None, options: CocoOptions) -> tuple[ObjectClass, ...]:
    """Return COCO's classes under all their names, which need no file of captions."""
    return NAMES


def _drawbench(setup: Setup[Any]) -> Iterator[Prompt]:
    from .drawbench import prompts

    return prompts(Path(setup.argument or ""))


def _hub(setup: Setup[HubOptions]) -> Iterator[Prompt]:
    from .hub import prompts

    return prompts(setup)


def _fetch(setup: Setup[HubOptions]) -> None:
    from .hub import fetch

    fetch(setup)


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the descriptors of the prompt sources."""
    return [
        PromptSourceInfo(
            name="coco",
            summary="COCO captions: all, a random sample, or a published list.",
            argument="FILE: official captions (captions_val2014.json) or DALL-Eval's lists (uid_caption.csv)",
            options=CocoOptions,
            labels=_coco_labels,
            about=About(
                citation="Chen et al.: Microsoft COCO Captions. arXiv:1504.00325; Karpathy, Fei-Fei. CVPR 2015"
            ),
            prompts=_coco,
        ),
        PromptSourceInfo(
            name="drawbench",
            summary="DrawBench's 200 prompts in eleven categories.",
            argument="FILE: its CSV or TSV, with columns Prompts and Category",
            needs_argument=True,
            about=About(
                citation="Saharia et al.: Photorealistic Text-to-Image Diffusion Models with Deep Language "
                "Understanding. NeurIPS 2022. arXiv:2205.11487"
            ),
            prompts=_drawbench,
        ),
        PromptSourceInfo(
            name="hub",
            summary="Rows of any data set on the Hugging Face hub, in a folder or in a file.",
            argument="ORG/NAME on the hub, or the path of a folder or file (parquet, JSON, CSV, text)",
            needs_argument=True,
            options=HubOptions,
            prompts=_hub,
            loading=Loading(prefetch=_fetch),
            about=About(
                citation="Lhoest et al.: Datasets: A Community Library for Natural Language Processing. "
                "EMNLP 2021",
                notes="Data sets that need their own code are not supported.",
            ),
        ),
    ]


def _coco_annotations(setup: Setup[Any]) -> Sink:
    from .coco_annotations import CocoAnnotations

    return CocoAnnotations()


@hookimpl
def t2i_sinks() -> list[SinkInfo]:
    """Return the descriptor of the sink."""
    return [
        SinkInfo(
            name="coco-annotations",
            summary="Ground truth of the images, as COCO instances, for models that report it.",
            about=About(
                citation="Lin et al.: Microsoft COCO: Common Objects in Context. ECCV 2014. arXiv:1405.0312"
            ),
            create=_coco_annotations,
        )
    ]
