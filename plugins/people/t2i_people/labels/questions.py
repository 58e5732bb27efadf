"""Questions to people about a unit, in the words of the metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from t2i_core.api.capabilities.answer import VisualQuestion
from t2i_core.api.errors import BadFolder, NoJudge
from t2i_core.api.metric_input import Sample
from t2i_core.api.plugin_guard import guard_plugin
from t2i_core.results.label_units import MeasuredUnit

from ..page.label_agenda import LabelItem, ask_people
from ..page.questions import BETTER, StudyQuestion, better
from .measured import MeasuredMetric

Place = tuple[str, str, int]
"""Model, prompt and seed of a sample."""


@dataclass(frozen=True)
class Questioner:
    """Makes the tasks of a metric's units.

    Attributes:
        measured: The metric.
        samples: The run's samples by place.
    """

    measured: MeasuredMetric
    samples: Mapping[Place, Sample]

    def make_items(self, drawn: Sequence[tuple[MeasuredUnit, float]]) -> list[LabelItem]:
        """Return the tasks of drawn units, each with its probability, in their order.

        Raises:
            BadFolder: If the run does not have an image of a unit.
            NoJudge: If people cannot answer what the metric asks.
        """
        return [
            LabelItem(unit.models, unit.prompt, (seed,), self._ask(unit, seed), probability)
            for unit, probability in drawn
            for seed in unit.seeds
        ]

    def _ask(self, unit: MeasuredUnit, seed: int) -> tuple[StudyQuestion, ...]:
        if len(unit.models) == 2:
            if any(need.capability != "prefer" for need in self.measured.needs):
                raise NoJudge(
                    f"people cannot be asked this: {self.measured.metric.spec} asks about two images in a fixed "
                    "order, and the page shows them in a random one"
                )
            return better(BETTER)
        samples = tuple(self._find(model, unit.prompt, seed) for model in unit.models)
        return tuple(self._write_questions(samples))

    def _find(self, model: str, prompt: str, seed: int) -> Sample:
        if (found := self.samples.get((model, prompt, seed))) is None:
            raise BadFolder(
                f"{self.measured.run.path}: has no image of {model!r}, prompt {prompt!r}, seed {seed}; repeat the "
                "run's command to write it again"
            )
        return found

    def _write_questions(self, samples: tuple[Sample, ...]) -> Iterator[StudyQuestion]:
        for need in self.measured.needs:
            with guard_plugin(self.measured.metric, "to say what it asks"):
                queries = list(need.queries(samples))
            for number, query in enumerate(queries, 1):
                question = VisualQuestion.of(query)
                if not question.choices:
                    raise NoJudge(
                        f"people cannot be asked this: {self.measured.metric.spec} wants an answer in free text"
                    )
                yield ask_people(question, need.name if len(queries) == 1 else f"{need.name} {number}")
