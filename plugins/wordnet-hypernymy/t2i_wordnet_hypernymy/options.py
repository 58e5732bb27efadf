"""Options of the metrics and prompt sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from t2i_core.api.options import BoundedOptions, ExecutionOption, Options

from .templates import Template

TAXONOMY = Field(
    None,
    description="File with your own taxonomy instead of WordNet's nouns: two names per line, the narrower first, "
    "separated by a tab or comma.",
)

TEMPLATE = (
    "sentence: An image of a/an LEMMA. (hypernymy paper). phrase: An image of LEMMA (taxonomy paper). Or your own "
    "text with {lemma} (lower case) or {Lemma}, and {a} for a or an."
)

IMAGES = "Numbers of images per synset for which the score is also computed, in up to four disjoint runs."

ROOTS = ("vessel.n.02", "furniture.n.01", "bird.n.01", "clothing.n.01", "lizard.n.01", "fruit.n.01")
"""Roots of the subtrees in the hypernymy paper's Tables 9 and 10."""

ImageCounts = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...], AfterValidator(lambda counts: tuple(sorted(set(counts))))
]
"""Numbers of images, each kept once, because equal numbers would give the same rows twice."""


class HypernymyOptions(Options):
    """Options of the metrics that use a classifier. All except `taxonomy` affect only the analyses."""

    taxonomy: Path | None = TAXONOMY
    roots: Annotated[tuple[str, ...], ExecutionOption()] = Field(
        ROOTS, description="Synsets whose subtrees the analyses score; by default those of the paper."
    )
    beside: Annotated[tuple[Path, ...], ExecutionOption()] = Field(
        (),
        description="Folders of other runs of the same metric, for example with other classifiers, templates or "
        "seeds; the analyses compare their rankings of synsets with this run's.",
    )
    frequency: Annotated[Path | None, ExecutionOption()] = Field(
        None, description="File that t2i count-captions wrote: how many captions contain the word of each synset."
    )
    preferences: Annotated[Path | None, ExecutionOption()] = Field(
        None,
        description="File of people's preferences, for analyses: a database of t2i people serve, or CSV.",
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
    classes: Literal["imagenet-1k", "mini-world", "lowest"] | Path | None = Field(
        None,
        description="Classes of the classifier, the hyponyms that count. lowest: the nodes of the taxonomy with "
        "none below; FILE: one synset or name per line. By default imagenet-1k, or lowest with your own taxonomy.",
    )
    template: Template = Field("sentence", description=TEMPLATE)


CLIPSCORE_WEIGHT = 2.5
"""The weight w of CLIPScore."""


class SimilarityOptions(BoundedOptions):
    """Options of the similarities; the defaults reproduce the published tables."""

    taxonomy: Path | None = TAXONOMY
    scale: Literal["clipscore", "cosine"] = Field(
        "clipscore",
        description="clipscore: 2.5 max(cosine, 0), as in the paper's tables. cosine: the cosine itself, as in "
        "the paper's text.",
    )
    prefix: str = Field(
        "A photo depicts an image of ", description="Text that is put before each word to embed it."
    )
    cohyponyms: Literal["published", "others", "all"] = Field(
        "published",
        description="Whether a synset counts among its own cohyponyms. all: yes. others: one copy of it is left "
        "out. published: as all for Easy Concepts (prompts whose facet subset is or includes easy), otherwise as "
        "others.",
    )

    @property
    def least(self) -> float:
        """The least similarity on this scale."""
        return -1.0 if self.scale == "cosine" else 0.0

    @property
    def greatest(self) -> float:
        """The greatest similarity on this scale."""
        return 1.0 if self.scale == "cosine" else CLIPSCORE_WEIGHT

    @property
    def least_ratio(self) -> float | None:
        """The least ratio of two similarities, the second above 0; cosines have none."""
        return None if self.scale == "cosine" else 0.0


class SynsetPromptOptions(Options):
    """Options that say how synsets become prompts."""

    template: Template = Field("sentence", description=TEMPLATE)
    definition: bool = Field(False, description="Whether the prompt ends with the definition in brackets.")


class LabelOptions(SynsetPromptOptions):
    """Options of `wordnet-imagenet`, whose prompts depend on the judge's classes."""

    taxonomy: Path | None = TAXONOMY


class NearLeafOptions(LabelOptions):
    """Options of `wordnet-near-leaf`."""

    distance: int = Field(2, ge=1, description="Maximum number of steps from a synset down to a class.")
    count: int | None = Field(None, ge=1, description="Number of synsets to draw; by default all are used.")
    seed: int = Field(0, ge=0, description="Seed of the draw.")


class PhraseOptions(SynsetPromptOptions):
    """Options that say how synsets become prompts in the taxonomy paper."""

    template: Template = Field("phrase", description=TEMPLATE)
    definition: bool = Field(True, description="Whether the prompt ends with the definition in brackets.")


class RandomOptions(PhraseOptions):
    """Options of `wordnet-random`."""

    hypernymy: int = Field(
        828, ge=0, description="Number of edges for which the prompt asks for the narrower synset."
    )
    hyponymy: int = Field(
        204, ge=0, description="Number of edges for which the prompt asks for the broader synset."
    )
    mixing: int = Field(170, ge=0, description="Number of synsets with two hypernyms or more.")
    drawn: int | None = Field(
        None,
        ge=1,
        description="Total number of items, instead of the numbers by relation; the relation of each is drawn "
        "with the probabilities hypernymy 0.8, hyponymy 0.1, mixing 0.1.",
    )
    seed: int = Field(0, ge=0, description="Seed of the draw.")
