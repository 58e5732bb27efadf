"""Plans: every name resolved, options checked, judges chosen, prompts read; nothing is loaded yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..api.budget import Budget
from ..api.digest import digest_data
from ..api.errors import BadOption, BrokenPlugin
from ..api.executor import ExecutorInfo
from ..api.metric import PairMetric, StackedMetric, TableMetric
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import Defaults, JudgeInfo, MetricInfo, SinkInfo
from ..api.prompt import Prompt
from ..api.resolver import Resolver
from ..storage.runs_folder import RUNS_FOLDER
from .common_prompts import describe_differences
from .component import Component
from .component_finder import ComponentFinder
from .device_choice import settle_device
from .executors import find_executor
from .job import Job, SampleSet, describe_judges, name_panels
from .judge_choice import Panel, list_panels, name_panel
from .label_judge import find_label_judge
from .model_list import bring_models, list_models
from .need_service import serve_needs
from .observation_rounds import refuse_unfit_rounds
from .perturbation import add_perturbed, find_perturbations, refuse_unperturbed
from .preflight import refuse_mixed_kinds, refuse_unknown_classes, refuse_unneeded_judges
from .prompt_lists import KnownClasses, PromptLists
from .request import Request
from .run_identity import identify_job, identify_samples, make_folder_name
from .sample import Model
from .sample_grids import SampleGrids
from .settled_metric import SettledMetric, settle_metric
from .stopping_rule import StoppingRule, make_stopping_rule
from .unavailable_metrics import UnavailableMetrics, refuse_unused_prompts
from .upper_bounds import UpperBounds


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
        executor: Where components run; None for this process. No result depends on it.
        budget: What paid components may spend.
        is_settled: False in a dry run if the identity depends on files that are not on this machine.
        stopping: When the run stops early; the jobs then hold the most that it draws. None without `--until`. Only
            that there is a rule belongs to the run's identity, so that a change of the rule is noticed.
        left_out: Why each metric that is left out cannot run here, by its name.
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
    executor: ExecutorInfo | None
    budget: Budget
    is_settled: bool = True
    stopping: StoppingRule | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

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
    note: Callable[[str], None] = lambda message: None,
) -> Plan:
    """Make the plan of a request, without loading weights.

    Args:
        request: The request.
        resolver: Finds components by name. If None, among the installed plugins.
        dry: True if the plan is only shown: weights that the run would download, and images that prompt sources
            make, need not be here yet, and nothing is downloaded except lists of prompts.
        with_sinks: False to look up the sinks only: they are not checked, and the plan has none.
        note: Called with a message about work that takes long, and with what prompt sources have spent, also if
            the plan cannot be made.

    Raises:
        T2IError: If something is wrong with the request.
    """
    finder = ComponentFinder(request, resolver, dry)
    finder.request, chosen = settle_device(request, finder.resolver)
    if chosen:
        finder.notes.append(chosen)
    if not request.models:
        finder.request = replace(finder.request, models=bring_models(finder))
        if not finder.request.models:
            raise BadOption(
                "no model to evaluate; name one with --model (t2i list-plugins --kind generator shows them)"
            )
    try:
        return _Planner(finder, note).plan(with_sinks)
    finally:
        if spent := finder.budget.describe():
            note(f"planning: {spent}")


class _Planner:
    """Joins models, metrics, judges and prompts of one request to jobs."""

    def __init__(self, finder: ComponentFinder, note: Callable[[str], None]) -> None:
        self.finder = finder
        self.note = note
        self.request = finder.request
        self.lists = PromptLists(finder)
        self.grids = SampleGrids(self.request, self.lists)
        self.bounds = UpperBounds(finder, self.grids)

    def plan(self, with_sinks: bool) -> Plan:
        finder, request = self.finder, self.request
        executor = find_executor(request, finder.resolver)
        finder.use_environments(executor, self.note)
        models = add_perturbed(list_models(finder), find_perturbations(finder))
        sinks = _find_sinks(finder, with_sinks)
        metrics: list[str | MetricInfo] = []
        for metric in request.metrics:
            if metric not in metrics:
                metrics.append(metric)
        refuse_unused_prompts(request.default_prompts, metrics)
        domains = {m.component.info.domain.name: m.component.info.domain for m in models}
        absent = UnavailableMetrics(metrics, request.skip_unavailable)
        settled = []
        for metric in metrics:
            with absent.collect(metric):
                settled.append({name: settle_metric(metric, domain, finder) for name, domain in domains.items()})
        refuse_unneeded_judges(
            request.judges,
            {one.component.spec: one.instance.needs for each in settled for one in each.values()}
            or {"t2i generate": ()},
            lambda name: finder.resolver.component("judge", name, request.options),
        )
        asked: list[list[Job]] = []
        for each in settled:
            with absent.collect(next(iter(each.values())).component.spec):
                asked += self.make_panels(each, models, absent)
        finder.notes += absent.settle(len(asked))
        people = find_label_judge(finder, [own[0] for own in asked])
        if request.common_prompts and asked:
            asked = self.share_prompts(asked)
        finder.notes += describe_differences([job for own in asked for job in own])
        jobs = [job for own in asked for job in self.bounds.add(own)]
        refuse_unfit_rounds(jobs, request)
        images = [] if metrics else [self.make_sample_set(model) for model in models]
        if not absent.left_out:  # else options may be for their judges
            finder.refuse_unused()
        if request.shard:
            part, parts = request.shard
            finder.notes.append(f"only part {part} of {parts} of the prompts and seeds")
        growing = [] if request.until is None else ["until"]
        digest = digest_data(
            [*map(identify_job, jobs), *map(identify_samples, images), request.interval, *growing]
        )
        folder = request.out or RUNS_FOLDER / make_folder_name(jobs, images, digest)
        stopping, jobs = make_stopping_rule(request, jobs)
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
            executor,
            finder.budget,
            finder.is_settled,
            stopping,
            absent.left_out,
        )

    def make_panels(
        self, settled: Mapping[str, SettledMetric], models: Sequence[Model], absent: UnavailableMetrics
    ) -> list[list[Job]]:
        """Return the jobs of one metric, settled for each domain by name, for each panel of judges here."""
        first = settled[models[0].component.info.domain.name]
        if isinstance(first.instance, PairMetric):
            if len(models) < 2:
                raise BadOption(f"metric {first.component.spec!r} compares models; name at least two with --model")
            with guard_plugin(first.component, "when it received the models"):
                first.instance.set_models([model.label for model in models])
            model_sets: list[tuple[Model, ...]] = [tuple(models)]
        else:
            model_sets = [(model,) for model in models]
        found: list[list[Job]] = []
        panels = list_panels(first.instance.needs, self.finder)
        for panel in panels:
            with absent.collect(first.component.spec, name_panel(panel) if len(panels) > 1 else ""):
                found.append(
                    [self.make_job(settled[of[0].component.info.domain.name], of, panel) for of in model_sets]
                )
        return name_panels(found)

    def make_job(self, settled: SettledMetric, models: tuple[Model, ...], panel: Panel) -> Job:
        """Return a metric on models of one domain, judged by one panel."""
        metric, instance, defaults = settled.component, settled.instance, settled.defaults
        refuse_unperturbed(metric, instance, models)
        generator = models[0].component
        needs = serve_needs(settled, models, panel, self.finder)
        labels = next((s.labels for s in needs if s.labels is not None), None)
        unknown = None
        if labels is None:
            judges = [served.choice.judge.spec for served in needs if served.choice is not None]
            unknown = next((spec for spec in judges if spec in self.finder.without_classes), None)
        classes = KnownClasses(labels, unknown)
        name, prompts = self.lists.choose(generator, f"metric {metric.spec!r}", defaults, classes)
        seeds = self.grids.choose_seeds(generator, defaults)
        for served in needs:
            refuse_unknown_classes(served, prompts, metric, self.lists.unread)
        with guard_plugin(metric, "to check its judges"):
            instance.check_judges(describe_judges(needs))
        with guard_plugin(metric, "to check its prompts"):
            instance.check(prompts)
        with guard_plugin(metric, "to say the bounds of its measures"):
            measures = tuple(m.settled(metric.options) for m in metric.info.measures)
        job = Job(
            metric=metric,
            instance=instance,
            measures=measures,
            grids=tuple(self.grids.make(model, prompts, seeds) for model in models),
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

    def make_sample_set(self, model: Model) -> SampleSet:
        """Return the samples of a model whose images are generated and not measured."""
        generator = model.component
        name, prompts = self.lists.choose(generator, generator.spec, Defaults(), KnownClasses())
        seeds = self.grids.choose_seeds(generator, Defaults())
        return SampleSet(grids=(self.grids.make(model, prompts, seeds),), prompts_name=name)

    def share_prompts(self, jobs: Sequence[Sequence[Job]]) -> list[list[Job]]:
        """Return the jobs of each panel on the prompts that all have in common, as many as the limit allows."""
        shared = iter(self.lists.share(list(chain.from_iterable(jobs))))
        return [[self.replace_prompts(job, next(shared)) for job in own] for own in jobs]

    def replace_prompts(self, job: Job, prompts: tuple[Prompt, ...]) -> Job:
        """Return a job on a part of its prompts."""
        with guard_plugin(job.metric, "to check its prompts"):
            job.instance.check(prompts)
        return replace(job, grids=tuple(self.grids.make(model, prompts, job.seeds) for model in job.models))


def _find_sinks(finder: ComponentFinder, checked: bool) -> tuple[Component[SinkInfo], ...]:
    """Return the sinks. The digest of their code is not needed, because no result depends on it."""
    sinks = [finder.look_up("sink", asked) for asked in dict.fromkeys(finder.request.sinks)]
    found = [finder.settle_on_machine(sink) for sink in sinks] if checked else []
    for sink in found:
        finder.check(sink)
    return tuple(found)
