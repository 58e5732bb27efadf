"""Which run a run is: what its digest is made of, and what its folder is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.digest import digest_data
from ..api.options import select_result_options
from ..api.prompt import Prompt
from ..files.slug import make_slug
from .job import Job


def identify_job(job: Job) -> Any:
    """What makes a run another run: all that is asked, nothing of how the code came to answer it."""
    return {
        "metric": [job.metric.info.name, select_result_options(job.metric.options)],
        "models": [
            [m.label, m.component.info.name, m.component.argument, select_result_options(m.component.options)]
            for m in job.models
        ],
        "prompts": [_prompt_identity(p) for p in job.prompts],
        "seeds": list(job.seeds),
        "judges": [
            [s.need.name, s.choice.judge.spec, select_result_options(s.choice.judge.options)] if s.choice else None
            for s in job.needs
        ],
        "noise": job.noise,
    }


def _prompt_identity(p: Prompt) -> str:
    return digest_data(
        [p.id, p.scene_digest, list(p.images), list(p.texts), p.answer, p.cluster_id, dict(p.facets)]
    )


def make_folder_name(jobs: Sequence[Job], digest: str) -> str:
    """Return the name of the folder of a run that is not told where to go."""
    metrics = dict.fromkeys(job.metric.name for job in jobs)
    models = dict.fromkeys(m.label for job in jobs if not job.is_bound for m in job.models)
    return f"{make_slug('-'.join(metrics))}-{make_slug('-'.join(models))}-{digest[:8]}"
