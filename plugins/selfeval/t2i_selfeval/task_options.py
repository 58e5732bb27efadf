"""Options of the task sources: the selection of samples, and the choices that the papers leave open."""

from __future__ import annotations

from typing import Literal, get_args

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
        description="Maximum number of samples of each task (the paper: 1,000); none: all samples. A larger limit "
        "keeps the samples of every smaller one.",
    )
    seed: int = Field(0, ge=0, description="Seed of the selection of samples (the paper uses three).")


class _Template(TaskOptions):
    template: str = Field("a photo of {}", description="Template of captions; {} stands for the description.")

    @field_validator("template")
    @classmethod
    def _check_template(cls, text: str) -> str:
        if text.count("{}") != 1 or text.replace("{}", "").count("{") or text.replace("{}", "").count("}"):
            raise ValueError(f"must contain {{}} exactly once and no other braces (got {text!r})")
        return text


class TifaOptions(TaskOptions):
    """Options of `tifa`."""

    tasks: tuple[Literal["colour", "count", "spatial"], ...] = Field(
        ("colour", "count", "spatial"), min_length=1, description="Tasks to take samples of."
    )
    captions: Literal["replaced", "answered"] = Field(
        "replaced",
        description="replaced: COCO's caption, with the right answer replaced by wrong ones; captions that do not "
        "contain the answer exactly once are skipped. answered: the question followed by an answer.",
    )
    choices: int = Field(4, ge=2, description="Number of answers of the questions to take (the paper: 4).")
    images: str = Field(
        "val2014", description="Folder of COCO's images (val2014), relative to the folder of the questions."
    )


class ClevrOptions(_Template):
    """Options of `clevr`."""

    tasks: tuple[Literal["attribute-binding", "colour", "count", "shape", "spatial"], ...] = Field(
        ("attribute-binding", "colour", "count", "shape", "spatial"),
        min_length=1,
        description="Tasks to take samples of.",
    )
    split: Literal["train", "val"] = Field("val", description="Split of CLEVR; its test split has no scenes.")
    captions: Literal["described", "answered"] = Field(
        "described",
        description="described: descriptions of the scene in the template. answered: CLEVR's questions followed "
        "by an answer (colour, count and shape only).",
    )


class BindingOptions(_Template):
    """Options of `clevr-binding`."""

    part: Literal["single-object", "two-object", "rel"] = Field(
        "two-object", description="One of the three data sets of Lewis et al."
    )
    split: Literal["train", "val", "gen"] = Field(
        "gen", description="Split of the data set; gen has unseen combinations."
    )
    choices: int | None = Field(
        None,
        ge=2,
        le=5,
        description="Number of captions per sample, wrong ones drawn by the seed; 5: all. Default: the paper's 2, "
        "or 4 for spatial.",
    )


class AroOptions(TaskOptions):
    """Options of `aro-attribution`."""

    crop: bool = Field(True, description="Crop images to the box of both objects, as ARO does.")


class AroRelationOptions(AroOptions):
    """Options of `aro-relation`."""

    relations: Literal["spatial", "all"] = Field(
        "spatial", description="Relations to take: spatial ones, or all (riding, wearing, ...)."
    )


class AroOrderOptions(TaskOptions):
    """Options of `aro-order`."""

    perturbations: tuple[Perturbation, ...] = Field(
        ("nouns-adjectives", "all-but-nouns-adjectives", "within-trigrams", "trigrams"),
        min_length=1,
        description="What to shuffle in each of the wrong captions; values may repeat. nouns-adjectives and "
        "all-but-nouns-adjectives need a tagger.",
    )
    tagger: str = Field(
        "en_core_web_sm", description="Name or folder of the spaCy pipeline that tags nouns and adjectives."
    )
    captions: Literal["one", "all"] = Field(
        "one", description="Captions to take of each image: one, drawn by the seed, or all."
    )
    most_words: int = Field(30, ge=2, description="Maximum number of words; longer captions are cut, as in ARO.")


SourceName = Literal[
    "tifa", "clevr", "clevr-two-object", "clevr-rel", "aro-attribution", "aro-relation", "aro-order"
]


class ProtocolOptions(Options):
    """Options of `selfeval-tasks`."""

    limit: int | None = Field(
        1000,
        ge=1,
        description="Maximum number of samples of each task (the paper: 1,000), taken evenly from its data sets; "
        "none: all.",
    )
    seed: int = Field(0, ge=0, description="Seed of the selection of samples in the first repeat.")
    repeats: int = Field(
        1, ge=1, description="Number of draws of samples and noise (the paper: 3); samples may recur."
    )
    sources: tuple[SourceName, ...] = Field(
        get_args(SourceName), min_length=1, description="Data sets to take samples of."
    )


class PairOptions(Options):
    """Options of `winoground-pairs`."""

    limit: int | None = Field(
        None, ge=1, description="Maximum number of pairs, drawn by the seed; none: all pairs."
    )
    seed: int = Field(0, ge=0, description="Seed of the selection of pairs.")
