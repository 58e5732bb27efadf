"""Prompt sources of samples of published data sets, read from local folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from t2i_core.api import About, Prompt, PromptSourceInfo, Setup, hookimpl

from .explanations import PAPER
from .task_options import (
    HOW_TO_GET_WINOGROUND,
    AroOptions,
    AroOrderOptions,
    AroRelationOptions,
    BindingOptions,
    ClevrOptions,
    PairOptions,
    ProtocolOptions,
    TifaOptions,
)

_ARO = (
    "Yuksekgonul et al.: When and why vision-language models behave like bags-of-words, and what to do about it? "
    "ICLR 2023"
)
_ARO_NOTES = "Licence: MIT; Visual Genome's images CC BY 4.0. Entries with two equal captions are left out."


def _read(module: str, name: str = "prompts") -> Callable[[Setup[Any]], Iterable[Prompt]]:
    def prompts(setup: Setup[Any]) -> Iterable[Prompt]:
        found: Iterable[Prompt] = getattr(import_module(f".tasks.{module}", __package__), name)(setup)
        return found

    return prompts


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the sources of SelfEval's six tasks, and of Winoground."""
    return [
        PromptSourceInfo(
            name="selfeval-tasks",
            summary="The paper's six tasks, up to 1,000 samples each over all of its data sets, in repeats.",
            argument="FOLDER: contains TIFA/, CLEVR_v1.0/, clevr-binding/, ARO/ and COCO/coco_karpathy_test.json",
            needs_argument=True,
            options=ProtocolOptions,
            about=PAPER.overlay(About(notes="Licences: those of the sources tifa to aro-order.")),
            prompts=_read("protocol"),
        ),
        PromptSourceInfo(
            name="tifa",
            summary="Captions about colour, count and position from TIFA's questions on COCO.",
            argument="FOLDER: contains tifa_v1.0_question_answers.json and COCO's val2014/",
            needs_argument=True,
            options=TifaOptions,
            about=About(
                citation="Hu et al.: TIFA: Accurate and Interpretable Text-to-Image Faithfulness Evaluation with "
                "Question Answering. ICCV 2023",
                notes="Licence: TIFA's repository names none; COCO's captions CC BY 4.0, its images under the "
                "terms of Flickr.",
            ),
            prompts=_read("tifa"),
        ),
        PromptSourceInfo(
            name="clevr",
            summary="Captions about attribute binding, colour, count, shape and position in CLEVR's scenes.",
            argument="FOLDER: CLEVR_v1.0; contains images/, scenes/ and questions/",
            needs_argument=True,
            options=ClevrOptions,
            about=About(
                citation="Johnson et al.: CLEVR: A Diagnostic Dataset for Compositional Language and Elementary "
                "Visual Reasoning. CVPR 2017",
                notes="Licence: CC BY 4.0.",
            ),
            prompts=_read("clevr"),
        ),
        PromptSourceInfo(
            name="clevr-binding",
            summary="Single CLEVR objects, pairs of objects and relations by Lewis et al.",
            argument="FOLDER: contains single_object/, two_object/ and rel/",
            needs_argument=True,
            options=BindingOptions,
            about=About(
                citation="Lewis et al.: Does CLIP Bind Concepts? Probing Compositionality in Large Image Models. "
                "arXiv:2212.10537",
                notes="Licence: BSD 3-Clause for the code; the data name none.",
            ),
            prompts=_read("binding"),
        ),
        PromptSourceInfo(
            name="aro-attribution",
            summary="Captions with right and exchanged attributes of two objects: ARO's VG-Attribution.",
            argument="FOLDER: contains visual_genome_attribution.json and images/",
            needs_argument=True,
            options=AroOptions,
            about=About(citation=_ARO, notes=_ARO_NOTES),
            prompts=_read("aro", "attribution"),
        ),
        PromptSourceInfo(
            name="aro-relation",
            summary="Captions with right and exchanged relations of two objects: ARO's VG-Relation.",
            argument="FOLDER: contains visual_genome_relation.json and images/",
            needs_argument=True,
            options=AroRelationOptions,
            about=About(citation=_ARO, notes=_ARO_NOTES),
            prompts=_read("aro", "relation"),
        ),
        PromptSourceInfo(
            name="aro-order",
            summary="A caption and four wrong orders of its words: ARO's COCO-Order and Flickr30k-Order.",
            argument="FILE: coco_karpathy_test.json or flickr30k_test.json, with its images in the same folder",
            needs_argument=True,
            options=AroOrderOptions,
            about=About(
                citation=_ARO,
                notes="Licence: ARO's code MIT; COCO's captions CC BY 4.0; images under the terms of Flickr, "
                "Flickr30k for research only.",
            ),
            prompts=_read("order"),
        ),
        PromptSourceInfo(
            name="winoground-pairs",
            summary="Winoground: 400 pairs of images with captions of the same words.",
            argument="FOLDER: a copy of facebook/winoground (parquet, or examples.jsonl and images/)",
            needs_argument=True,
            options=PairOptions,
            about=About(
                citation="Thrush et al.: Winoground: Probing Vision and Language Models for Visio-Linguistic "
                "Compositionality. CVPR 2022",
                notes=f"Licence: {HOW_TO_GET_WINOGROUND}.",
            ),
            prompts=_read("pairs"),
        ),
    ]
