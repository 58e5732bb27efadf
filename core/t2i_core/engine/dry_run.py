"""What a plan will cost: how much is kept already, and how long the rest took when it was last done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..api.failure import Failure
from ..api.image import Image, load_image
from ..api.metric import Need, Sample
from ..api.plugin_info import ExistingImagesInfo
from ..api.prompt import Prompt
from ..storage.store import Store
from .generation import by_model, missing
from .job import Failures, Job, Model
from .observation import NOT_KEPT, asked, desks, gather
from .plan import Plan
from .plugin_guard import guard_plugin
from .prompt_selection import find_missing_images


@dataclass
class Work:
    """Items of one kind: to make, kept already, and the seconds that making takes, where that is known."""

    to_make: int = 0
    kept: int = 0
    seconds: float | None = 0.0

    def add(self, count: int, rate: float | None) -> None:
        """Add items to make at a rate (seconds each, None: not known)."""
        self.to_make += count
        if count:
            known = self.seconds is not None and rate is not None
            self.seconds = (self.seconds or 0.0) + count * (rate or 0.0) if known else None


@dataclass
class _Images(Work):
    """Images; of those that exist already, the ones that are not there are missing."""

    missing: int = 0


def forecast_plan(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data: folder, jobs, images and observations to make and kept, notes.

    Where nothing is measured, there are no metrics, judges and observations to speak of. There is no folder yet
    where its name depends on images of prompts that are not made yet.
    """
    pictures = len({path for job in plan.jobs for path in find_missing_images(job.prompts)})
    first = (
        [f"{pictures} images that prompts bring are not there yet: the run makes them first"] if pictures else []
    )
    measures = len(plan.unmeasured) < len(plan.jobs)
    with Store(fresh=plan.request.fresh) as store:
        failures = Failures()
        images, lacking = _images(plan, store, failures)
        observations = {"observations": asdict(_observations(plan, store, failures))} if measures else {}
    return {
        "folder": None if pictures and plan.request.out is None else str(plan.folder),
        "jobs": [{**_drawn(job), **(_measured(job) if measures else {})} for job in plan.jobs],
        "images": asdict(images),
        **observations,
        "notes": [*plan.notes, *first, *lacking],
    }


def _drawn(job: Job) -> Mapping[str, Any]:
    (first, *others) = job.models
    return {
        "model": " | ".join(m.component.spec for m in job.models),
        "as": " | ".join(m.label for m in job.models),
        "settings": [m.settings for m in job.models] if others else first.settings,
        "prompts": job.prompts_name,
        "n_prompts": len(job.prompts),
        "seeds": list(job.seeds),
    }


def _measured(job: Job) -> Mapping[str, Any]:
    return {
        "metric": job.metric.spec,
        "judges": [
            {
                "need": s.need.name,
                "capability": s.need.capability,
                "name": s.choice.judge.spec if s.choice else "the model itself",
                "why": s.choice.why if s.choice else f"{s.need.capability} is asked of the model itself",
            }
            for s in job.needs
        ],
    }


def _images(plan: Plan, store: Store, failures: Failures) -> tuple[_Images, list[str]]:
    """Count images, each once however many metrics and prompts share it, and say who lacks some.

    `failures` takes those that cannot be had: nothing will be asked about them.
    """
    work, notes = _Images(), []
    for model, jobs in by_model(plan.jobs):
        if isinstance(model.component.info, ExistingImagesInfo):
            wanted, lacking = _looked_up(model.component.info, model, jobs, failures)
            work.kept += wanted - lacking
            work.missing += lacking
            if lacking:
                notes.append(f"{model.label}: {lacking} of {wanted} images are missing")
            continue
        to_make = sum(1 for _ in missing(jobs, store, failures))
        work.add(to_make, store.rate(model.fingerprint))
        work.kept += sum(store.image(key) is not None for key in _keys(jobs))
    return work, notes


def _keys(jobs: Iterable[Job]) -> set[str]:
    return {job.image_key(*cell) for job in jobs for cell in job.cells()}


def _looked_up(info: ExistingImagesInfo, model: Model, jobs: Sequence[Job], failures: Failures) -> tuple[int, int]:
    """Count images that exist already, and those of them that are not there, as far as the model says so."""
    if info.holds is None:
        return len(_keys(jobs)), 0
    wanted: set[str] = set()
    lacking = 0
    with guard_plugin(model.component, "to say which images it holds"):
        holds = info.holds(model.component.setup())
        for job in jobs:
            for own, prompt, seed in job.cells():
                key = job.image_key(own, prompt, seed)
                if key not in wanted and not holds(prompt, seed):
                    failures.images[key] = Failure("it is not there", missing=True)
                    lacking += 1
                wanted.add(key)
    return len(wanted), lacking


def _observations(plan: Plan, store: Store, failures: Failures) -> Work:
    """Count queries, each once however many needs and samples share it; images that are not made yet are all
    taken to be different.
    """
    work = Work()
    for desk in desks(plan.jobs):
        keys = {item.key for item in asked(desk, store, failures, _as_if_made)}
        kept = sum(store.has(key) for key in keys)
        work.add(len(keys) - kept, store.rate(desk.component.judge_fingerprint))
        work.kept += kept
    return work


def _as_if_made(
    job: Job,
    models: Iterable[Model],
    prompt: Prompt,
    seed: int,
    need: Need | None,
    store: Store,
    failures: Failures,
) -> tuple[Sample, ...] | Failure:
    """The samples of one item; an image that is not made yet has its key for a digest, and no pixels."""
    models = tuple(models)
    found = gather(job, models, prompt, seed, need, store, failures)
    if found is not NOT_KEPT:
        return (
            found if isinstance(found, Failure) else tuple(_Planned(s.model, prompt, seed, s.image) for s in found)
        )
    keys = [(model.label, job.image_key(model, prompt, seed)) for model in models]
    for _, key in keys:
        if key in failures.images:
            return failures.images[key]
    return tuple(_Planned(label, prompt, seed, store.image(key) or Image(key, Path(key))) for label, key in keys)


class _Planned(Sample):
    """A sample whose prompt may bring images that are not made yet: such a one has its path for a digest."""

    @property
    def own_images(self) -> tuple[Image, ...]:
        paths = map(Path, self.prompt.images)
        return tuple(load_image(path) if path.is_file() else Image(str(path), path) for path in paths)
