"""Images of two models of the same prompts and seeds: where only one of the models fails, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .evidence import Overlays
from .explained_values import ExplainedMetric, ExplainedValue
from .gallery import Gallery
from .mistakes import Mistake, MistakeFinder, MistakeGroup


@dataclass(frozen=True)
class WorseModel:
    """The cells in which one of two models is worse.

    Attributes:
        model: Name of the model.
        count: Number of cells.
        mistakes: Its values there, by reason.
    """

    model: str
    count: int
    mistakes: list[Mistake]

    @property
    def groups(self) -> list[MistakeGroup]:
        """The mistakes as groups of one model."""
        return [MistakeGroup(each.because, [each]) for each in self.mistakes]


@dataclass(frozen=True)
class MetricSplit:
    """The cells of two models under one metric. A cell is a prompt and a seed.

    Attributes:
        metric: Title of the metric.
        measure: Name of the measure.
        n: Number of cells that both models have.
        equal: Number of cells in which both have the same value.
        is_binary: Whether each value is right or wrong.
        sides: The cells in which each model is worse than the other.
    """

    metric: str
    measure: str
    n: int
    equal: int
    is_binary: bool
    sides: list[WorseModel]


def split_metrics(
    metrics: Iterable[ExplainedMetric], names: tuple[str, str], shown: Gallery, overlays: Overlays
) -> Iterator[MetricSplit]:
    """Yield for each metric where each of two models is worse than the other.

    Args:
        metrics: The values of each metric.
        names: Names of the models in the gallery.
        shown: The images of both models.
        overlays: The evidence.
    """
    for metric in metrics:
        cells = list(_pair_values(metric, names))
        if not cells:
            continue
        finder = MistakeFinder(metric, shown, overlays)
        sides = []
        for side, name in enumerate(names):
            worse = [cell[side] for cell in cells if metric.sign * (cell[1 - side].value - cell[side].value) > 0]
            sides.append(WorseModel(name, len(worse), list(finder.sort({name: worse}, {name: len(cells)}))))
        equal = len(cells) - sum(side.count for side in sides)
        yield MetricSplit(metric.title, metric.measure.name, len(cells), equal, metric.is_binary, sides)


def _pair_values(
    metric: ExplainedMetric, names: tuple[str, str]
) -> Iterator[tuple[ExplainedValue, ExplainedValue]]:
    for values in metric.by_cell.values():
        by_model = {each.model: each for each in values}
        if all(name in by_model for name in names):
            yield by_model[names[0]], by_model[names[1]]
