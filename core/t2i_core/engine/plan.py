"""Plans: every name resolved, options checked, judges chosen, prompts read; nothing is loaded yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..api.digest import digest_data
from ..api.errors import BadOption, BrokenPlugin, NoJudge
from ..api.metric import PairMetric, StackedMetric, TableMetric
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import Defaults, ExistingImagesInfo, GeneratorInfo, JudgeInfo, MetricInfo, SinkInfo
from ..api.prompt import Prompt
from ..api.resolver import Resolver
from ..results.asked_people import list_asked_needs
from .common_prompts import describe_differences
from .component import Component
from .component_finder import ComponentFinder
from .job import Job, SampleSet, name_panels
from .judge_choice import Panel, list_panels
from .model_list import bring_models, label_generator, list_models
from .need_service import serve_needs
from .preflight import refuse_mixed_kinds, refuse_unknown_classes, refuse_unneeded_judges
from .prompt_lists import KnownClasses, PromptLists
from .request import Request
from .run_identity import identify_job, identify_samples, make_folder_name
from .sample import Model, SampleGrid
from .settled_metric import SettledMetric, settle_metric


@dataclass(frozen=True)
class Plan:
    """A settled request: the work in order, and its folder.

    Attributes:
        request: The request.
        jobs: The metrics, each on its samples.
        images: The samples whose images are generated and not measured (`t2i generate`); there are no jobs then.
        sinks: Where the finished run is written to. They do not belong to its identity.
        people: The judge that gives people's labels, by which scores are corrected; None if they are not. It
            does not belong to the run's identity, because it changes no score.
        folder: The run's folder.
        digest: The run's identity.
        installed: Every installed component.
        notes: Notes for the user (duplicates merged, prompts limited).
        is_settled: False in a dry run if the identity depends on files that are not on this machine.
    """

    request: Request
    jobs: tuple[Job, ...]
    images: tuple[SampleSet, ...]
    sinks: tuple[Component[SinkInfo], ...]
    people: Component[JudgeInfo] | None
    folder: Path
    digest: str
    installed: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    is_settled: bool = True

    @property
    def sample_sets(self) -> tuple[SampleSet, ...]:
        """The samples of all jobs, or the samples that are not measured."""
        return self.jobs or self.images

    @property
    def models(self) -> tuple[Model, ...]:
        """The models of all sample sets, each label once."""
        return tuple({model.label: model for each in self.sample_sets for model in each.models}.values())

    @property
    def image_sets(self) -> tuple[SampleSet, ...]:
        """The sample sets whose images are generated; a metric that uses no images needs none."""
        return tuple(job for job in self.jobs if job.generates) or self.images


def make_plan(
    request: Request,
    resolver: Resolver[Component[Any]] | None = None,
    dry: bool = False,
    with_sinks: bool = True,
) -> Plan:
    """Make the plan of a request, without loading weights.

    Args:
        request: The request.
        resolver: Finds components by name. If None, among the installed plugins.
        dry: True if the plan is only shown: weights that the run would download, and images that prompt sources
            make, need not be here yet, and nothing is downloaded except lists of prompts.
        with_sinks: False to look up the sinks only: they are not checked, and the plan has none.

    Raises:
        T2IError: If something is wrong with the request.
    """
    finder = ComponentFinder(request, resolver, dry)
    if not request.models:
        finder.request = replace(request, models=bring_models(finder))
    return _Planner(finder).plan(with_sinks)


class _Planner:
    """Joins models, metrics, judges and prompts of one request to jobs."""

    def __init__(self, finder: ComponentFinder) -> None:
        self.finder = finder
        self.request = finder.request
        self.lists = PromptLists(finder)
        self.grids: dict[Any, SampleGrid] = {}

    def plan(self, with_sinks: bool) -> Plan:
        finder, request = self.finder, self.request
        models = list_models(finder)
        sinks = _find_sinks(finder, with_sinks)
        metrics: list[str | MetricInfo] = []
        for metric in request.metrics:
            if metric not in metrics:
                metrics.append(metric)
        domains = {m.component.info.domain.name: m.component.info.domain for m in models}
        settled = [{name: settle_metric(m, domain, finder) for name, domain in domains.items()} for m in metrics]
        refuse_unneeded_judges(
            request.judges,
            {one.component.spec: one.instance.needs for each in settled for one in each.values()}
            or {"t2i generate": ()},
            lambda name: finder.resolver.component("judge", name, request.options),
        )
        asked = [own for each in settled for own in self.make_panels(each, models)]
        people = self.find_people([own[0] for own in asked])
        if request.common_prompts and asked:
            asked = self.share_prompts(asked)
        finder.notes += describe_differences([job for own in asked for job in own])
        jobs = [job for own in asked for job in self.add_bounds(own)]
        images = [] if metrics else [self.make_sample_set(model) for model in models]
        finder.refuse_unused()
        if request.shard:
            part, parts = request.shard
            finder.notes.append(f"only part {part} of {parts} of the prompts and seeds")
        digest = digest_data([*map(identify_job, jobs), *map(identify_samples, images), request.interval])
        folder = request.out or Path("t2i-runs") / make_folder_name(jobs, images, digest)
        return Plan(
            request,
            tuple(jobs),
            tuple(images),
            sinks,
            people,
            folder,
            digest,
            finder.list_installed(),
            tuple(dict.fromkeys(finder.notes)),
            finder.is_settled,
        )

    def make_panels(self, settled: Mapping[str, SettledMetric], models: Sequence[Model]) -> list[list[Job]]:
        """Return the jobs of one metric, settled for each domain by name, for each panel of judges."""
        first = settled[models[0].component.info.domain.name]
        if isinstance(first.instance, PairMetric):
            if len(models) < 2:
                raise BadOption(f"metric {first.component.spec!r} compares models; name at least two with --model")
            with guard_plugin(first.component, "when it received the models"):
                first.instance.set_models([model.label for model in models])
            model_sets: list[tuple[Model, ...]] = [tuple(models)]
        else:
            model_sets = [(model,) for model in models]
        panels = [
            [self.make_job(settled[of[0].component.info.domain.name], of, panel) for of in model_sets]
            for panel in list_panels(first.instance.needs, self.finder)
        ]
        return name_panels(panels)

    def make_job(self, settled: SettledMetric, models: tuple[Model, ...], panel: Panel) -> Job:
        """Return a metric on models of one domain, judged by one panel."""
        metric, instance, defaults = settled.component, settled.instance, settled.defaults
        generator = models[0].component
        needs = serve_needs(settled, models, panel, self.finder)
        labels = next((s.labels for s in needs if s.labels is not None), None)
        unknown = None
        if labels is None:
            judges = [served.choice.judge.spec for served in needs if served.choice is not None]
            unknown = next((spec for spec in judges if spec in self.finder.without_classes), None)
        classes = KnownClasses(labels, unknown)
        name, prompts = self.lists.choose(generator, f"metric {metric.spec!r}", defaults, classes)
        seeds = self.choose_seeds(generator, defaults)
        for served in needs:
            refuse_unknown_classes(served, prompts, metric, self.lists.unread)
        with guard_plugin(metric, "to check its prompts"):
            instance.check(prompts)
        with guard_plugin(metric, "to say the bounds of its measures"):
            measures = tuple(m.settled(metric.options) for m in metric.info.measures)
        job = Job(
            metric=metric,
            instance=instance,
            measures=measures,
            grids=tuple(self.make_grid(model, prompts, seeds) for model in models),
            prompts_name=name,
            needs=needs,
        )
        refuse_mixed_kinds(metric, instance)
        if isinstance(instance, StackedMetric) and (fault := job.unstackable()) is not None:
            raise BrokenPlugin(f"{describe_component(metric)} asks for stacked answers, but {fault}")
        aggregates = instance.aggregates if isinstance(instance, TableMetric) else None
        if strange := (aggregates or frozenset()) - {measure.name for measure in measures}:
            raise BrokenPlugin(
                f"{describe_component(metric)} aggregates {min(strange)!r}, which is not one of its measures"
            )
        return job

    def find_people(self, jobs: Sequence[Job]) -> Component[JudgeInfo] | None:
        """Return the judge that gives people's labels, and note the metrics that they cannot correct.

        Args:
            jobs: A job of each metric.

        Raises:
            NoJudge: If people can be asked about none of the metrics.
        """
        if self.request.correct is None:
            return None
        people: Component[JudgeInfo] = self.finder.find("judge", self.request.correct)
        self.finder.check(people)
        refused = {}
        for job in jobs:
            try:
                list_asked_needs(job.metric.spec, job.instance, people.info.capabilities)
            except NoJudge as error:
                refused[job.metric.spec] = error
        if refused and len(refused) == len({job.metric.spec for job in jobs}):
            raise next(iter(refused.values()))
        self.finder.notes += [f"not corrected: {error}" for error in refused.values()]
        return people

    def make_sample_set(self, model: Model) -> SampleSet:
        """Return the samples of a model whose images are generated and not measured."""
        generator = model.component
        name, prompts = self.lists.choose(generator, generator.spec, Defaults(), KnownClasses())
        seeds = self.choose_seeds(generator, Defaults())
        return SampleSet(grids=(self.make_grid(model, prompts, seeds),), prompts_name=name)

    def share_prompts(self, jobs: Sequence[Sequence[Job]]) -> list[list[Job]]:
        """Return the jobs of each panel on the prompts that all have in common, as many as the limit allows."""
        shared = iter(self.lists.share(list(chain.from_iterable(jobs))))
        return [[self.replace_prompts(job, next(shared)) for job in own] for own in jobs]

    def replace_prompts(self, job: Job, prompts: tuple[Prompt, ...]) -> Job:
        """Return a job on a part of its prompts."""
        with guard_plugin(job.metric, "to check its prompts"):
            job.instance.check(prompts)
        return replace(job, grids=tuple(self.make_grid(model, prompts, job.seeds) for model in job.models))

    def add_bounds(self, jobs: Sequence[Job]) -> list[Job]:
        """Add the jobs that measure the upper bound of one metric's jobs: one for all that are judged alike."""
        found: list[Job] = []
        bounds: list[Job] = []
        labels = {model.label for job in jobs for model in job.models}
        for job in jobs:
            if job.instance.upper_bound is not None and not job.pairs:
                bound = next((b for b in bounds if _is_judged_alike(b, job)), None)
                if bound is None:
                    bound = self.make_bound(job, len(bounds), labels)
                    bounds.append(bound)
                job = replace(job, bound=bound.bound)
            found.append(job)
        return found + bounds

    def make_bound(self, job: Job, number: int, taken: set[str]) -> Job:
        """Return the same job on the images of the generator that its metric names, which gets no options."""
        finder, spec = self.finder, job.instance.upper_bound
        assert spec is not None
        generator = finder.settle(finder.resolver.component("generator", spec, {}))
        finder.check(generator)
        label = f"upper bound{f' {number + 1}' if number else ''} ({generator.spec})"
        if label in taken:
            raise BadOption(
                f"the label {label!r} is taken by the upper bound of metric {job.metric.spec!r}; choose another"
            )
        model = label_generator(generator, label, {})
        return replace(job, grids=(self.make_grid(model, job.prompts, job.seeds),), bound=label)

    def make_grid(self, model: Model, prompts: tuple[Prompt, ...], seeds: tuple[int, ...]) -> SampleGrid:
        """Return a model's samples, the same object for all metrics that use the same ones."""
        key = (model.label, model.component.spec, id(prompts), seeds)
        if key not in self.grids:
            self.grids[key] = SampleGrid(model, prompts, seeds, self.request.noise, self.request.shard)
        return self.grids[key]

    def choose_seeds(self, generator: Component[GeneratorInfo], defaults: Defaults) -> tuple[int, ...]:
        """Return the seeds that the user names, those of existing images, or the metric's number of them."""
        if self.request.seeds is not None:
            return self.request.seeds
        info = generator.info
        if isinstance(info, ExistingImagesInfo) and info.seeds is not None:
            with guard_plugin(generator, "to say its seeds"):
                return tuple(info.seeds(generator.setup()))
        return tuple(range(defaults.seeds or 1))


def _find_sinks(finder: ComponentFinder, checked: bool) -> tuple[Component[SinkInfo], ...]:
    """Return the sinks. The digest of their code is not needed, because no result depends on it."""
    sinks = [finder.look_up("sink", asked) for asked in dict.fromkeys(finder.request.sinks)]
    found = [finder.settle_on_machine(sink) for sink in sinks] if checked else []
    for sink in found:
        finder.check(sink)
    return tuple(found)


def _is_judged_alike(bound: Job, job: Job) -> bool:
    """Return whether a bound also holds for a job: same judges, same questions, same prompts and seeds."""
    judges = [[s.choice and s.choice.judge.fingerprint for s in one.needs] for one in (bound, job)]
    return (
        bound.metric.options == job.metric.options
        and judges[0] == judges[1]
        and (bound.prompts, bound.seeds) == (job.prompts, job.seeds)
    )
