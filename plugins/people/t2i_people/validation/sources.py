"""Sources of a validation: runs, people's answers about their images, and the values of their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api.resolver import Resolver, installed_resolver
from t2i_core.io.answers import read_answers
from t2i_core.results.run import Run, load_finished_run

from .human_values import HumanValues, list_images, read_human_values
from .metric_values import MetricValues, read_metric_values


@dataclass(frozen=True)
class ValidationSources:
    """Runs and people's answers, read.

    Attributes:
        runs: The runs, each once.
        people: People's answers to each question as numbers.
        metrics: The values of each measure.
        clusters: The cluster of each prompt.
        notes: What was left out, and why.
    """

    runs: Sequence[Run]
    people: Sequence[HumanValues]
    metrics: Sequence[MetricValues]
    clusters: Mapping[str, str]
    notes: Sequence[str]


def read_sources(
    runs: Sequence[str | Path],
    answers: str | Path,
    metrics: Iterable[str] = (),
    questions: Sequence[str] = (),
    by: str | None = None,
    resolver: Resolver[Any] | None = None,
) -> ValidationSources:
    """Read runs and the answers about their images.

    The arguments and errors are those of `validate`.
    """
    loaded = list({run.folder: run for run in map(load_finished_run, runs)}.values())
    people, notes = read_human_values(read_answers(Path(answers)), list_images(loaded), questions)
    values = read_metric_values(loaded, resolver or installed_resolver(), metrics, by)
    clusters = {prompt: cluster for each in values for prompt, cluster in each.clusters.items()}
    return ValidationSources(loaded, people, values, clusters, notes)
