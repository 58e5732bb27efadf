"""Jobs of an evaluation: one metric on its samples, and the keys of its observations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from typing import Any

from ..api.adapter import Adapter, expand
from ..api.digest import digest_data, digest_text, encode_canonically
from ..api.errors import NotHere
from ..api.image import ImagePlace
from ..api.judge import FOR_PEOPLE, Capability, Query
from ..api.metric import Metric, PairMetric, PromptMetric, SetMetric, StackedMetric
from ..api.metric_input import Need, NeedJudge, Sample, ask_about_image
from ..api.metric_output import SettledMeasure
from ..api.observation import Labels, StackableObservation, find_capability
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import JudgeInfo, MetricInfo
from ..api.prompt import Prompt
from ..api.resolver import JudgeChoice
from ..results.result import make_title
from ..storage.store import FORMAT
from .component import Component
from .request import NoisePolicy
from .sample import Model, PlannedSample, SampleGrid


@dataclass(frozen=True)
class Served:
    """A need with the judge that serves it.

    Attributes:
        need: The need.
        choice: The judge; None if the model judges itself.
        derive_code: Digest of the function that derives numbers, if the metric's code digest does not cover it.
    """

    need: Need
    choice: JudgeChoice[Component[JudgeInfo]] | None
    derive_code: str | None = None

    @cached_property
    def labels(self) -> Labels | None:
        """The classes that the judge declares; None if it takes any text or is the model itself."""
        return declared_labels(self.choice.judge) if self.choice else None

    @cached_property
    def _judge(self) -> str:
        """Digest of the judge and of the classes that it declares."""
        assert self.choice is not None
        return digest_data([self.choice.judge.fingerprint, [[c.name, c.synset] for c in self.labels or ()]])

    @property
    def who(self) -> str:
        """Name of the judge, for users."""
        return self.choice.judge.spec if self.choice else "the model itself"

    @property
    def why(self) -> str:
        """Reason why this judge was chosen, for users."""
        return self.choice.why if self.choice else "the model itself is asked"

    @property
    def chain(self) -> tuple[Adapter, ...]:
        """The adapters between the need and what the judge offers."""
        return self.choice.chain if self.choice else ()

    @property
    def asked(self) -> Capability:
        """The capability that the judge itself must offer."""
        return self.choice.asked_for(self.need.capability) if self.choice else self.need.capability

    @property
    def asks_image_alone(self) -> bool:
        """True if the judge gets one query about each generated image, and no other queries."""
        alone = self.need.images == "generated" and self.need.queries is ask_about_image
        return alone and not self.chain and not self.by_people

    @property
    def by_people(self) -> bool:
        """True if the judge gives people's answers, which may name images by their place in the run."""
        return self.choice is not None and self.choice.judge.info.by_people

    def address(self, grids: Sequence[SampleGrid]) -> tuple[int, tuple[str, ...]]:
        """Return the key of these grids' queries in the index."""
        return id(self), tuple(grid.model.label for grid in grids)

    def queries(self, samples: tuple[Sample, ...]) -> list[Query]:
        """Return the queries to the judge about one sample or pair, adapters applied."""
        if self.by_people:
            samples = tuple(map(_add_place, samples))
        queries = [inner for query in self.need.queries(samples) for inner in expand(self.chain, query)]
        return queries if self.by_people else list(map(_drop_for_people, queries))

    def judge_fingerprint(self, model: Model) -> str:
        """Return the digest of everything but the query that the observations depend on."""
        return self._judge if self.choice else model.component.judge_fingerprint


def _drop_for_people(query: Query) -> Query:
    """Return a query without what only people need."""
    if FOR_PEOPLE not in query.params:
        return query
    return replace(query, params={name: value for name, value in query.params.items() if name != FOR_PEOPLE})


def _add_place(sample: Sample) -> Sample:
    """Return a sample whose image knows where it belongs."""
    if sample.image is None:
        return sample
    place = ImagePlace(sample.model, sample.prompt.id, sample.seed)
    return replace(sample, image=replace(sample.image, place=place))


@dataclass(frozen=True, kw_only=True)
class SampleSet:
    """The samples of one or several models, on the same prompts and seeds.

    Attributes:
        grids: The samples of each model.
        prompts_name: The prompt sources or files.
    """

    grids: tuple[SampleGrid, ...]
    prompts_name: str

    @property
    def models(self) -> tuple[Model, ...]:
        """The models, in the order in which they are shown."""
        return tuple(grid.model for grid in self.grids)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts, the same for all models."""
        return self.grids[0].prompts

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, the same for all models."""
        return self.grids[0].seeds

    @property
    def noise(self) -> NoisePolicy:
        """The source of the starting noise."""
        return self.grids[0].noise

    @property
    def shares_seeds(self) -> bool:
        """True if images of one seed have something in common, whatever their prompts."""
        return self.noise == "shared" and all(model.unshared_seeds is None for model in self.models)

    def samples(self) -> Iterator[PlannedSample]:
        """Yield each sample of this shard, model after model."""
        return chain.from_iterable(self.grids)


@dataclass(frozen=True, kw_only=True)
class Job(SampleSet):
    """One metric on the samples of one model, or, if it compares pairs, on those of all models together.

    Attributes:
        metric: The metric.
        instance: The created metric.
        measures: Its measures, the headline first, with their bounds under its options.
        needs: Its needs, with their judges.
        bound: Label of the model whose score is this one's upper bound; its own, if it only measures the bound.
        by: The judges, if the run measures this metric with several; None if it does not.
    """

    metric: Component[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    needs: tuple[Served, ...]
    bound: str | None = None
    by: str | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """The metric's name and the judges, as the run's tables and results have them."""
        return self.metric.spec, self.by

    @property
    def title(self) -> str:
        """The metric, with the judges if the run measures it with several."""
        return make_title(*self.key)

    @property
    def is_bound(self) -> bool:
        """True if it only measures the upper bound of other scores."""
        return self.bound is not None and self.bound == self.models[0].label

    @property
    def generates(self) -> bool:
        """True if the metric uses generated images."""
        return any(served.need.images == "generated" for served in self.needs)

    @property
    def pairs(self) -> bool:
        """True if the metric compares models two by two."""
        return isinstance(self.instance, PairMetric)

    @property
    def unit_kind(self) -> type[Metric]:
        """The base class that gives the metric's unit; `Metric` itself for samples."""
        kinds = (StackedMetric, PromptMetric, SetMetric, PairMetric)
        return next((kind for kind in kinds if isinstance(self.instance, kind)), Metric)

    def unstackable(self) -> str | None:
        """Return why the metric cannot get stacked answers; None if it can."""
        for served in self.needs:
            need = served.need
            alone = need.images == "generated" and need.queries is ask_about_image and need.derive is None
            stackable = issubclass(find_capability(need.capability), StackableObservation)
            if not alone or served.asked != need.capability or not stackable:
                return f"its need {need.name!r} is not a vector of each generated image alone"
        return None

    def list_earlier(self, served: Served) -> list[Served]:
        """Return the needs whose answers a need's queries depend on, in the order in which they are asked."""
        by_name = {each.need.name: each for each in self.needs}
        found: list[Served] = []
        while served.need.after:
            served = by_name[served.need.after]
            found.insert(0, served)
        return found

    @cached_property
    def measures_by_name(self) -> dict[str, SettledMeasure]:
        """The measures by name."""
        return {measure.name: measure for measure in self.measures}

    def groups(self) -> Iterator[tuple[SampleGrid, ...]]:
        """Yield the grids whose samples are observed together: one, or those of two models."""
        yield from combinations(self.grids, 2) if self.pairs else ((grid,) for grid in self.grids)

    def items(self) -> Iterator[tuple[PlannedSample, ...]]:
        """Yield each observed item: one sample, or two models' samples of one prompt and seed."""
        for grids in self.groups():
            yield from zip(*grids, strict=True)

    def size(self) -> int:
        """Return the number of observed items, without shards."""
        n = len(self.models)
        return (n * (n - 1) // 2 if self.pairs else n) * len(self.prompts) * len(self.seeds)


def name_panels(panels: Sequence[Sequence[Job]]) -> list[list[Job]]:
    """Return the jobs of each panel of judges, named by its judges if there are several panels.

    Args:
        panels: The jobs of one metric for each panel. Panels with the same judges for the same needs count once.
    """
    distinct: dict[tuple[str, ...], Sequence[Job]] = {}
    for jobs in panels:
        distinct.setdefault(tuple(chain.from_iterable(map(_identify_judges, jobs))), jobs)
    if len(distinct) == 1:
        return list(map(list, distinct.values()))
    names = [_name_judges(jobs) for jobs in distinct.values()]
    if len(set(names)) < len(names):
        names = [_name_judges_and_capabilities(jobs) for jobs in distinct.values()]
    return [[replace(job, by=name) for job in jobs] for name, jobs in zip(names, distinct.values(), strict=True)]


def _identify_judges(job: Job) -> list[str]:
    return [f"{s.need.capability} {s.judge_fingerprint(job.models[0])}" for s in job.needs]


def _name_judges(jobs: Sequence[Job]) -> str:
    return " + ".join({judge.spec: None for _, judge in _list_judges(jobs)})


def _name_judges_and_capabilities(jobs: Sequence[Job]) -> str:
    return " + ".join({f"{judge.spec} ({capability})": None for capability, judge in _list_judges(jobs)})


def _list_judges(jobs: Sequence[Job]) -> list[tuple[Capability, Component[JudgeInfo]]]:
    every = chain.from_iterable(job.needs for job in jobs)
    return [(s.need.capability, s.choice.judge) for s in every if s.choice and s.need.is_judged]


def declared_labels(component: Component[Any]) -> Labels | None:
    """Return the classes that a judge knows or a generator draws; None if it does not declare them.

    They may not be known in a dry run, if they stand in a file that is not on this machine.
    """
    labels = getattr(component.info, "labels", None)
    try:
        with guard_plugin(component, "to say which classes it knows"):
            return tuple(labels(component.argument, component.options)) if labels else None
    except NotHere:
        if component.absent:
            return None
        raise


def observation_key_head(judge_fingerprint: str, capability: Capability) -> str:
    """Return the common beginning of the keys of one judge's observations: a JSON list without its end.

    Args:
        judge_fingerprint: Digest of everything but the query that the observations depend on.
        capability: The capability that is asked for.
    """
    return encode_canonically([FORMAT, "observation", judge_fingerprint, capability])[:-1]


def observation_key(head: str, query: Query) -> str:
    """Return the key of an observation in the cache."""
    images = [image.identity for image in query.images]
    asked = encode_canonically([images, list(query.texts), dict(query.params)])[1:]
    return digest_text(f"{head},{asked}")


def keys_of_images_alone(head: str, identities: Iterable[str]) -> list[str]:
    """Return the keys of observations about single images (`Image.identity`)."""
    return [digest_text(f'{head},["{identity}"],[],{{}}]') for identity in identities]


def derived_key(observation: str, served: Served, metric: Component[MetricInfo]) -> str:
    """Return the cache key of the numbers that a metric derives from an observation."""
    derive = served.need.derive
    assert derive is not None
    function = (derive.function.__module__, getattr(derive.function, "__qualname__", ""))
    whose = [metric.info.name, metric.code_digest, *function, served.need.capability]
    if served.derive_code is not None:
        whose.append(served.derive_code)
    return digest_data([FORMAT, "derived", observation, derive.name, dict(derive.options), *whose])


def describe_judges(needs: Iterable[Served]) -> dict[str, NeedJudge]:
    """Return the judges of needs by the need's name, for the metric."""
    return {
        served.need.name: NeedJudge(served.choice.judge.name, served.labels) for served in needs if served.choice
    }
