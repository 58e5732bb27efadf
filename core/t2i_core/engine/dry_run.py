"""Dry runs: what a run would do and refuse, without network, weights and anything written.

A plan is forecast: how much work is cached already, and how long the rest took when it was last done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..api.cache_folder import find_cache_folder
from ..api.failure import Failure
from ..api.generator import ImageRequest
from ..api.image import Image, load_image
from ..api.judge import Capability, Query
from ..api.metric_input import Need, Sample
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import ExistingImagesInfo
from ..api.prices import find_price
from ..api.progress import Progress
from ..api.resolver import Resolver
from ..files.write_check import find_write_obstacle
from ..storage.cache import read_cache_limit
from ..storage.database import explain_unusable
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .answer_reader import AnswerReader
from .component import Component
from .executors import count_workers
from .generation import find_missing, group_by_model
from .job import Job, SampleSet, Served
from .plan import Plan, make_plan
from .preflight import check_references
from .prompt_selection import find_missing_images
from .query_index import (
    NOT_KEPT,
    Failures,
    Item,
    QueryGroup,
    QueryIndex,
    QueryKeys,
    gather,
    group_queries,
    index_queries,
)
from .request import LOCAL, Request
from .sample import Model, SampleGrid, iterate_blocks
from .stopping_rule import StoppingRule, refuse_changed_rule

_PROMPT_SOURCE = "prompt source"


@dataclass
class Work:
    """The amount of work of one kind.

    Attributes:
        to_make: Number of items to make.
        kept: Number of items in the cache.
        unknown: Number of items that may be in the cache: their keys depend on weights that are not here.
        seconds: Time to make those in `to_make`, in seconds; None if it is not known.
    """

    to_make: int = 0
    kept: int = 0
    unknown: int = 0
    seconds: float | None = 0.0

    def add(self, count: int, rate: float | None, workers: int) -> None:
        """Add items to make.

        Args:
            count: Number of items.
            rate: Seconds of one worker for each item; None if it is not known.
            workers: Number of workers.
        """
        self.to_make += count
        if count:
            known = self.seconds is not None and rate is not None
            own = (rate or 0.0) * count / min(workers, count)
            self.seconds = (self.seconds or 0.0) + own if known else None


@dataclass(frozen=True)
class _Load:
    """The items that one component has to make.

    Attributes:
        component: The component.
        work: What they are added to, when the number of workers is known.
        count: Their number. Others may have to be made: their keys depend on weights that are not here.
        rate: Seconds of one worker for each item; None if it is not known.
    """

    component: Component[Any]
    work: Work
    count: int
    rate: float | None


@dataclass
class PaidWork:
    """The requests to a paid component.

    Attributes:
        kind: `generator`, `judge` or `prompt source`.
        component: The component, as the user wrote it.
        to_make: Number of images or answers to pay for.
        kept: Number of those in the cache, which cost nothing.
        unknown: Number of those that may be in the cache.
        most: The most that those to make and those not known can cost, in USD, if no request is repeated; None if
            the price is not known.
        set_first: What must be set before the price is known; empty if it is known.
        is_bound: False if it can cost more than `most`, because prompts will be rewritten first, or because
            queries depend on answers that do not exist yet.
    """

    kind: str
    component: str
    to_make: int = 0
    kept: int = 0
    unknown: int = 0
    most: float | None = 0.0
    set_first: str = ""
    is_bound: bool = True

    def add(self, requests: Iterable[float | None]) -> None:
        """Add the most that each of some requests can cost; None if that is not known."""
        for most in requests:
            self.most = None if most is None or self.most is None else self.most + most
        self.most = self.most and round(self.most, 9)


@dataclass
class _Images(Work):
    """Images to make.

    Attributes:
        missing: Number of existing images that are not there.
    """

    missing: int = 0


@dataclass
class _Observations(Work):
    """Observations to make.

    Attributes:
        waiting: Number of samples about which more may be asked, as soon as first answers about them are there.
    """

    waiting: int = 0


def forecast_request(request: Request, resolver: Resolver[Component[Any]], progress: Progress) -> dict[str, Any]:
    """Return the plan of a request, as `forecast_plan` does.

    Nothing is written or downloaded, except lists of prompts that are not on this machine: a plan needs them.

    Args:
        request: The request.
        resolver: Finds components by name.
        progress: Shows the progress to the user.

    Raises:
        T2IError: If a run of the request would be refused. That the cache or the default folder of runs cannot be
            written here raises nothing; a note reports it.
    """
    read_cache_limit()
    plan = make_plan(request, resolver, dry=True)
    notes = _check_folders(plan)
    with Store(fresh=request.fresh, read_only=True) as store:
        check_references(plan.jobs, store, progress)
    found = forecast_plan(plan, read_only=True)
    return {**found, "notes": [*found["notes"], *notes]}


def _check_folders(plan: Plan) -> list[str]:
    """Refuse a run's folder that a run would refuse; return notes on places that cannot be written here."""
    refuse_changed_rule(plan.stopping, plan.folder)
    folder = RunFolder(plan.folder, plan.digest, plan.request.shard)
    unwritable = folder.check(is_known=plan.is_settled and not _count_missing_pictures(plan))
    if unwritable is not None and plan.request.out is not None:
        raise unwritable
    cache = find_cache_folder().absolute()
    if (obstacle := find_write_obstacle(cache)) is not None:
        unwritable = unwritable or explain_unusable(cache, obstacle)
    return [] if unwritable is None else [f"a run would be refused here: {unwritable}"]


def _count_missing_pictures(plan: Plan) -> int:
    return len({path for each in plan.sample_sets for path in find_missing_images(each.prompts)})


def forecast_plan(plan: Plan, read_only: bool = False) -> dict[str, Any]:
    """Return the plan as plain data.

    It has the folder, the jobs, images and observations to make and cached, the executor, the cost, sinks and
    notes. If nothing is measured, there are no metrics, judges and observations; without paid components, no cost.
    The folder is null if its name depends on images of prompts, or on revisions of weights, that are not on this
    machine yet.

    Args:
        plan: The plan.
        read_only: Whether the cache is only read. It need not exist then.

    Raises:
        T2IError: If the run would be refused because of what the request says about workers.
    """
    pictures = _count_missing_pictures(plan)
    is_named = plan.request.out is not None or (plan.is_settled and not pictures)
    first = (
        [f"{pictures} images that prompts bring are not there yet: the run makes them first"] if pictures else []
    )
    with Store(fresh=plan.request.fresh, read_only=read_only) as store:
        costs = _list_announced(plan)
        paid_sources = len(costs)
        loads: list[_Load] = []
        images, lacking, failures = _forecast_images(plan, store, costs, loads)
        observations = _forecast_judges(plan, store, failures, costs, loads)
        counts = count_workers(plan.executor, plan.request, store, [load.component for load in loads])
    for load, workers in zip(loads, counts, strict=True):
        load.work.add(load.count, load.rate, workers or 1)
    unwritten = sum(len(each.most) for each in plan.budget.announced.values())
    if unwritten and len(costs) > paid_sources:
        for work in costs.values():
            work.is_bound = work.kind == _PROMPT_SOURCE
        first.append(
            f"{unwritten} texts are not rewritten yet: requests for images and answers are priced by the original "
            "texts, and may cost more"
        )
    return {
        "folder": str(plan.folder) if is_named else None,
        "jobs": [
            *({**_describe_samples(job), **_describe_metric(job)} for job in plan.jobs),
            *map(_describe_samples, plan.images),
        ],
        "images": asdict(images),
        **({"observations": asdict(observations)} if plan.jobs else {}),
        "executor": {
            "name": plan.executor.name if plan.executor else LOCAL,
            "workers": max(filter(None, counts), default=None),
        },
        **({"cost": _describe_costs(costs.values(), plan)} if costs else {}),
        **({"stopping": _describe_stopping(plan.stopping, plan)} if plan.stopping else {}),
        "sinks": [sink.spec for sink in plan.sinks],
        "notes": [*plan.notes, *first, *lacking],
    }


def _describe_samples(samples: SampleSet) -> Mapping[str, Any]:
    (first, *others) = samples.models
    return {
        "model": " | ".join(m.component.spec for m in samples.models),
        "as": " | ".join(m.label for m in samples.models),
        "settings": [m.settings for m in samples.models] if others else first.settings,
        "prompts": samples.prompts_name,
        "n_prompts": len(samples.prompts),
        "seeds": list(samples.seeds),
    }


def _describe_stopping(rule: StoppingRule, plan: Plan) -> dict[str, Any]:
    """Return when the run stops, its planned looks, and the most images that it draws of all models."""
    most = sum(len(grid) for job in plan.jobs for grid in job.grids)
    return {
        **rule.make_record().model_dump(include={"until", "margin", "max_images", "plan"}),
        "most_images": most,
    }


def _describe_metric(job: Job) -> Mapping[str, Any]:
    return {
        "metric": job.metric.spec,
        "judges": [
            {
                "need": s.need.name,
                "capability": s.need.capability,
                "name": s.who,
                "why": s.why,
            }
            for s in job.needs
        ],
    }


def _list_announced(plan: Plan) -> dict[str, PaidWork]:
    """Return the work of prompt sources that a run would pay for while it makes its plan."""
    works: dict[str, PaidWork] = {}
    for name, each in plan.budget.announced.items():
        work = PaidWork(_PROMPT_SOURCE, name.removeprefix(f"{_PROMPT_SOURCE} "), len(each.most), len(each.kept))
        work.set_first = each.unknown
        work.add([None] if each.unknown else each.most.values())
        if work.most != 0:
            works[name] = work
    return works


def _describe_costs(works: Iterable[PaidWork], plan: Plan) -> dict[str, Any]:
    """Return the cost of a plan: the most that it can be, the limit, and the work of each paid component."""
    most = [work.most for work in works]
    return {
        "most": None if None in most else round(sum(filter(None, most)), 9),
        "limit": plan.budget.limit,
        "components": [asdict(work) for work in works],
    }


def _forecast_images(
    plan: Plan, store: Store, costs: dict[str, PaidWork], loads: list[_Load]
) -> tuple[_Images, list[str], Failures]:
    """Count images, each once even if several metrics and prompts share it.

    Those of paid models are added to the costs, and those to make to the loads.

    Returns:
        The counts, notes on models that lack some, and why samples will have no image.
    """
    work, notes = _Images(), []
    failures: dict[str, Failure] = {}
    for model, grids in group_by_model(plan.image_sets):
        if isinstance(model.component.info, ExistingImagesInfo):
            wanted, lacking = _look_up(model.component.info, model, grids)
            failures |= lacking
            work.kept += wanted - len(lacking)
            work.missing += len(lacking)
            if lacking:
                notes.append(f"{model.label}: {len(lacking)} of {wanted} images are missing")
            continue
        missing = find_missing(grids, store, failures)
        failures |= missing.failures
        if (paid := _find_paid_work(model.component, costs)) is not None:
            paid.to_make += len(missing)
            paid.kept += missing.kept
            ask = _make_price_reader(model.component, None)
            paid.add(ask(sample.request()) for sample in missing.samples())
        absent = model.component.absent
        if len(missing):
            rate = None if absent else store.rate(model.fingerprint)
            loads.append(_Load(model.component, work, 0 if absent else len(missing), rate))
        if absent:
            work.unknown += len(missing)
            continue
        work.kept += missing.kept
    return work, notes, failures


def _look_up(info: ExistingImagesInfo, model: Model, grids: Sequence[SampleGrid]) -> tuple[int, Failures]:
    """Return the number of existing images, and which of them are missing, as far as the model tells."""
    wanted: set[str] = set()
    lacking: dict[str, Failure] = {}
    with guard_plugin(model.component, "to say which images it holds"):
        holds = info.holds(model.component.setup()) if info.holds else None
        for sample in chain.from_iterable(grids):
            if holds is not None and sample.key not in wanted and not holds(sample.prompt, sample.seed):
                lacking[sample.key] = Failure("it is not there", missing=True)
            wanted.add(sample.key)
    return len(wanted), lacking


def _forecast_judges(
    plan: Plan, store: Store, failures: Failures, costs: dict[str, PaidWork], loads: list[_Load]
) -> _Observations:
    """Return the observations of all judges together.

    Those of paid judges are added to the costs, and those to make to the loads.
    """
    every = _Observations()
    index: dict[tuple[int, tuple[str, ...]], QueryKeys] = {}
    for group in group_queries(plan.jobs):
        paid = _find_paid_work(group.component, costs)
        index |= _count_queries(every, group, store, failures, index, paid, loads)
    return every


def _find_paid_work(component: Component[Any], costs: dict[str, PaidWork]) -> PaidWork | None:
    """Return the work of a paid component among the costs; None if its requests cost nothing."""
    price = find_price(component)
    if price is None:
        return None
    new = PaidWork(component.kind, component.spec, set_first=price.unknown)
    return costs.setdefault(f"{component.kind} {component.spec}", new)


def _make_price_reader(
    component: Component[Any], capability: Capability | None
) -> Callable[[ImageRequest | Query], float | None]:
    """Return a function that returns the most that a request can cost; None if that is not known."""
    price = find_price(component)
    if price is None or price.unknown:
        return lambda item: None

    def read(item: ImageRequest | Query) -> float:
        with guard_plugin(component, "to say its price"):
            return price.most(item, capability)

    return read


def _count_queries(
    work: _Observations,
    group: QueryGroup,
    store: Store,
    failures: Failures,
    index: QueryIndex,
    paid: PaidWork | None,
    loads: list[_Load],
) -> QueryIndex:
    """Count the queries of a group, each once even if several needs and samples share it; return their keys.

    Images that do not exist yet are all taken to be different. Queries that depend on answers that do not exist
    yet are not counted.

    Args:
        index: The keys of the queries of earlier groups.
    """
    earlier = AnswerReader(index, {}, store, is_asking=True)
    ask = _make_price_reader(group.component, group.capability)
    costs: dict[str, float | None] = {}

    def look(key: str, query: Query) -> None:
        if paid is not None:
            costs[key] = ask(query)

    parts = [
        index_queries(part, store, failures, earlier.add_earlier, _gather_planned, look)
        for part in _split_by_absence(group)
    ]
    known, unknown = (set(chain.from_iterable(part.values())) for part in parts)
    keys = list(known)
    kept = 0
    for block in iterate_blocks(keys):
        for key, value in zip(block, store.get_many(block), strict=True):
            if value is not None:
                kept += 1
                costs.pop(key, None)
    work.unknown += len(unknown - known)
    work.waiting += earlier.waiting
    work.kept += kept
    if len(keys) > kept or unknown - known:
        rate = store.rate(group.component.judge_fingerprint) if len(keys) > kept else None
        loads.append(_Load(group.component, work, len(keys) - kept, rate))
    if paid is not None:
        paid.unknown += len(unknown - known)
        paid.to_make += len(keys) - kept
        paid.kept += kept
        paid.is_bound = paid.is_bound and not earlier.waiting
        paid.add(costs.values())
    return {**parts[0], **parts[1]}


def _split_by_absence(group: QueryGroup) -> tuple[QueryGroup, QueryGroup]:
    """Return the queries whose keys are known, and those whose keys depend on weights that are not here."""
    known: list[tuple[Job, Served]] = []
    unknown: list[tuple[Job, Served]] = []
    for job, served in group.asking:
        drawn = served.need.images == "generated" and any(model.component.absent for model in job.models)
        (unknown if group.component.absent or drawn else known).append((job, served))
    return replace(group, asking=tuple(known)), replace(group, asking=tuple(unknown))


def _gather_planned(
    items: Sequence[Item], need: Need | None, store: Store, failures: Failures
) -> list[tuple[Sample, ...] | Failure]:
    """Return the samples of each item; an image that does not exist yet has its key as digest, and no pixels."""
    each = zip(items, gather(items, need, store, failures), strict=True)
    return [_assume_made(item, found, store, failures) for item, found in each]


def _assume_made(
    item: Item, found: tuple[Sample, ...] | Failure, store: Store, failures: Failures
) -> tuple[Sample, ...] | Failure:
    if isinstance(found, tuple):
        return tuple(_Planned(s.model, s.prompt, s.seed, s.image) for s in found)
    if found is not NOT_KEPT:
        return found
    for planned in item:
        if planned.key in failures:
            return failures[planned.key]
    return tuple(
        _Planned(p.model.label, p.prompt, p.seed, store.image(p.key) or Image(p.key, Path(p.key))) for p in item
    )


class _Planned(Sample):
    """A sample whose prompt may bring images that do not exist yet; their digest is their path."""

    @property
    def own_images(self) -> tuple[Image, ...]:
        paths = map(Path, self.prompt.images)
        return tuple(load_image(path) if path.is_file() else Image(str(path), path) for path in paths)
