"""The taxonomy paper's similarities of an image to words for its synset, its hypernyms and its cohyponyms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.facet_levels import split_levels
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need, Sample, Unit
from t2i_core.api.metric_output import Excluded, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .leaves import asked_node
from .metrics import asked_class, taxonomy_of
from .options import CLIPSCORE_WEIGHT, SimilarityOptions
from .taxonomy import Taxonomy

NEED = "embeddings"

Part = Literal["lemma", "hypernyms", "cohyponyms", "others"]


@dataclass(frozen=True)
class ComparedWords:
    """Words that an image is compared with; a word that appears twice counts twice.

    Attributes:
        lemma: The prompt's word for its synset.
        hypernyms: Words of the synsets directly above.
        cohyponyms: Words of the synsets directly below each hypernym.
        others: The cohyponyms without the synset itself.
    """

    lemma: tuple[str, ...]
    hypernyms: tuple[str, ...]
    cohyponyms: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, prompt: Prompt, taxonomy: Taxonomy, keep_itself: bool) -> ComparedWords:
        """Find the words for a prompt's synset.

        Args:
            prompt: The prompt.
            taxonomy: The taxonomy.
            keep_itself: Whether the synset counts among its own cohyponyms; if not, one copy of it is removed.

        Raises:
            BadPrompts: The taxonomy does not contain the synset.
        """
        asked = asked_class(prompt)
        node = asked_node(taxonomy, asked)
        cohyponyms = list(taxonomy.cohyponyms(node))
        others = [other for other in cohyponyms if other != node]
        if not keep_itself and node in cohyponyms:
            cohyponyms.remove(node)  # one copy only: the list has a copy for each hypernym
        word = {name: taxonomy.lemmas(name)[0] for name in {*taxonomy.hypernyms(node), *cohyponyms}}
        return cls(
            (asked.name,),
            tuple(word[name] for name in taxonomy.hypernyms(node)),
            tuple(word[name] for name in cohyponyms),
            tuple(word[name] for name in others),
        )


class _Similarity(Metric):
    """Base of the similarities: each word is its own query, so that all these metrics share the answers."""

    options: SimilarityOptions
    parts: ClassVar[tuple[Part, ...]]

    def __init__(self, setup: Setup[SimilarityOptions]) -> None:
        super().__init__(setup)
        self.taxonomy = taxonomy_of(setup.options.taxonomy)
        self._words: dict[str, ComparedWords] = {}
        self.needs = (Need(NEED, "embed", queries=self._queries),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject prompts without a synset, and synsets that are not in the taxonomy."""
        for prompt in prompts:
            self.words(prompt)

    def words(self, prompt: Prompt) -> ComparedWords:
        """Return the words that an image of this prompt is compared with."""
        if prompt.id not in self._words:
            self._words[prompt.id] = ComparedWords.of(prompt, self.taxonomy, self._keep_itself(prompt))
        return self._words[prompt.id]

    def _keep_itself(self, prompt: Prompt) -> bool:
        """Return whether a synset counts among its own cohyponyms; as published, only Easy Concepts do."""
        if self.options.cohyponyms == "published":
            return "easy" in split_levels(prompt.facets.get("subset", ""))
        return self.options.cohyponyms == "all"

    def _distinct_words(self, prompt: Prompt) -> list[str]:
        """Return the words of all parts, each once."""
        words = self.words(prompt)
        return list(dict.fromkeys(word for part in self.parts for word in getattr(words, part)))

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        texts = (Query(texts=(self.options.prefix + word,)) for word in self._distinct_words(samples[0].prompt))
        return [samples[0].query(), *texts]

    def measure(self, unit: Unit) -> Iterator[Row | Excluded | Failure]:
        """Yield one row for each value of an image."""
        observed = unit.one()
        words = self.words(observed.prompt)
        missing = next((part for part in self.parts if not getattr(words, part)), None)
        if missing is not None:
            yield Excluded(f"{words.lemma[0]} has no {'cohyponyms' if missing == 'others' else missing}")
            return
        image, *texts = (answer.values.astype(np.float64) for answer in observed.all(NEED))
        if any(not np.any(vector) for vector in (image, *texts)):
            yield Failure("an embedding is 0, so it has no cosine")
            return
        distinct = self._distinct_words(observed.prompt)
        similarity = dict(zip(distinct, self._similarities(image, np.stack(texts)), strict=True))
        means = {part: float(np.mean([similarity[word] for word in getattr(words, part)])) for part in self.parts}
        compared = [*words.lemma, *words.others]  # the words of the ratio
        nearest = max((word for word in distinct if word in compared), key=similarity.__getitem__, default="")
        yield from self.rows(
            means, "" if nearest in ("", *words.lemma) else f"nearest word: {nearest}, not {words.lemma[0]}"
        )

    def _similarities(self, image: NDArray[np.float64], texts: NDArray[np.float64]) -> list[float]:
        cosines = texts @ image / (np.linalg.norm(texts, axis=1) * np.linalg.norm(image))
        scaled = cosines if self.options.scale == "cosine" else CLIPSCORE_WEIGHT * np.maximum(cosines, 0)
        return [float(value) for value in scaled]

    def rows(self, means: dict[Part, float], because: str) -> Iterator[Row | Excluded]:
        """Yield the rows for the mean similarities of the parts.

        Args:
            means: The mean similarities.
            because: Which of the synset's and its cohyponyms' words is the most similar, if not the synset's own.
        """
        raise NotImplementedError


class LemmaSimilarity(_Similarity):
    """Similarity of an image to the prompt's word."""

    parts = ("lemma",)

    def rows(self, means: dict[Part, float], because: str) -> Iterator[Row]:
        """Yield one row: the similarity to the word."""
        yield Row("lemma-similarity", means["lemma"])


class HypernymSimilarity(_Similarity):
    """Mean similarity of an image to the words of the synset's direct hypernyms."""

    parts = ("hypernyms",)

    def rows(self, means: dict[Part, float], because: str) -> Iterator[Row]:
        """Yield one row: the mean over the direct hypernyms."""
        yield Row("hypernym-similarity", means["hypernyms"])


class CohyponymSimilarity(_Similarity):
    """Mean similarity of an image to the words of the synset's cohyponyms."""

    parts = ("cohyponyms",)

    def rows(self, means: dict[Part, float], because: str) -> Iterator[Row]:
        """Yield one row: the mean over the children of each direct hypernym."""
        yield Row("cohyponym-similarity", means["cohyponyms"])


class Specificity(_Similarity):
    """Ratio of an image's similarity to its own word and to its cohyponyms' words."""

    parts = ("lemma", "hypernyms", "cohyponyms", "others")

    def rows(self, means: dict[Part, float], because: str) -> Iterator[Row | Excluded]:
        """Yield two rows: the ratio of the published tables, and the formula printed in the paper."""
        if means["others"] <= 0 or means["cohyponyms"] <= 0:
            yield Excluded("the similarity to the cohyponyms is not above 0, so the ratio is undefined")
            return
        yield Row("specificity", means["lemma"] / means["others"], because=because)
        yield Row("hypernym-over-cohyponyms", means["hypernyms"] / means["cohyponyms"])
