"""The metric `object-cosine`: how near a text encoder puts the two objects of a prompt (the paper's Table 7)."""

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
    """Cosine of the texts for the two objects of a prompt; looks at no image."""

    options: ObjectCosineOptions

    def __init__(self, setup: Setup[ObjectCosineOptions]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "embed", images="prompt", per="run", queries=self._queries),)
        self._places: dict[str, int] = {}

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that do not say which objects they expect."""
        for prompt in prompts:
            if prompt.scene is None or not prompt.scene.objects:
                raise BadPrompts(
                    f"object-cosine: the prompt {prompt.id!r} does not say which objects it expects (a scene)"
                )

    def texts(self, prompt: Prompt) -> list[str]:
        """What stands for each object, its colour left out: the study's own prompt for it, or its name."""
        assert prompt.scene is not None  # as checked
        names = [o.cls.name for o in prompt.scene.objects]
        return (
            names
            if self.options.text == "label"
            else [SENTENCES[1].replace("{1}", with_article(n)) for n in names]
        )

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        texts = dict.fromkeys(text for sample in samples for text in self.texts(sample.prompt))
        self._places = {text: place for place, text in enumerate(texts)}
        return [Query(texts=(text,)) for text in texts]

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Turn a prompt of two objects into one row."""
        assert unit.prompt is not None  # as grouped
        texts = self.texts(unit.prompt)
        if len(texts) != 2:
            yield Excluded(f"names {len(texts)} objects: the cosine is of two")
            return
        a, b = (_vector(unit.shared[NEED][self._places[text]]) for text in texts)
        length = float(np.linalg.norm(a) * np.linalg.norm(b))
        if length == 0:
            yield Excluded("the text encoder gives a vector of length 0")
            return
        yield Row("object-cosine", float(np.clip(a @ b / length, -1, 1)))


def _vector(answer: Answer) -> NDArray[np.float64]:
    return np.asarray(answer.observation.values, np.float64)
