"""Dry runs: what a run would do and refuse, without network, weights and anything written.

A plan is forecast: how much work is cached already, and how long the rest took when it was last done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from ..api.cache_folder import find_cache_folder
from ..api.failure import Failure
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import ExistingImagesInfo
from ..api.progress import Progress
from ..api.resolver import Resolver
from ..files.write_check import find_write_obstacle
from ..storage.cache import read_cache_limit
from ..storage.database import explain_unusable
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .component import Component
from .executors import count_workers
from .forecast_work import (
    PROMPT_SOURCE,
    ComponentLoad,
    ImageWork,
    PaidWork,
    find_paid_work,
    make_price_reader,
)
from .generation import find_missing, group_by_model
from .job import Job, SampleSet
from .plan import Plan, make_plan
from .preflight import check_references
from .prompt_selection import find_missing_images
from .query_forecast import forecast_judges
from .query_index import Failures
from .request import LOCAL, Request
from .sample import Model, SampleGrid
from .stopping_rule import StoppingRule, refuse_changed_rule


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
        loads: list[ComponentLoad] = []
        images, lacking, failures = _forecast_images(plan, store, costs, loads)
        observations = forecast_judges(plan, store, failures, costs, loads)
        counts = count_workers(plan.executor, plan.request, store, [load.component for load in loads])
    for load, workers in zip(loads, counts, strict=True):
        load.work.add(load.count, load.rate, workers or 1)
    unwritten = sum(len(each.most) for each in plan.budget.announced.values())
    if unwritten and len(costs) > paid_sources:
        for work in costs.values():
            work.is_bound = work.kind == PROMPT_SOURCE
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
        work = PaidWork(PROMPT_SOURCE, name.removeprefix(f"{PROMPT_SOURCE} "), len(each.most), len(each.kept))
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
    plan: Plan, store: Store, costs: dict[str, PaidWork], loads: list[ComponentLoad]
) -> tuple[ImageWork, list[str], Failures]:
    """Count images, each once even if several metrics and prompts share it.

    Those of paid models are added to the costs, and those to make to the loads.

    Returns:
        The counts, notes on models that lack some, and why samples will have no image.
    """
    work, notes = ImageWork(), []
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
        if (paid := find_paid_work(model.component, costs)) is not None:
            paid.to_make += len(missing)
            paid.kept += missing.kept
            ask = make_price_reader(model.component, None)
            paid.add(ask(sample.request()) for sample in missing.samples())
        absent = model.component.absent
        if len(missing):
            rate = None if absent else store.rate(model.fingerprint)
            loads.append(ComponentLoad(model.component, work, 0 if absent else len(missing), rate))
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
