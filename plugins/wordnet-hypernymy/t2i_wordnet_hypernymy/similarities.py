"""The similarities of the taxonomy paper: an image against words for its synset, and above and beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need, Sample, Unit
from t2i_core.api.metric_output import Excluded, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .leaves import asked_node
from .metrics import asked_class, taxonomy_of
from .options import SimilarityOptions
from .taxonomy import Taxonomy

NEED = "embeddings"
WEIGHT = 2.5
"""CLIPScore's w."""

Part = Literal["lemma", "hypernyms", "cohyponyms", "others"]


@dataclass(frozen=True)
class ComparedWords:
    """What an image is compared with; a word counts as often as it stands here.

    lemma:       what the prompt calls its synset
    hypernyms:   directly above
    cohyponyms:  directly below each of those
    others:      the same without the synset itself
    """

    lemma: tuple[str, ...]
    hypernyms: tuple[str, ...]
    cohyponyms: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, prompt: Prompt, taxonomy: Taxonomy, keep_itself: bool) -> ComparedWords:
        """Find them. Raises BadPrompts where the taxonomy does not have the synset."""
        asked = asked_class(prompt)
        node = asked_node(taxonomy, asked)
        beside = list(taxonomy.cohyponyms(node))
        others = [other for other in beside if other != node]
        if not keep_itself and node in beside:
            beside.remove(node)  # one copy: it stands there once for each hypernym
        word = {name: taxonomy.lemmas(name)[0] for name in {*taxonomy.hypernyms(node), *beside}}
        return cls(
            (asked.name,),
            tuple(word[name] for name in taxonomy.hypernyms(node)),
            tuple(word[name] for name in beside),
            tuple(word[name] for name in others),
        )


class _Similarity(Metric):
    """An image's similarity to words, each its own query, so that all of these metrics share the answers."""

    options: SimilarityOptions
    parts: ClassVar[tuple[Part, ...]]

    def __init__(self, setup: Setup[SimilarityOptions]) -> None:
        super().__init__(setup)
        self.taxonomy = taxonomy_of(setup.options.taxonomy)
        self._words: dict[str, ComparedWords] = {}
        self.needs = (Need(NEED, "embed", queries=self._queries),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts without a synset, and synsets that the taxonomy does not have."""
        for prompt in prompts:
            self.words(prompt)

    def words(self, prompt: Prompt) -> ComparedWords:
        """What an image of this prompt is compared with."""
        if prompt.id not in self._words:
            self._words[prompt.id] = ComparedWords.of(prompt, self.taxonomy, self._keeps_itself(prompt))
        return self._words[prompt.id]

    def _keeps_itself(self, prompt: Prompt) -> bool:
        """Whether a synset counts among its own cohyponyms; in what is published, where it is an Easy Concept."""
        if self.options.cohyponyms == "published":
            return prompt.facets.get("subset") == "easy"
        return self.options.cohyponyms == "all"

    def _asked(self, prompt: Prompt) -> list[str]:
        """The words of all parts, each once."""
        words = self.words(prompt)
        return list(dict.fromkeys(word for part in self.parts for word in getattr(words, part)))

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        texts = (Query(texts=(self.options.prefix + word,)) for word in self._asked(samples[0].prompt))
        return [samples[0].query(), *texts]

    def measure(self, unit: Unit) -> Iterator[Row | Excluded | Failure]:
        """Turn one image into one row for each of the metric's values."""
        observed = unit.one()
        words = self.words(observed.prompt)
        missing = next((part for part in self.parts if not getattr(words, part)), None)
        if missing is not None:
            yield Excluded(f"{words.lemma[0]} has no {'cohyponyms' if missing == 'others' else missing}")
            return
        image, *texts = (answer.values.astype(np.float64) for answer in observed.all(NEED))
        if any(not np.any(vector) for vector in (image, *texts)):
            yield Failure("an embedding is 0: it has no cosine")
            return
        similar = dict(zip(self._asked(observed.prompt), self._similarities(image, np.stack(texts)), strict=True))
        means = {part: float(np.mean([similar[word] for word in getattr(words, part)])) for part in self.parts}
        yield from self.rows(means)

    def _similarities(self, image: NDArray[np.float64], texts: NDArray[np.float64]) -> list[float]:
        cosines = texts @ image / (np.linalg.norm(texts, axis=1) * np.linalg.norm(image))
        scaled = cosines if self.options.scale == "cosine" else WEIGHT * np.maximum(cosines, 0)
        return [float(value) for value in scaled]

    def rows(self, means: dict[Part, float]) -> Iterator[Row | Excluded]:
        """Turn the mean similarities of the parts into rows."""
        raise NotImplementedError


class LemmaSimilarity(_Similarity):
    """Is it what the prompt's word says?"""

    parts = ("lemma",)

    def rows(self, means: dict[Part, float]) -> Iterator[Row]:
        """One row: the similarity itself."""
        yield Row("lemma-similarity", means["lemma"])


class HypernymSimilarity(_Similarity):
    """Is it a kind of what the synset is a kind of?"""

    parts = ("hypernyms",)

    def rows(self, means: dict[Part, float]) -> Iterator[Row]:
        """One row: the mean over the direct hypernyms."""
        yield Row("hypernym-similarity", means["hypernyms"])


class CohyponymSimilarity(_Similarity):
    """Is it like its cohyponyms?"""

    parts = ("cohyponyms",)

    def rows(self, means: dict[Part, float]) -> Iterator[Row]:
        """One row: the mean over the children of each direct hypernym."""
        yield Row("cohyponym-similarity", means["cohyponyms"])


class Specificity(_Similarity):
    """Is it more like its own word than like its cohyponyms'?"""

    parts = ("lemma", "hypernyms", "cohyponyms", "others")

    def rows(self, means: dict[Part, float]) -> Iterator[Row | Excluded]:
        """Two rows: what the published tables hold, and what the paper's formula says."""
        if means["others"] <= 0 or means["cohyponyms"] <= 0:
            yield Excluded("nothing in common with its cohyponyms: no ratio to them")
            return
        yield Row("specificity", means["lemma"] / means["others"])
        yield Row("hypernym-over-cohyponyms", means["hypernyms"] / means["cohyponyms"])
