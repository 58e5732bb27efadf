"""What a plan will cost: how much is kept already, and how long the rest took when it was last done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..generation import Failure
from ..store import Store
from .generating import by_model, missing
from .jobs import Failures, Job
from .observing import asked, desks, gather
from .plan import Plan


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


def forecast(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data: folder, jobs, images and observations to make and kept, notes.

    Where nothing is measured, there are no metrics, judges and observations to speak of.
    """
    measures = len(plan.unmeasured) < len(plan.jobs)
    with Store(fresh=plan.request.fresh) as store:
        images = _images(plan, store)
        observations = {"observations": asdict(_observations(plan, store))} if measures else {}
    return {
        "folder": str(plan.folder),
        "jobs": [{**_drawn(job), **(_measured(job) if measures else {})} for job in plan.jobs],
        "images": asdict(images),
        **observations,
        "notes": list(plan.notes),
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


def _images(plan: Plan, store: Store) -> Work:
    work = Work()
    for model, jobs in by_model(plan.jobs):
        if model.component.info.existing:
            work.kept += sum(1 for job in jobs for _ in job.cells())
            continue
        to_make = sum(1 for _ in missing(jobs, store, Failures()))
        work.add(to_make, store.rate(model.fingerprint))
        work.kept += sum(store.image(job.image_key(*cell)) is not None for job in jobs for cell in job.cells())
    return work


def _observations(plan: Plan, store: Store) -> Work:
    """Count queries; those about images that are not made yet are counted by sample, one each.

    A query that several samples share counts for each of them.
    """
    work, failures = Work(), Failures()
    for desk in desks(plan.jobs):
        kept = to_make = 0
        for item in asked(desk, store, failures):
            if store.has(item.key):
                kept += 1
            else:
                to_make += 1
        for job, served in desk.asking:
            if served.need.per == "item":
                for models, prompt, seed in job.items():
                    found = gather(job, models, prompt, seed, served.need, store, failures)
                    to_make += isinstance(found, Failure)
        work.add(to_make, store.rate(desk.component.judge_fingerprint))
        work.kept += kept
    return work
