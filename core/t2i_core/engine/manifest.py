"""What a run records of itself, complete enough to be repeated."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distributions
from typing import Any

from ..api.observation import find_capability
from ..storage.store import Store
from ..version import __version__
from .component import Component
from .plan import Plan
from .preflight import read_floor
from .thread_pools import THREADS


def make_manifest(plan: Plan, store: Store) -> dict[str, Any]:
    """Return the manifest of a run; what models and judges say of themselves is read from the store."""
    request = plan.request
    used: dict[str, Component[Any]] = {}
    for job in plan.jobs:
        parts: list[Component[Any]] = [job.metric, *(m.component for m in job.models)]
        parts += [s.choice.judge for s in job.needs if s.choice]
        used |= {part.fingerprint: part for part in parts}
    models = {m.label: m for job in plan.jobs for m in job.models}
    return {
        "t2i": __version__,
        "command": sys.argv,
        "request": {
            "metrics": sorted({job.metric.spec for job in plan.jobs}),
            "prompts": sorted({job.prompts_name for job in plan.jobs}),
            "seeds": sorted({seed for job in plan.jobs for seed in job.seeds}),
            "limit": request.limit,
            "interval": request.interval,
            "noise": request.noise,
            "max_failed": request.max_failed,
            "fresh": request.fresh,
            "offline": request.offline,
            "options": {name: dict(options) for name, options in request.options.items()},
        },
        "models": {
            label: {
                **model.component.manifest(),
                "settings": model.settings,
                "reported": store.settings(model.fingerprint) or {},
                **_reported_as_judge(model.component, store),
            }
            for label, model in models.items()
        },
        "components": [
            {"kind": c.kind, **c.manifest(), "reported": store.settings(c.fingerprint) or {}}
            for c in used.values()
        ],
        "installed": [dict(entry) for entry in plan.installed],
        "device": {
            "asked": request.device or "best",
            "batch_size": request.batch_size or "auto",
            "threads": os.environ.get(THREADS),
        },
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _packages(),
        "judges": _judges(plan),
    }


def _reported_as_judge(model: Component[Any], store: Store) -> dict[str, Any]:
    """What a model said of itself after it was asked about images, where its answers have a key of their own."""
    said = store.settings(model.judge_fingerprint) if model.judge_fingerprint != model.fingerprint else None
    return {} if said is None else {"reported_as_judge": said}


def _judges(plan: Plan) -> list[dict[str, Any]]:
    """Who answered which need, and why; the same for all models of a metric, mostly.

    Of detections and segments also the confidence below which the judge keeps none.
    """
    found: list[dict[str, Any]] = []
    for job in plan.jobs:
        for s in job.needs:
            name, why = (s.choice.judge.spec, s.choice.why) if s.choice else ("the model itself", "")
            entry: dict[str, Any] = {"metric": job.metric.spec, "need": s.need.name, "judge": name, "why": why}
            if s.choice and find_capability(s.need.capability).has_floor:
                entry["floor"] = read_floor(s.choice.judge)
            if entry not in found:
                found.append(entry)
    return found


@cache
def _packages() -> dict[str, str]:
    """The version of every installed distribution; a process that runs is not given others."""
    return dict(sorted({(d.name or "?"): d.version for d in distributions()}.items()))


def get_time() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
