"""Options of the task sources: which samples are taken, and what the papers leave open."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator
from t2i_core.api import Options

HOW_TO_GET_WINOGROUND = (
    "Winoground is gated, for research only: accept its licence at huggingface.co/datasets/facebook/winoground, "
    "then hf download facebook/winoground --repo-type dataset --local-dir FOLDER"
)
Perturbation = Literal["nouns-adjectives", "all-but-nouns-adjectives", "within-trigrams", "trigrams", "words"]


class TaskOptions(Options):
    """Options of all task sources."""

    limit: int | None = Field(
        1000,
        ge=1,
        description="So many samples of each task at most, the paper's 1,000; none: all. A larger sample holds "
        "every smaller one.",
    )
    seed: int = Field(0, ge=0, description="Another seed draws other samples (the paper repeats three times).")


class _Template(TaskOptions):
    template: str = Field("a photo of {}", description="What captions are, {} in the place of what is described.")

    @field_validator("template")
    @classmethod
    def _has_a_place(cls, text: str) -> str:
        if text.count("{}") != 1 or text.replace("{}", "").count("{") or text.replace("{}", "").count("}"):
            raise ValueError("want {} once, in the place of what is described")
        return text


class TifaOptions(TaskOptions):
    """Options of `tifa`."""

    tasks: tuple[Literal["colour", "count", "spatial"], ...] = Field(
        ("colour", "count", "spatial"), min_length=1, description="Tasks that samples are taken of."
    )
    captions: Literal["replaced", "answered"] = Field(
        "replaced",
        description="replaced: the caption with other answers in the place of the right one, where it stands "
        "there once. answered: the question with an answer after it.",
    )
    choices: int = Field(4, ge=2, description="Questions with so many answers are taken, the paper's 4.")
    images: str = Field(
        "val2014", description="Folder of COCO's images (val2014), seen from the folder of the questions."
    )


class ClevrOptions(_Template):
    """Options of `clevr`."""

    tasks: tuple[Literal["attribute-binding", "colour", "count", "shape", "spatial"], ...] = Field(
        ("attribute-binding", "colour", "count", "shape", "spatial"),
        min_length=1,
        description="Tasks that samples are taken of.",
    )
    split: Literal["train", "val"] = Field("val", description="CLEVR's split; test has no scenes.")
    captions: Literal["described", "answered"] = Field(
        "described",
        description="described: what is true of the scene, by the template. answered: CLEVR's own questions with "
        "an answer after them (colour, count, shape).",
    )


class BindingOptions(_Template):
    """Options of `clevr-binding`."""

    part: Literal["single-object", "two-object", "rel"] = Field(
        "two-object", description="Which of the three data sets of Lewis et al."
    )
    split: Literal["train", "val", "gen"] = Field("gen", description="Its split; gen has unseen combinations.")
    choices: int | None = Field(
        None, ge=2, le=5, description="Captions, wrong ones drawn by the seed: the paper's 2 (spatial: 4); 5: all."
    )


class AroOptions(TaskOptions):
    """Options of `aro-attribution`."""

    crop: bool = Field(True, description="Show the box of both objects alone, as ARO does; else the whole image.")


class AroRelationOptions(AroOptions):
    """Options of `aro-relation`."""

    relations: Literal["spatial", "all"] = Field(
        "spatial", description="Relations that say where things are, or all of them (riding, wearing, ...)."
    )


class AroOrderOptions(TaskOptions):
    """Options of `aro-order`."""

    perturbations: tuple[Perturbation, ...] = Field(
        ("nouns-adjectives", "all-but-nouns-adjectives", "within-trigrams", "trigrams"),
        min_length=1,
        description="How each wrong caption is made: what changes places. The same may stand twice. The first two "
        "need a tagger.",
    )
    tagger: str = Field(
        "en_core_web_sm", description="The pipeline of spaCy that tells nouns and adjectives: a name or a folder."
    )
    captions: Literal["one", "all"] = Field(
        "one", description="One caption of each image, drawn by the seed, or all of them."
    )
    most_words: int = Field(30, ge=2, description="Longer captions are cut, as ARO does.")


class PairOptions(Options):
    """Options of `winoground-pairs`."""

    limit: int | None = Field(None, ge=1, description="So many pairs at most, drawn by the seed; else all.")
    seed: int = Field(0, ge=0, description="Another seed draws other pairs.")
