"""Dry runs: what a run would do and refuse, without network, weights and anything written.

A plan is forecast: how much work is cached already, and how long the rest took when it was last done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..api.cache_folder import find_cache_folder
from ..api.failure import Failure
from ..api.image import Image, load_image
from ..api.metric_input import Need, Sample
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import ExistingImagesInfo, JudgeInfo
from ..api.progress import Progress
from ..api.resolver import Resolver
from ..files.write_check import find_write_obstacle
from ..storage.cache import read_cache_limit
from ..storage.database import explain_unusable
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .component import Component
from .generation import find_missing, group_by_model
from .job import Job, SampleSet, Served
from .plan import Plan, make_plan
from .preflight import check_references
from .prompt_selection import find_missing_images
from .query_index import NOT_KEPT, Failures, Item, QueryGroup, gather, group_queries, index_queries
from .request import Request
from .sample import Model, SampleGrid, iterate_blocks


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

    def add(self, count: int, rate: float | None) -> None:
        """Add items to make.

        Args:
            count: Number of items.
            rate: Seconds for each item; None if it is not known.
        """
        self.to_make += count
        if count:
            known = self.seconds is not None and rate is not None
            self.seconds = (self.seconds or 0.0) + count * (rate or 0.0) if known else None


@dataclass
class _Images(Work):
    """Images to make.

    Attributes:
        missing: Number of existing images that are not there.
    """

    missing: int = 0


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
    """Return the plan as plain data: folder, jobs, images and observations to make and cached, sinks, notes.

    If nothing is measured, there are no metrics, judges and observations. The folder is null if its name depends
    on images of prompts, or on revisions of weights, that are not on this machine yet.

    Args:
        plan: The plan.
        read_only: Whether the cache is only read. It need not exist then.
    """
    pictures = _count_missing_pictures(plan)
    is_named = plan.request.out is not None or (plan.is_settled and not pictures)
    first = (
        [f"{pictures} images that prompts bring are not there yet: the run makes them first"] if pictures else []
    )
    with Store(fresh=plan.request.fresh, read_only=read_only) as store:
        images, lacking, failures = _forecast_images(plan, store)
        observations = _forecast_judges(plan, store, failures) if plan.jobs else {}
    return {
        "folder": str(plan.folder) if is_named else None,
        "jobs": [
            *({**_describe_samples(job), **_describe_metric(job)} for job in plan.jobs),
            *map(_describe_samples, plan.images),
        ],
        "images": asdict(images),
        **observations,
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


def _forecast_images(plan: Plan, store: Store) -> tuple[_Images, list[str], Failures]:
    """Count images, each once even if several metrics and prompts share it.

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
        if model.component.absent:
            work.unknown += len(missing)
            continue
        work.add(len(missing), store.rate(model.fingerprint))
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


def _forecast_judges(plan: Plan, store: Store, failures: Failures) -> dict[str, Any]:
    """Return the observations of all judges together, and those of each paid judge."""
    every = Work()
    paid: dict[str, Work] = {}
    for group in group_queries(plan.jobs):
        works = [every]
        if _is_paid(group.component):
            works.append(paid.setdefault(group.component.spec, Work()))
        _count_queries(works, group, store, failures)
    requests = [
        {"judge": spec, "to_make": work.to_make, "kept": work.kept, "unknown": work.unknown}
        for spec, work in paid.items()
    ]
    return {"observations": asdict(every), **({"paid_requests": requests} if requests else {})}


def _is_paid(component: Component[Any]) -> bool:
    """Return whether requests to a judge may cost money."""
    info = component.info
    if not isinstance(info, JudgeInfo) or info.paid is None:
        return False
    with guard_plugin(component, "to say whether it is paid"):
        return bool(info.paid(component.argument, component.options))


def _count_queries(works: Sequence[Work], group: QueryGroup, store: Store, failures: Failures) -> None:
    """Count the queries of a group, each once even if several needs and samples share it.

    Images that do not exist yet are all taken to be different.
    """
    known, unknown = (
        set(chain.from_iterable(index_queries(part, store, failures, _gather_planned).values()))
        for part in _split_by_absence(group)
    )
    keys = list(known)
    kept = sum(value is not None for block in iterate_blocks(keys) for value in store.get_many(block))
    for work in works:
        work.unknown += len(unknown - known)
        work.add(len(keys) - kept, store.rate(group.component.judge_fingerprint))
        work.kept += kept


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
