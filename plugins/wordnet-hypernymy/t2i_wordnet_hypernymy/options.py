"""Options of the metrics and prompt sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from t2i_core.api.options import ExecutionOption, Options

TAXONOMY = Field(
    None,
    description="A taxonomy of your own instead of WordNet's nouns: a file with two names a line, a tab or comma "
    "between, the narrower first.",
)

IMAGES = "Numbers of images per synset at which the score is looked at too, in disjoint blocks of seeds."

ROOTS = ("vessel.n.02", "furniture.n.01", "bird.n.01", "clothing.n.01", "lizard.n.01", "fruit.n.01")
"""Of the paper's Tables 9 and 10."""

ImageCounts = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...], AfterValidator(lambda counts: tuple(sorted(set(counts))))
]
"""Each number once: blocks of as many images would be the same rows twice."""


class HypernymyOptions(Options):
    """Options of metrics of a classifier's answers. All but the taxonomy are for analyses alone."""

    taxonomy: Path | None = TAXONOMY
    roots: Annotated[tuple[str, ...], ExecutionOption()] = Field(
        ROOTS, description="Synsets whose subtrees the analyses score; the paper's by default."
    )
    beside: Annotated[tuple[Path, ...], ExecutionOption()] = Field(
        (),
        description="Folders of runs of the same metric whose ranks of synsets are compared with this one's: with "
        "other classifiers, templates or seeds.",
    )
    frequency: Annotated[Path | None, ExecutionOption()] = Field(
        None, description="How often synsets' words stand in captions: a file that t2i count-captions has written."
    )
    preferences: Annotated[Path | None, ExecutionOption()] = Field(
        None,
        description="What people preferred: a CSV file with the columns synset, model_a, model_b, annotator, "
        "choice (a, b or tie) and, where a synset has several pairs of images, item.",
    )


class IspOptions(HypernymyOptions):
    """Options of `isp`."""

    images: Annotated[ImageCounts, ExecutionOption()] = Field((4, 8, 16, 32), description=IMAGES)


class ScsOptions(HypernymyOptions):
    """Options of `scs`."""

    images: ImageCounts = Field((), description=f"{IMAGES} None by default.")


class HyponymCosineOptions(Options):
    """Options of `hyponym-cosine`."""

    taxonomy: Path | None = TAXONOMY
    template: Literal["sentence", "phrase"] = Field(
        "sentence", description="sentence: An image of a/an LEMMA. phrase: An image of LEMMA."
    )


class SimilarityOptions(Options):
    """Options of the similarities; the defaults are those of the published tables."""

    taxonomy: Path | None = TAXONOMY
    scale: Literal["clipscore", "cosine"] = Field(
        "clipscore", description="clipscore: 2.5 max(cosine, 0), as tabulated. cosine: as in the paper's text."
    )
    prefix: str = Field("A photo depicts an image of ", description="Stands before each word that is embedded.")
    cohyponyms: Literal["published", "others", "all"] = Field(
        "published",
        description="others: one copy of the synset itself is left out of its cohyponyms. all: it stays. "
        "published: it stays for Easy Concepts (prompts whose facet subset is easy), and one copy is left out for "
        "all others.",
    )


class SynsetPromptOptions(Options):
    """How synsets become prompts."""

    template: Literal["sentence", "phrase"] = Field(
        "sentence",
        description="sentence: An image of a/an LEMMA. (hypernymy paper). phrase: An image of LEMMA (taxonomy "
        "paper).",
    )
    definition: bool = Field(False, description="Whether the definition follows in brackets.")


class LabelOptions(SynsetPromptOptions):
    """Of prompts that follow from the judge's classes."""

    taxonomy: Path | None = TAXONOMY


class NearLeafOptions(LabelOptions):
    """Of the sampler of specific synsets."""

    distance: int = Field(2, ge=1, description="A synset is so many steps above a class at most.")
    count: int | None = Field(None, ge=1, description="How many are drawn; all by default.")
    seed: int = Field(0, ge=0, description="Of the draw.")


class PhraseOptions(SynsetPromptOptions):
    """How synsets become prompts in the taxonomy paper."""

    template: Literal["sentence", "phrase"] = Field(
        "phrase",
        description="phrase: An image of LEMMA (taxonomy paper). sentence: An image of a/an LEMMA. (hypernymy "
        "paper).",
    )
    definition: bool = Field(True, description="Whether the definition follows in brackets.")


class RandomOptions(PhraseOptions):
    """Of the random split of WordNet."""

    hypernymy: int = Field(828, ge=0, description="Edges of which the narrower synset is asked for.")
    hyponymy: int = Field(204, ge=0, description="Edges of which the broader synset is asked for.")
    mixing: int = Field(170, ge=0, description="Synsets with two hypernyms or more.")
    drawn: int | None = Field(
        None,
        ge=1,
        description="So many items instead, the relation of each drawn: hypernymy .8, hyponymy .1, mixing .1.",
    )
    seed: int = Field(0, ge=0, description="Of the draw.")
