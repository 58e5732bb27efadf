"""Which run a run is: what its digest is made of, and what its folder is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.digest import digest_of
from ..api.options import result_options
from ..api.prompt import Prompt
from ..storage.run_folder import slug
from .job import Job


def identity(job: Job) -> Any:
    """What makes a run another run: all that is asked, nothing of how the code came to answer it."""
    return {
        "metric": [job.metric.info.name, result_options(job.metric.options)],
        "models": [
            [m.label, m.component.info.name, m.component.argument, result_options(m.component.options)]
            for m in job.models
        ],
        "prompts": [_prompt_identity(p) for p in job.prompts],
        "seeds": list(job.seeds),
        "judges": [
            [s.need.name, s.choice.judge.spec, result_options(s.choice.judge.options)] if s.choice else None
            for s in job.needs
        ],
        "noise": job.noise,
    }


def _prompt_identity(p: Prompt) -> str:
    return digest_of([p.id, p.scene_digest, list(p.images), list(p.texts), p.answer, p.cluster_id, dict(p.facets)])


def folder_name(jobs: Sequence[Job], digest: str) -> str:
    """Return the name of the folder of a run that is not told where to go."""
    metrics = dict.fromkeys(job.metric.name for job in jobs)
    models = dict.fromkeys(m.label for job in jobs if not job.is_bound for m in job.models)
    return f"{slug('-'.join(metrics))}-{slug('-'.join(models))}-{digest[:8]}"
