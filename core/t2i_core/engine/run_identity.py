"""Identity of a run: the data of its digest, and its folder's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.digest import digest_data
from ..api.options import select_result_options
from ..api.prompt import Prompt
from ..files.slug import make_slug
from .job import Job, SampleSet, Served


def identify_job(job: Job) -> Any:
    """Return what distinguishes a job from others: everything that is asked, not the code that answers."""
    return {
        "metric": [
            job.metric.info.name,
            select_result_options(job.metric.options),
            *([] if job.metric.argument is None else [job.metric.argument]),
        ],
        **identify_samples(job),
        "judges": [
            [s.need.name, s.choice.judge.spec, select_result_options(s.choice.judge.options)]
            + [way for way in [name_way(job, s)] if way is not None]
            if s.choice
            else None
            for s in job.needs
        ],
    }


def name_way(job: Job, served: Served) -> str | None:
    """Return the capability of an alternative that is served in place of a need; None if the need itself is."""
    return None if served.need in job.instance.needs else served.need.capability


def identify_samples(samples: SampleSet) -> dict[str, Any]:
    """Return what distinguishes samples from others."""
    return {
        "models": [
            # the perturbation only if there is one, so that all other runs keep their identity
            [m.label, m.component.info.name, m.component.argument, select_result_options(m.component.options)]
            + (
                [[m.perturbation.info.name, select_result_options(m.perturbation.options)]]
                if m.perturbation
                else []
            )
            for m in samples.models
        ],
        "prompts": [_identify_prompt(p) for p in samples.prompts],
        "seeds": list(samples.seeds),
        "noise": samples.noise,
    }


def _identify_prompt(p: Prompt) -> str:
    fields: list[Any] = [
        p.id,
        p.scene_digest,
        list(p.images),
        list(p.texts),
        p.answer,
        p.cluster_id,
        dict(p.facets),
    ]
    # only if there are any, so that all other runs keep their identity
    if p.references or p.questions:
        fields.append(list(p.references))
    if p.questions:
        fields.append([question.to_json() for question in p.questions])
    return digest_data(fields)


def make_folder_name(jobs: Sequence[Job], images: Sequence[SampleSet], digest: str) -> str:
    """Return the name of the folder of a run for which the user named none.

    It differs if a model that is defined in a program changes, so that the run before keeps its files.
    """
    metrics = dict.fromkeys(job.metric.name for job in jobs) or ["images"]
    shown = [*(job for job in jobs if not job.is_bound), *images]
    models = dict.fromkeys(model.label for each in shown for model in each.models)
    if own := [model.component.own_code for each in shown for model in each.models if model.component.own_code]:
        digest = digest_data([digest, own])
    return f"{make_slug('-'.join(metrics))}-{make_slug('-'.join(models))}-{digest[:8]}"
