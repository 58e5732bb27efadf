"""The metric `object-cosine`: similarity of a prompt's two objects in a text encoder.

References:
    Grimal et al.: TIAM - A Metric for Evaluating Alignment in Text-to-Image Generation. WACV 2024. Table 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.errors import BadPrompts
from t2i_core.api.judge import Query
from t2i_core.api.metric import PromptMetric
from t2i_core.api.metric_input import Answer, Need, Sample, Unit
from t2i_core.api.metric_output import Excluded, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .options import ObjectCosineOptions
from .sources import SENTENCES
from .templates import with_article

NEED = "texts"


class ObjectCosine(PromptMetric):
    """Cosine of the text embeddings of a prompt's two objects; uses no images."""

    options: ObjectCosineOptions

    def __init__(self, setup: Setup[ObjectCosineOptions]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "embed", images="prompt", per="run", queries=self._queries),)
        self._indices: dict[str, int] = {}

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that every prompt lists its objects.

        Raises:
            BadPrompts: If a prompt has no scene with objects.
        """
        for prompt in prompts:
            if prompt.scene is None or not prompt.scene.objects:
                raise BadPrompts(
                    f"object-cosine: prompt {prompt.id!r} has no scene with objects; use prompts that list their "
                    "objects, for example `--prompts tiam-24-2`"
                )

    def texts(self, prompt: Prompt) -> list[str]:
        """Return the text to embed for each object of a prompt, without its colour.

        It is the study's prompt for a single object, or only the object's name (option `text`).
        """
        assert prompt.scene is not None  # see `check`
        names = [o.cls.name for o in prompt.scene.objects]
        return (
            names
            if self.options.text == "label"
            else [SENTENCES[1].replace("{1}", with_article(n)) for n in names]
        )

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        texts = dict.fromkeys(text for sample in samples for text in self.texts(sample.prompt))
        self._indices = {text: index for index, text in enumerate(texts)}
        return [Query(texts=(text,)) for text in texts]

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Yield the cosine, from -1 to 1, for a prompt of two objects; exclude other prompts."""
        assert unit.prompt is not None  # the unit of a PromptMetric has a prompt
        texts = self.texts(unit.prompt)
        if len(texts) != 2:
            yield Excluded(f"the prompt must have two objects (got {len(texts)})")
            return
        a, b = (_vector(unit.shared[NEED][self._indices[text]]) for text in texts)
        length = float(np.linalg.norm(a) * np.linalg.norm(b))
        if length == 0:
            yield Excluded("the text encoder returned a vector of length 0")
            return
        yield Row("object-cosine", float(np.clip(a @ b / length, -1, 1)))


def _vector(answer: Answer) -> NDArray[np.float64]:
    return np.asarray(answer.observation.values, np.float64)
