"""Plans: every name resolved, options checked, judges chosen, prompts read; nothing is loaded yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..api.adapter import expand
from ..api.digest import digest_data
from ..api.errors import (
    BadOption,
    BadPrompts,
    BrokenPlugin,
    NoJudge,
    NotHere,
    UnknownName,
    did_you_mean,
    join_clauses,
)
from ..api.judge import Query
from ..api.metric import Metric, PairMetric, StackedMetric, TableMetric
from ..api.metric_input import Need
from ..api.observation import Labels, find_capability
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import (
    Defaults,
    Domain,
    ExistingImagesInfo,
    GeneratorInfo,
    JudgeInfo,
    MetricInfo,
    PromptSourceInfo,
    SelfJudgingInfo,
    SinkInfo,
)
from ..api.prompt import ObjectClass, Prompt
from ..api.redaction import redact
from ..api.resolver import OptionTable, Resolver, installed_resolver, split_judge
from ..io.prompt_file import is_prompt_file, merge_duplicates, read_prompts
from .code.keys import CodeKeys
from .common_prompts import describe_differences, pick_same, select_common
from .component import Component, settle_component
from .job import Job, SampleSet, Served, declared_labels, name_panels
from .judge_choice import Panel, choose_judge, list_panels
from .lifecycle import has_fingerprint, settle_on_machine
from .pixels_judge import choose_pixels
from .preflight import refuse_high_floor, refuse_mixed_kinds, refuse_unknown_classes, refuse_unneeded_judges
from .prompt_selection import check_prompts, collect_prompts, limit_prompts, load_prompts
from .request import ModelRequest, Request
from .request_field import explain_problems
from .run_identity import identify_job, identify_samples, make_folder_name
from .sample import Model, SampleGrid


@dataclass(frozen=True)
class Plan:
    """A settled request: the work in order, and its folder.

    Attributes:
        request: The request.
        jobs: The metrics, each on its samples.
        images: The samples whose images are generated and not measured (`t2i generate`); there are no jobs then.
        sinks: Where the finished run is written to. They are no part of its identity.
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
    if not request.models:
        raise BadOption("no model to evaluate; name one with --model")
    return _Planner(request, resolver, dry, with_sinks).plan()


def _split_address(key: str) -> tuple[str, str]:
    """Split `[kind:][dist/]name` into kind (empty if not given) and name."""
    kind, _, rest = key.rpartition(":")
    return kind, rest.rpartition("/")[2]


_Settled = tuple[Component[MetricInfo], Metric, Defaults]


class _Planner:
    """Settles one request, and remembers the components that it uses, to find options that nothing uses."""

    def __init__(
        self, request: Request, resolver: Resolver[Component[Any]] | None, dry: bool, with_sinks: bool
    ) -> None:
        self.request = request
        self.dry = dry
        self.offline = request.offline or dry
        self.is_settled = True
        self.missing: set[str] = set()  # components that the run downloads first
        self.without_classes: set[str] = set()  # judges whose classes are not known yet
        self.with_sinks = with_sinks
        self._resolver = resolver
        self.used: set[tuple[str, str]] = set()
        self.notes: list[str] = []
        self.lists: dict[Any, tuple[Sequence[Prompt], ...]] = {}  # the prompts of each source
        self.limited: dict[Any, tuple[Prompt, ...]] = {}
        self.grids: dict[Any, SampleGrid] = {}
        self.codes = CodeKeys()

    @property
    def resolver(self) -> Resolver[Component[Any]]:
        if self._resolver is None:
            self._resolver = installed_resolver()
        return self._resolver

    def plan(self) -> Plan:
        models = self.models()
        sinks = self.sinks()
        metrics: list[str | MetricInfo] = []
        for metric in self.request.metrics:
            if metric not in metrics:
                metrics.append(metric)
        domains = {m.component.info.domain.name: m.component.info.domain for m in models}
        settled = [{name: self.metric(asked, domain) for name, domain in domains.items()} for asked in metrics]
        refuse_unneeded_judges(
            self.request.judges,
            {metric.spec: instance.needs for each in settled for metric, instance, _ in each.values()}
            or {"t2i generate": ()},
            lambda name: self.resolver.component("judge", name, self.request.options),
        )
        asked = [own for each in settled for own in self.jobs_of(each, models)]
        if self.request.common_prompts and asked:
            asked = self.share_prompts(asked)
        self.notes += describe_differences([job for own in asked for job in own])
        jobs = [job for own in asked for job in self.bounded(own)]
        images = [] if metrics else [self.sample_set(model) for model in models]
        self.refuse_unused()
        if self.request.shard:
            part, parts = self.request.shard
            self.notes.append(f"only part {part} of {parts} of the prompts and seeds")
        digest = digest_data([*map(identify_job, jobs), *map(identify_samples, images), self.request.interval])
        folder = self.request.out or Path("t2i-runs") / make_folder_name(jobs, images, digest)
        return Plan(
            self.request,
            tuple(jobs),
            tuple(images),
            sinks,
            folder,
            digest,
            tuple(self._resolver.manifest()) if self._resolver else (),
            tuple(dict.fromkeys(self.notes)),
            self.is_settled,
        )

    def models(self) -> list[Model]:
        models = [self.model(m) for asked in self.request.models for m in asked.expand()]
        labels = [m.label for m in models]
        for label in labels:
            if labels.count(label) > 1:
                raise BadOption(f"two models have the label {label!r}; give each its own label")
        return models

    def model(self, asked: ModelRequest) -> Model:
        found = self.find("generator", asked.spec, asked.settings)
        self.check_component(found)
        settings = " ".join(f"{k}={v}" for k, v in asked.settings.items())
        label = redact(asked.label or f"{found.spec} {settings}".strip())
        given = self.options_for("generator", found.name)
        return self.label(found, label, {**given, **asked.settings})

    def label(self, generator: Component[GeneratorInfo], label: str, settings: dict[str, Any]) -> Model:
        """Return a generator as a model with a label; ask existing images whether prompts share their seeds."""
        info, why = generator.info, None
        if isinstance(info, ExistingImagesInfo) and info.unshared_seeds is not None:
            with guard_plugin(generator, "to say whether prompts share its seeds"):
                why = info.unshared_seeds(generator.setup())
                if not isinstance(why, str | None):
                    raise TypeError(f"gave {type(why).__name__}; it must give a reason in words, or None")
        return Model(generator, label, settings, why, self.list_classes(generator))

    def list_classes(self, generator: Component[GeneratorInfo]) -> tuple[ObjectClass, ...] | None:
        """Return the classes that a generator declares; None if it declares none."""
        list_labels = generator.info.labels
        if list_labels is None:
            return None
        with guard_plugin(generator, "to say which classes it can draw"):
            classes = tuple(list_labels(generator.argument, generator.options))
        if strange := next((each for each in classes if not isinstance(each, ObjectClass)), None):
            raise BrokenPlugin(f"{describe_component(generator)}: its labels must be ObjectClass, got {strange!r}")
        return classes

    def sinks(self) -> tuple[Component[SinkInfo], ...]:
        """Return the sinks, checked. The digest of their code is not needed, because no result depends on it."""
        sinks = [self.look_up("sink", asked) for asked in dict.fromkeys(self.request.sinks)]
        found = []
        for sink in sinks if self.with_sinks else ():
            sink = self.settled_on_machine(sink)
            self.check_component(sink)
            found.append(sink)
        return tuple(found)

    def find(self, kind: Any, spec: Any, extra: Mapping[str, Any] | None = None) -> Component[Any]:
        """Look up a component that results depend on, and settle it here."""
        return self.settled_here(self.look_up(kind, spec, extra))

    def look_up(self, kind: Any, spec: Any, extra: Mapping[str, Any] | None = None) -> Component[Any]:
        """Resolve a name, or settle a descriptor; the user's options for the name replace those in `extra`."""
        if not isinstance(spec, str):
            self.used.add((kind, spec.name))
            options = {**self.options_for(kind, spec.name), **(extra or {})}
            try:
                return settle_component(spec, spec.options(**options))
            except ValidationError as error:
                raise BadOption(f"{kind} {spec.name!r}: {explain_problems(error, spec.options)}") from error
        name = spec.partition(":")[0].rpartition("/")[2]
        self.used.add((kind, name))
        table: OptionTable = self.request.options
        if extra:
            table = {**table, f"{kind}:{name}": {**self.options_for(kind, name), **extra}}
        return self.resolver.component(kind, spec, table)

    def settled_here(self, found: Component[Any]) -> Component[Any]:
        """Settle the options that depend on this machine, its device and downloads, and the digest of its code."""
        if found.mirror_note:
            self.notes.append(found.mirror_note)
        settled = self.codes.settle(self.settled_on_machine(found))
        # in a dry run, weights that are missing are noted by the check that follows
        return replace(settled, absent=True) if self.dry and not has_fingerprint(settled) else settled

    def settled_on_machine(self, found: Component[Any]) -> Component[Any]:
        """Settle the options that depend on this machine, as far as they are known without a download."""
        try:
            return settle_on_machine(found, self.request.device, self.offline)
        except NotHere as error:
            self.note_missing(error)
            self.is_settled = False
            return replace(found, absent=True)

    def check_component(self, found: Component[Any]) -> None:
        """Have a component check its argument and options, before anything is loaded."""
        check = found.info.loading.check
        if check is not None:
            try:
                with guard_plugin(found, "to check its argument and options"):
                    check(found.setup(self.request.device, offline=self.offline))
            except NotHere as error:
                self.note_missing(error)
        has_classes = found.absent and isinstance(found.info, JudgeInfo) and found.info.labels is not None
        if has_classes and declared_labels(found) is None:
            self.without_classes.add(found.spec)

    def note_missing(self, error: NotHere) -> None:
        """Note that the run downloads files first; raise the error if the run would raise it."""
        if not self.dry or self.request.offline:
            raise error
        if error.spec not in self.missing:
            self.notes.append(f"{error.spec}: {error.what} is not on this machine; the run downloads it first")
        self.missing.add(error.spec)

    def check_judge(self, model: Component[GeneratorInfo], need: Need, metric: Component[MetricInfo]) -> None:
        """Refuse a model that cannot judge itself, as far as it tells before anything is loaded."""
        info = model.info
        if not isinstance(info, SelfJudgingInfo) or need.capability not in info.capabilities:
            raise NoJudge(
                f"metric {metric.spec!r} asks the model itself for {need.capability}, "
                f"which {describe_component(model)} does not offer"
            )
        if info.check_judge is not None:
            setup = model.setup(self.request.device, offline=self.offline)
            with guard_plugin(model, f"to check whether it can be asked for {need.capability}"):
                info.check_judge(setup, need.capability, need.params)

    def options_for(self, kind: str, name: str) -> dict[str, Any]:
        """Return the user's options for one component, given under its name or under `kind:name`."""
        found: dict[str, Any] = {}
        for key, options in self.request.options.items():
            its_kind, its_name = _split_address(key)
            if its_name == name and its_kind in ("", kind):
                found |= options
        return found

    def refuse_unused(self) -> None:
        """Refuse options and judges that no part of this run uses; they are usually misspelt."""
        known = {name for _, name in self.used}
        for key in self.request.options:
            kind, name = _split_address(key)
            if not ((kind, name) in self.used if kind else name in known):
                parts = ", ".join(sorted(known))
                problem = f"options of {key!r}: no part of this run has this name{did_you_mean(key, known)}"
                raise UnknownName(join_clauses([problem, f"this run uses {parts}"]))
        for word in self.request.judges:
            name = split_judge(word)[1].partition(":")[0].rpartition("/")[2]
            if ("judge", name) not in self.used:
                raise NoJudge(f"--judge {word}: no metric of this run needs this judge; leave it out")

    def jobs_of(self, settled: Mapping[str, _Settled], models: Sequence[Model]) -> list[list[Job]]:
        """Return the jobs of one metric, settled for each domain by name, for each panel of judges."""
        metric, instance, _ = settled[models[0].component.info.domain.name]
        if isinstance(instance, PairMetric):
            if len(models) < 2:
                raise BadOption(f"metric {metric.spec!r} compares models; name at least two with --model")
            model_sets: list[tuple[Model, ...]] = [tuple(models)]
        else:
            model_sets = [(model,) for model in models]
        panels = [
            [self.job(*settled[of[0].component.info.domain.name], of, panel) for of in model_sets]
            for panel in list_panels(instance.needs, self.request, self.resolver)
        ]
        return name_panels(panels)

    def share_prompts(self, jobs: Sequence[Sequence[Job]]) -> list[list[Job]]:
        """Return the jobs of each panel on the prompts that all have in common, as many as the limit allows."""
        every = [job for own in jobs for job in own]
        first = every[0].prompts
        sources = next(self.lists[key] for key, chosen in self.limited.items() if chosen is first)
        common = select_common(every, sources)
        prompts = limit_prompts(common, self.request.limit)
        counts = ", ".join(map(str, dict.fromkeys(len(job.prompts) for job in every)))
        self.notes.append(f"{sum(map(len, common))} prompts in common, of {counts}: --common-prompts")
        self.note_limit(len(prompts), sum(map(len, common)), every[0].prompts_name)
        picked = {id(job.prompts): pick_same(job.prompts, prompts) for job in every}
        return [[self.replace_prompts(job, picked[id(job.prompts)]) for job in own] for own in jobs]

    def replace_prompts(self, job: Job, prompts: tuple[Prompt, ...]) -> Job:
        """Return a job on a part of its prompts."""
        with guard_plugin(job.metric, "to check its prompts"):
            job.instance.check(prompts)
        return replace(job, grids=tuple(self.grid(model, prompts, job.seeds) for model in job.models))

    def bounded(self, jobs: Sequence[Job]) -> list[Job]:
        """Add the jobs that measure the upper bound of one metric's jobs: one for all that are judged alike."""
        found: list[Job] = []
        bounds: list[Job] = []
        for job in jobs:
            if job.instance.upper_bound is not None and not job.pairs:
                bound = next((b for b in bounds if _is_judged_alike(b, job)), None)
                if bound is None:
                    bound = self.bound(job, len(bounds), {model.label for each in jobs for model in each.models})
                    bounds.append(bound)
                job = replace(job, bound=bound.bound)
            found.append(job)
        return found + bounds

    def bound(self, job: Job, number: int, taken: set[str]) -> Job:
        """Return the same job on the images of the generator that its metric names, which gets no options."""
        spec = job.instance.upper_bound
        assert spec is not None
        generator = self.settled_here(self.resolver.component("generator", spec, {}))
        self.check_component(generator)
        label = f"upper bound{f' {number + 1}' if number else ''} ({generator.spec})"
        if label in taken:
            raise BadOption(
                f"the label {label!r} is taken by the upper bound of metric {job.metric.spec!r}; choose another"
            )
        model = self.label(generator, label, {})
        return replace(job, grids=(self.grid(model, job.prompts, job.seeds),), bound=label)

    def grid(self, model: Model, prompts: tuple[Prompt, ...], seeds: tuple[int, ...]) -> SampleGrid:
        """Return a model's samples, the same object for all metrics that use the same ones."""
        key = (model.label, model.component.spec, id(prompts), seeds)
        if key not in self.grids:
            self.grids[key] = SampleGrid(model, prompts, seeds, self.request.noise, self.request.shard)
        return self.grids[key]

    def metric(self, asked: str | MetricInfo, domain: Domain) -> _Settled:
        """Settle a metric for one domain, whose defaults replace the metric's own."""
        found: Component[MetricInfo] = self.find("metric", asked)
        there = domain.metrics.get(found.info.name, Defaults())
        own = found.info.defaults
        if there.options:
            # the domain's options come first, so that the user's replace them
            found = self.find("metric", asked, {**there.options, **self.options_for("metric", found.name)})
        self.check_component(found)
        defaults = Defaults(
            prompts=there.prompts or own.prompts,
            seeds=there.seeds or own.seeds,
            judges={**own.judges, **domain.judges, **there.judges},
        )
        with guard_plugin(found, "to be made"):
            instance = found.info.create(found.setup())
        return found, instance, defaults

    def sample_set(self, model: Model) -> SampleSet:
        """Return the samples of a model whose images are generated and not measured."""
        generator = model.component
        name, prompts = self.prompts(generator, generator.spec, Defaults(), None)
        return SampleSet(grids=(self.grid(model, prompts, self.seeds(generator, Defaults())),), prompts_name=name)

    def job(
        self,
        metric: Component[MetricInfo],
        instance: Metric,
        defaults: Defaults,
        models: tuple[Model, ...],
        panel: Panel,
    ) -> Job:
        generator = models[0].component
        needs = self.serve_all(instance.needs, metric, defaults, models, panel)
        labels = next((s.labels for s in needs if s.labels is not None), None)
        judges = [served.choice.judge.spec for served in needs if served.choice is not None]
        unknown = next((spec for spec in judges if spec in self.without_classes), None) if labels is None else None
        name, prompts = self.prompts(generator, f"metric {metric.spec!r}", defaults, labels, unknown)
        seeds = self.seeds(generator, defaults)
        for served in needs:
            refuse_unknown_classes(served, prompts, metric)
        with guard_plugin(metric, "to check its prompts"):
            instance.check(prompts)
        with guard_plugin(metric, "to say the bounds of its measures"):
            measures = tuple(m.settled(metric.options) for m in metric.info.measures)
        job = Job(
            metric=metric,
            instance=instance,
            measures=measures,
            grids=tuple(self.grid(model, prompts, seeds) for model in models),
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

    def serve_all(
        self,
        needs: Sequence[Need],
        metric: Component[MetricInfo],
        defaults: Defaults,
        models: Sequence[Model],
        panel: Panel,
    ) -> tuple[Served, ...]:
        """Find the judge for each need, but for those that a served alternative makes unnecessary."""
        found: list[Served] = []
        for need, named in zip(needs, panel, strict=True):
            if not any(need.name in served.need.replaces for served in found):
                found.append(self.serve(need, metric, defaults, models, named))
        return tuple(found)

    def serve(
        self,
        need: Need,
        metric: Component[MetricInfo],
        defaults: Defaults,
        models: Sequence[Model],
        named: tuple[str, ...],
    ) -> Served:
        """Find the judge that serves a need or one of its alternatives."""
        if need.source == "model":
            for model in models:
                self.check_judge(model.component, need, metric)
            return Served(need, None, self.codes.of_derived(need, metric))
        if not find_capability(need.capability).judged:
            return Served(need, choose_pixels(), self.codes.of_derived(need, metric))
        domain = models[0].component.info.domain
        need, choice = choose_judge(
            need, metric, defaults, domain, replace(self.request, judges=named), self.resolver, self.settled_here
        )
        self.used.add(("judge", choice.judge.name))
        self.check_component(choice.judge)
        if need.derive is not None and len(expand(choice.chain, Query())) != 1:
            raise NoJudge(
                f"metric {metric.spec!r} derives numbers from {need.capability} and one image, but "
                f"{choice.judge.spec!r} combines several answers to give it; name another --judge"
            )
        refuse_high_floor(need, metric, choice.judge)
        return Served(need, choice, self.codes.of_derived(need, metric))

    def prompts(
        self,
        generator: Component[GeneratorInfo],
        asking: str,
        defaults: Defaults,
        labels: Labels | None,
        unknown: str | None = None,
    ) -> tuple[str, tuple[Prompt, ...]]:
        """Return the prompts' name and the prompts, as many as the limit allows.

        Args:
            generator: The generator, whose own prompts are used if the user names none.
            asking: What needs the prompts, for messages.
            defaults: The metric's settings.
            labels: The classes of the metric's judge; None if it has none, or they are not known yet.
            unknown: The metric's judge whose classes are not known yet.
        """
        names: tuple[str | PromptSourceInfo, ...] = self.request.prompts
        own_prompts = generator.info.prompts if isinstance(generator.info, ExistingImagesInfo) else None
        if not names and own_prompts is not None:
            names = (generator.spec,)
            key: Any = ("own", generator.fingerprint)
            if key not in self.lists:
                own = collect_prompts(generator, own_prompts, generator.setup())
                self.lists[key] = (check_prompts(own, generator.spec),)
        else:
            if not names and defaults.prompts:
                names = (defaults.prompts,)
            if not names:
                raise BadPrompts(
                    f"{asking} has no default prompts; name some with --prompts (t2i list-plugins shows them)"
                )
            key = (names, labels, unknown)
            if key not in self.lists:
                sources = tuple(self.read(name, labels, unknown) for name in names)
                check_prompts(list(chain.from_iterable(sources)), _name_prompts(names), self.dry)
                self.lists[key] = sources
        total = sum(map(len, self.lists[key]))
        if key not in self.limited:
            # the limit is one of the prompts in common, if only these are measured
            limit = None if self.request.common_prompts and self.request.metrics else self.request.limit
            self.limited[key] = limit_prompts(self.lists[key], limit)
        chosen = self.limited[key]
        self.note_limit(len(chosen), total, _name_prompts(names))
        return _name_prompts(names), chosen

    def note_limit(self, count: int, total: int, name: str) -> None:
        """Note how many prompts are measured, if the limit leaves out some."""
        if count < total:
            self.notes.append(f"{count} of {total} prompts of {name}, a seeded sample")

    def read(self, name: str | PromptSourceInfo, labels: Labels | None, unknown: str | None) -> Sequence[Prompt]:
        """Read one prompt source, file or descriptor; repetitions in what the user wrote are merged."""
        prompts: Sequence[Prompt]
        if isinstance(name, str) and is_prompt_file(name):
            prompts, merged = merge_duplicates(read_prompts(name))
            if self.dry:
                check_prompts(prompts, name)  # no source makes the images that a file names
        else:
            listed = self.load(name, labels, unknown)
            prompts, merged = merge_duplicates(listed) if isinstance(name, PromptSourceInfo) else (listed, 0)
        self.notes += _describe_repetitions(
            _name_prompts([name]), len(prompts), merged, len({p.text for p in prompts})
        )
        return prompts

    def load(self, name: str | PromptSourceInfo, labels: Labels | None, unknown: str | None) -> Sequence[Prompt]:
        """Have a prompt source make its prompts."""
        source = self.find("prompt_source", name)
        if source.info.reads_labels and unknown is not None:
            raise BadPrompts(
                f"prompts {name!r} follow the classes of judge {unknown!r}, which are not on this machine yet; "
                f"run `t2i prefetch {unknown}` first"
            )
        load = partial(load_prompts, source, labels if source.info.reads_labels else None, dry=self.dry)
        try:
            return load(offline=self.offline)
        except NotHere:
            if self.offline == self.request.offline:
                raise
            return load(offline=False)  # a plan needs the list

    def seeds(self, generator: Component[GeneratorInfo], defaults: Defaults) -> tuple[int, ...]:
        if self.request.seeds is not None:
            return self.request.seeds
        info = generator.info
        if isinstance(info, ExistingImagesInfo) and info.seeds is not None:
            with guard_plugin(generator, "to say its seeds"):
                return tuple(info.seeds(generator.setup()))
        return tuple(range(defaults.seeds or 1))


def _is_judged_alike(bound: Job, job: Job) -> bool:
    """Return whether a bound also holds for a job: same judges, same questions, same prompts and seeds."""
    judges = [[s.choice and s.choice.judge.fingerprint for s in one.needs] for one in (bound, job)]
    return (
        bound.metric.options == job.metric.options
        and judges[0] == judges[1]
        and (bound.prompts, bound.seeds) == (job.prompts, job.seeds)
    )


def _name_prompts(names: Sequence[str | PromptSourceInfo]) -> str:
    """Return the name of prompts in results."""
    return " + ".join(name if isinstance(name, str) else name.name for name in names)


def _describe_repetitions(name: str, kept: int, merged: int, texts: int) -> list[str]:
    """Return a note on repeated entries of a file or source of prompts."""
    clauses = []
    if merged:
        clauses.append(f"{merged} of {kept + merged} entries repeat another in all, and are counted once")
    if kept > texts:
        clauses.append(
            f"{kept - texts} share their text with another but differ in id or expectation: all {kept} count, and "
            "models that read texts draw each text once a seed"
        )
    return [f"{name}: {'; '.join(clauses)}"] if clauses else []
