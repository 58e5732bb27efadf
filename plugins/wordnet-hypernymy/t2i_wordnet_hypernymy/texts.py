"""The metric `hyponym-cosine`: how close a text encoder places a synset to the classes below it.

References:
    Hypernymy paper, Appendix G and Table 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.judge import Query
from t2i_core.api.metric import PromptMetric
from t2i_core.api.metric_input import Answer, Need, Sample, Unit
from t2i_core.api.metric_output import Excluded, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt

from .classes import find_classes
from .leaves import Leaves, asked_node
from .metrics import asked_class, taxonomy_of
from .options import HyponymCosineOptions
from .templates import text_of

NEED = "texts"


class HyponymCosine(PromptMetric):
    """Mean cosine between the text for a synset and the texts for the classes below it."""

    options: HyponymCosineOptions

    def __init__(self, setup: Setup[HyponymCosineOptions]) -> None:
        super().__init__(setup)
        self.taxonomy = taxonomy_of(setup.options.taxonomy)
        self._classes = find_classes(setup.options.classes, self.taxonomy)
        self._below = Leaves.of(self.taxonomy, [ObjectClass(name, name) for name in self._classes]).below
        self.needs = (Need(NEED, "embed", images="prompt", per="run", queries=self._queries),)
        self._texts: dict[str, int] = {}
        self._vectors: tuple[Sequence[Answer], NDArray[np.float64]] | None = None

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject prompts without a synset, and synsets that are not in the taxonomy."""
        for prompt in prompts:
            asked_node(self.taxonomy, asked_class(prompt))

    def texts(self, prompt: Prompt) -> list[str]:
        """Return the text for the synset itself, followed by those for the classes below it."""
        asked = asked_class(prompt)
        node = asked_node(self.taxonomy, asked)
        below = (self._classes[i] for i in self._below.get(node, ()))
        words = (asked.name, *(self.taxonomy.lemmas(name)[0] for name in below if name != node))
        return [text_of(word, "", self.options.template) for word in words]

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        texts = dict.fromkeys(text for sample in samples for text in self.texts(sample.prompt))
        self._texts = {text: i for i, text in enumerate(texts)}
        return [Query(texts=(text,)) for text in texts]

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Yield one row for a synset, or exclude it if no class is below it."""
        assert unit.prompt is not None  # the unit of a PromptMetric has a prompt
        own, *below = self.texts(unit.prompt)
        if not below:
            yield Excluded(f"none of the classes is a hyponym of {asked_class(unit.prompt).name}")
            return
        vectors = self._normalise(unit.shared[NEED])
        cosines = vectors[[self._texts[text] for text in below]] @ vectors[self._texts[own]]
        yield Row("hyponym-cosine", float(cosines.mean()), {"hyponyms": len(below)})

    def _normalise(self, answers: Sequence[Answer]) -> NDArray[np.float64]:
        """Return the vectors of the texts, scaled to length 1, shape (texts, d)."""
        if self._vectors is None or self._vectors[0] is not answers:
            vectors = np.stack([answer.observation.values for answer in answers]).astype(np.float64)
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
            self._vectors = answers, vectors / np.where(length > 0, length, 1)
        return self._vectors[1]
