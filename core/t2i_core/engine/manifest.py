"""Making of a run's manifest, which is complete enough to repeat the run."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from ..api.observation import find_capability
from ..api.redaction import redact_data
from ..results.manifest import Manifest, parse_manifest
from ..storage.manifest_file import DamagedManifest, encode_manifest, read_manifest
from ..storage.store import Store
from ..version import __version__
from .component import Component
from .lifecycle import read_speed
from .plan import Plan
from .preflight import read_floor
from .request import LOCAL
from .thread_pools import THREADS


def make_manifest(plan: Plan, store: Store, started: str, **outcome: Any) -> Manifest:
    """Return the manifest of a run.

    Args:
        plan: The plan.
        store: The cache, which has the settings that models and judges reported.
        started: Time when the run started.
        outcome: Fields of the manifest that are known when the run has ended. Without them it is running.
    """
    request = plan.request
    used: dict[str, Component[Any]] = {model.component.fingerprint: model.component for model in plan.models}
    for job in plan.jobs:
        parts: list[Component[Any]] = [job.metric, *(model.component for model in job.models)]
        parts += [s.choice.judge for s in job.needs if s.choice]
        used |= {part.fingerprint: part for part in parts}
    if plan.people is not None:
        used[plan.people.fingerprint] = plan.people
    fields = {
        "plan": plan.digest,
        "status": "running",
        "started": started,
        "t2i": __version__,
        "command": sys.argv,
        "request": {
            "metrics": sorted({job.metric.spec for job in plan.jobs}),
            "prompts": sorted({each.prompts_name for each in plan.sample_sets}),
            "perturb": list(dict.fromkeys(m.perturbation.spec for m in plan.models if m.perturbation)),
            "seeds": sorted({seed for each in plan.sample_sets for seed in each.seeds}),
            "judges": list(request.judges),
            "correct": plan.people and plan.people.spec,
            "sinks": [sink.spec for sink in plan.sinks],
            "limit": request.limit,
            "common_prompts": request.common_prompts,
            "until": request.until,
            "margin": request.margin,
            "max_images": request.max_images,
            "default_prompts": list(request.default_prompts),
            "skip_unavailable": list(request.skip_unavailable),
            "scenes": request.scenes,
            "interval": request.interval,
            "noise": request.noise,
            "max_failed": request.max_failed,
            "fresh": request.fresh,
            "max_cost": request.max_cost,
            "offline": request.offline,
            "options": {name: dict(options) for name, options in request.options.items()},
        },
        "models": {
            model.label: {
                **model.component.manifest(),
                "settings": model.settings,
                "domain": model.component.info.domain.name,
                "classes": None if model.classes is None else [asdict(each) for each in model.classes],
                "reported": store.settings(model.fingerprint) or {},
                "seconds": store.rate(model.fingerprint),
                "reported_as_judge": _read_reported_as_judge(model.component, store),
                "unshared_seeds": model.unshared_seeds,
                "speed": read_speed(store, model.fingerprint),
                "perturbation": model.perturbation and model.perturbation.manifest(),
            }
            for model in plan.models
        },
        "components": [
            *(
                {
                    "kind": c.kind,
                    **c.manifest(),
                    "reported": store.settings(c.fingerprint) or {},
                    "seconds": _read_seconds(c, store),
                }
                for c in used.values()
            ),
            *({"kind": sink.kind, **sink.manifest()} for sink in plan.sinks),
        ],
        "installed": [dict(entry) for entry in plan.installed],
        "device": {
            "asked": request.device or "best",
            "batch_size": request.batch_size or "auto",
            "threads": os.environ.get(THREADS),
            "executor": request.executor or LOCAL,
            "address": request.address,
            "workers": request.workers,
            "gpus_per_worker": request.gpus_per_worker,
        },
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _read_packages(),
        "judges": _list_judges(plan),
        "left_out": dict(plan.left_out),
    }
    return Manifest.model_validate({**fields, **outcome})


def keep_times(manifest: Manifest, folder: Path) -> Manifest:
    """Return the manifest of a run that measured nothing, with the times and command of the run that it repeats.

    Otherwise a repeated command would date a result anew: a board would take it for the newest.

    Args:
        manifest: The manifest of the run that has ended.
        folder: The run's folder, whose run.json is still that of the earlier command.

    Returns:
        The manifest as it is, unless the earlier command finished the run with the same results.
    """
    try:
        earlier = parse_manifest(read_manifest(folder) or {})
    except (DamagedManifest, ValueError):  # it is written again
        return manifest
    own = parse_manifest(json.loads(encode_manifest(redact_data(manifest.to_json()))))
    if earlier.status == "running" or _list_outcome(earlier) != _list_outcome(own):
        return manifest
    return manifest.model_copy(
        update={"started": earlier.started, "finished": earlier.finished, "command": earlier.command}
    )


def _list_outcome(manifest: Manifest) -> tuple[Any, ...]:
    """Return the results of a run; the digests of its tables if it has only images."""
    if manifest.results:
        return manifest.results, manifest.comparisons, manifest.agreements
    return (manifest.files,)


def _read_seconds(component: Component[Any], store: Store) -> float | None:
    """Return the seconds for an image of a generator, or an answer of a judge; None if they are not known."""
    prints = {"generator": component.fingerprint, "judge": component.judge_fingerprint}
    return store.rate(prints[component.kind]) if component.kind in prints else None


def _read_reported_as_judge(model: Component[Any], store: Store) -> dict[str, Any] | None:
    """Return the settings that a model reported as a judge of itself, if they have their own key."""
    return store.settings(model.judge_fingerprint) if model.judge_fingerprint != model.fingerprint else None


def _list_judges(plan: Plan) -> list[dict[str, Any]]:
    """Return the judge of each need with the reason; once if it is the same for all models of a metric."""
    found: list[dict[str, Any]] = []
    for job in plan.jobs:
        for s in job.needs:
            entry: dict[str, Any] = {"metric": job.metric.spec, "need": s.need.name, "judge": s.who, "why": s.why}
            if s.choice and find_capability(s.need.capability).has_floor:
                entry["floor"] = read_floor(s.choice.judge)
            if entry not in found:
                found.append(entry)
    return found


@cache
def _read_packages() -> dict[str, str]:
    """Return the version of every installed distribution; they do not change while a process runs."""
    parsed = (each.metadata for each in distributions())  # read once, because each access parses it
    return dict(sorted({(each["Name"] or "?"): each["Version"] for each in parsed}.items()))
