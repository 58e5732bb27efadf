"""The task sources that t2i-selfeval offers: samples of published data sets, in local folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from t2i_core.api import About, Prompt, PromptSourceInfo, Setup, hookimpl

from .task_options import (
    HOW_TO_GET_WINOGROUND,
    AroOptions,
    AroOrderOptions,
    AroRelationOptions,
    BindingOptions,
    ClevrOptions,
    PairOptions,
    TifaOptions,
)

_ARO = (
    "Yuksekgonul et al.: When and why vision-language models behave like bags-of-words, and what to do about it? "
    "ICLR 2023"
)
_ARO_NOTES = "Licence: MIT; Visual Genome's images CC BY 4.0. Entries whose two captions are equal are left out."


def _read(module: str, name: str = "prompts") -> Callable[[Setup[Any]], Iterable[Prompt]]:
    def prompts(setup: Setup[Any]) -> Iterable[Prompt]:
        found: Iterable[Prompt] = getattr(import_module(f".tasks.{module}", __package__), name)(setup)
        return found

    return prompts


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Offer the sources of SelfEval's six tasks, and Winoground."""
    return [
        PromptSourceInfo(
            name="tifa",
            summary="Colours, numbers and places: TIFA's questions about COCO's captions, as captions.",
            argument="FOLDER with tifa_v1.0_question_answers.json and COCO's val2014/",
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
            summary="Attribute binding, colours, numbers, shapes and places in CLEVR's scenes.",
            argument="FOLDER: CLEVR_v1.0, with images/, scenes/ and questions/",
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
            summary="CLEVR's objects as Lewis et al. combine them: single, in pairs, in relations.",
            argument="FOLDER with single_object/, two_object/ and rel/",
            needs_argument=True,
            options=BindingOptions,
            about=About(
                citation="Lewis et al.: Does CLIP Bind Concepts? Probing Compositionality in Large Image Models. "
                "arXiv:2212.10537",
                notes="Licence: the code BSD 3-Clause; none is named for the data.",
            ),
            prompts=_read("binding"),
        ),
        PromptSourceInfo(
            name="aro-attribution",
            summary="Which of two things has which attribute: ARO's VG-Attribution.",
            argument="FOLDER with visual_genome_attribution.json and images/",
            needs_argument=True,
            options=AroOptions,
            about=About(citation=_ARO, notes=_ARO_NOTES),
            prompts=_read("aro", "attribution"),
        ),
        PromptSourceInfo(
            name="aro-relation",
            summary="Which of two things stands so to the other: ARO's VG-Relation.",
            argument="FOLDER with visual_genome_relation.json and images/",
            needs_argument=True,
            options=AroRelationOptions,
            about=About(citation=_ARO, notes=_ARO_NOTES),
            prompts=_read("aro", "relation"),
        ),
        PromptSourceInfo(
            name="aro-order",
            summary="A caption among four whose words are in wrong orders: ARO's COCO-Order and Flickr30k-Order.",
            argument="FILE: coco_karpathy_test.json or flickr30k_test.json, images beside it as it says",
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
            summary="Winoground: 400 pairs of images and captions of the same words.",
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
