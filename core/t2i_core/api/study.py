"""Analyses: the tables and figures that a metric makes of a run's measured rows, and what they are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

    from .figure import Figure
    from .metric_output import Measure

UPPER_BOUND = "upper bound"
"""Beginning of the labels of models that only give an upper bound and are compared with no other."""


@dataclass(frozen=True)
class Study:
    """The input of analyses.

    Attributes:
        table: The metric's measured rows of all models.
        samples: One row per image: model, prompt, text, seed, status, digest, ...; the image itself is in
            `images`.
        folder: The run's folder.
        others: Measured rows of the run's other metrics, with the column `metric`; None if it has no others. Of a
            metric with several judges, those by the judges of this study, or else by the first.
        settings: By each model's label, its values of the options that any of the models was given.
        interval: The question of the run's intervals, for `t2i_core.statistics`.
        floors: By the name of a need of detections or segments, the confidence below which its judge keeps none.
        measures: The measures of each installed metric, the headline first, by the name in `others`.
        generators: By each model's label, its generator with its argument, a path without its folder.
        by: The judge that measured these rows, if the metric has several in this run.
        find_images: Returns the `Image` of each row of `samples` that has one; called when `images` is first read.
    """

    table: pd.DataFrame
    samples: pd.DataFrame
    folder: Path
    others: pd.DataFrame | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    interval: Literal["new", "prompts", "seeds"] = "new"
    floors: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Sequence[Measure]] = field(default_factory=dict)
    find_images: Callable[[], pd.Series] | None = None
    generators: Mapping[str, str] = field(default_factory=dict)
    by: str | None = None

    @cached_property
    def images(self) -> pd.Series:
        """The `Image` of each row of `samples`, under its index; None if it has none.

        Do not open the files that `samples` names: the run may come from somebody else. If an image has
        disappeared or may not be shown, reading its pixels raises DamagedImage.

        Raises:
            ValueError: If the study was made without `find_images`.
        """
        if self.find_images is None:
            raise ValueError("this study was made without images; pass `find_images`")
        return self.find_images()


@dataclass(frozen=True)
class Analysis:
    """A table, with an optional figure, made from the measured table.

    A metric yields its most telling analyses first: `t2i analyze` prints three, and names the others.

    Attributes:
        name: Its name, from which file names are made.
        summary: One line.
        table: The table. People see the columns `X`, `low` and `high`, one after another, as one: the value with
            its interval; `X low` and `X high` are read likewise. The columns `p` and `p_...` hold p-values.
        figure: What is drawn, see `t2i_core.api.figure`; None if there is no figure.
    """

    name: str
    summary: str
    table: pd.DataFrame
    figure: Figure | None = None
