"""Jobs that measure the upper bounds of metrics: the same metric on images of which the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count

from ..api.errors import BadModel, BadOption, NotHere, UnknownName
from ..api.plugin_info import GeneratorInfo
from ..api.study import UPPER_BOUND
from .component import Component
from .component_finder import ComponentFinder
from .job import Job
from .model_list import label_generator
from .sample_grids import Drawing, SampleGrids, identify_drawing, list_seeds, name_seeds


class UpperBounds:
    """Adds the jobs of the bounds of a run's metrics, under labels that the run has once."""

    def __init__(self, finder: ComponentFinder, grids: SampleGrids) -> None:
        self._finder = finder
        self._grids = grids
        self._labels: dict[tuple[Drawing, int], str] = {}

    def add(self, jobs: Sequence[Job]) -> list[Job]:
        """Add the jobs that measure the upper bound of one metric's jobs: one for all that are judged alike.

        A model of the run that is the bound's generator, with the same settings, is not measured twice: its score
        is the others' bound, and it has none itself.
        """
        found: list[Job] = []
        bounds: list[tuple[Job, Job]] = []  # a job, and the one that measures its bound
        for job in jobs:
            if job.instance.upper_bound is None or job.pairs:
                found.append(job)
                continue
            generator = self._find_generator(job)
            if _draws_alike(job, generator):
                found.append(job)
                continue
            alike = (other for other in jobs if _draws_alike(other, generator) and _is_judged_alike(other, job))
            own = next(alike, None) or next((b for of, b in bounds if _is_judged_alike(of, job)), None)
            if own is None:
                drawing = identify_drawing(generator)
                before = sum(identify_drawing(b.models[0].component) == drawing for _, b in bounds)
                own = self._make(job, generator, self._choose_label(generator, before, job, jobs))
                bounds.append((job, own))
            found.append(replace(job, bound=own.models[0].label))
        return [*found, *(bound for _, bound in bounds)]

    def _find_generator(self, job: Job) -> Component[GeneratorInfo]:
        """Return the generator of a job's upper bound, with the settings that the metric has for it alone."""
        finder, spec = self._finder, job.instance.upper_bound
        assert spec is not None
        name = spec.partition(":")[0].rpartition("/")[2]
        own = {f"generator:{name}": dict(job.instance.upper_settings)} if job.instance.upper_settings else {}
        try:
            generator: Component[GeneratorInfo] = finder.settle(finder.resolver.component("generator", spec, own))
            finder.check(generator)
        except NotHere:  # it names the generator, and how to fetch it
            raise
        except (UnknownName, BadModel) as error:
            raise type(error)(f"upper bound of metric {job.metric.spec!r}: {error}") from error
        return generator

    def _choose_label(
        self, generator: Component[GeneratorInfo], before: int, job: Job, jobs: Sequence[Job]
    ) -> str:
        """Return the label of a bound, which all metrics share whose bound is the same generator.

        Args:
            generator: The generator.
            before: Number of bounds by this generator that the metric has already (other judges or prompts).
            job: A job whose bound it is.
            jobs: All jobs of the metric.
        """
        own = (identify_drawing(generator), before)
        if own not in self._labels:
            labels = set(self._labels.values())
            numbers = chain([""], (f" {number}" for number in count(2)))
            spelled = (f"{UPPER_BOUND}{number} ({generator.spec})" for number in numbers)
            self._labels[own] = next(label for label in spelled if label not in labels)
        label = self._labels[own]
        if any(label == model.label for other in jobs for model in other.models):
            raise BadOption(
                f"the label {label!r} is taken by the upper bound of metric {job.metric.spec!r}; choose another"
            )
        return label

    def _make(self, job: Job, generator: Component[GeneratorInfo], label: str) -> Job:
        """Return the same job on the images of a generator, under those of its seeds that existing images have."""
        model = label_generator(generator, label, dict(job.instance.upper_settings))
        there = list_seeds(generator)
        seeds = tuple(seed for seed in job.seeds if there is None or seed in there)
        if not seeds:
            raise BadOption(
                f"metric {job.metric.spec!r}, option upper: {generator.spec} has images with "
                f"{name_seeds(there)}, but the run has {name_seeds(job.seeds)}; choose common ones with --seeds"
            )
        return replace(job, grids=(self._grids.make(model, job.prompts, seeds),), bound=label)


def _draws_alike(job: Job, generator: Component[GeneratorInfo]) -> bool:
    """Return whether a job's only model is a generator with the same argument and options."""
    (model, *_) = job.models
    return model.perturbation is None and identify_drawing(model.component) == identify_drawing(generator)


def _is_judged_alike(other: Job, job: Job) -> bool:
    """Return whether two jobs have one upper bound: same judges, same questions, same prompts and seeds."""
    judges = [[s.choice and s.choice.judge.fingerprint for s in one.needs] for one in (other, job)]
    return (
        other.metric.options == job.metric.options
        and judges[0] == judges[1]
        and (other.prompts, other.seeds) == (job.prompts, job.seeds)
    )
