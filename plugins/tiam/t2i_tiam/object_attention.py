"""The metric `object-attention`: similarity of a prompt's two objects in the model's text encoder and attention.

References:
    Grimal et al.: TIAM - A Metric for Evaluating Alignment in Text-to-Image Generation. WACV 2024. Table 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import TextAttention
from t2i_core.api.errors import BadPrompts
from t2i_core.api.judge import Query
from t2i_core.api.metric import PromptMetric
from t2i_core.api.metric_input import Need, Sample, Unit
from t2i_core.api.metric_output import Excluded, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .options import ObjectAttentionOptions

NEED = "attention"

Floats = NDArray[np.float64]


class ObjectAttention(PromptMetric):
    """Cosines of the vectors of a prompt's two objects in the model itself; uses no images."""

    options: ObjectAttentionOptions

    def __init__(self, setup: Setup[ObjectAttentionOptions]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "attention", source="model", images="prompt", queries=_ask),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that every prompt lists its objects, and that some have two.

        Raises:
            BadPrompts: If a prompt has no scene with objects, or no prompt has two.
        """
        for prompt in prompts:
            if prompt.scene is None or not prompt.scene.objects:
                raise BadPrompts(
                    f"object-attention: prompt {prompt.id!r} has no scene with objects; use prompts that list "
                    "their objects, for example `--prompts tiam-28`"
                )
        if all(prompt.scene is None or len(prompt.scene.objects) != 2 for prompt in prompts):
            raise BadPrompts(
                "object-attention: no prompt has two objects, whose vectors could be compared; use for example "
                "`--prompts tiam-28`"
            )

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Yield the cosines, each from -1 to 1, for a prompt of two objects; exclude other prompts.

        - `state_cosine`: of the text encoder's states of the objects in the prompt.
        - `embedding_cosine`: of the objects' rows of the text encoder's embedding matrix.
        - `key_cosine`, `value_cosine`: of the keys and values of one head of one cross-attention layer; the facets
          `layer` and `head` name it.

        A head in which an object's vector is 0 has no row.
        """
        assert unit.prompt is not None  # the unit of a PromptMetric has a prompt
        objects = unit.prompt.scene.objects if unit.prompt.scene else ()
        if len(objects) != 2:
            yield Excluded(f"the prompt must have two objects (got {len(objects)})")
            return
        found: TextAttention = unit.one().one(NEED)
        whole = {"state_cosine": found.states, "embedding_cosine": found.embeddings}
        cosines = {measure: self._compare(found, vectors) for measure, vectors in whole.items()}
        if any(cosine is None for cosine in cosines.values()):
            yield Excluded("the text encoder returned a vector of length 0")
            return
        for measure, cosine in cosines.items():
            assert cosine is not None  # checked above
            yield Row(measure, cosine)
        for measure, layers in (("key_cosine", found.keys), ("value_cosine", found.values)):
            for layer, heads in layers.items():
                for head, vectors in enumerate(heads):
                    if (cosine := self._compare(found, vectors)) is not None:
                        yield Row(measure, cosine, {"layer": layer, "head": head})

    def _compare(self, found: TextAttention, vectors: NDArray[np.float32]) -> float | None:
        """Return the cosine of the two words' vectors; None if one of them is 0.

        Args:
            found: The answer, whose tokens belong to two words.
            vectors: float32 of shape (tokens, d).
        """
        a, b = (self._join(np.asarray(vectors[found.words == word], np.float64)) for word in (0, 1))
        length = float(np.linalg.norm(a) * np.linalg.norm(b))
        return float(np.clip(a @ b / length, -1, 1)) if length else None

    def _join(self, tokens: Floats) -> Floats:
        """Return the vector of a word from those of its tokens, float64 of shape (tokens, d)."""
        joined: Any = {"mean": tokens.mean(axis=0), "first": tokens[0], "last": tokens[-1]}[self.options.tokens]
        return np.asarray(joined, np.float64)


def _ask(samples: Sequence[Sample]) -> list[Query]:
    """Return the query about the prompt and its objects; none for a prompt that does not have two objects."""
    prompt = samples[0].prompt
    assert prompt.scene is not None  # see `check`
    names = tuple(expected.cls.name for expected in prompt.scene.objects)
    return [Query(texts=(prompt.text, *names))] if len(names) == 2 else []
