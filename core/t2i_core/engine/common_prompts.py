"""Prompts of a run's metrics and models: where they differ, and which ones all have in common.

Prompts of two lists are the same if id, text and scene are the same, as in comparisons of models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..api.errors import BadPrompts
from ..api.prompt import Prompt
from .job import Job

_MOST = 5
"""Number of lists of prompts that a message describes."""

PromptIdentity = tuple[str, str]
"""Id of a prompt, and digest of text and scene."""


def identify_prompt(prompt: Prompt) -> PromptIdentity:
    """Return what makes a prompt the same in two lists."""
    return prompt.id, prompt.scene_digest


def describe_differences(jobs: Sequence[Job]) -> list[str]:
    """Return a note if some jobs measure other prompts than the rest; an empty list if all measure the same."""
    by_prompts = _group_by_prompts(jobs)
    if len(by_prompts) < 2:
        return []
    shared = len(frozenset.intersection(*by_prompts))
    common = f"{shared} in common, which --common-prompts measures alone" if shared else "none in common"
    return [f"different prompts are measured: {_describe_lists(jobs)}; {common}"]


def select_common(jobs: Sequence[Job], sources: Iterable[Sequence[Prompt]]) -> list[list[Prompt]]:
    """Return the prompts of each source that all jobs measure, in their own order.

    Raises:
        BadPrompts: If the jobs have no prompt in common.
    """
    common = frozenset.intersection(*_group_by_prompts(jobs))
    if not common:
        raise BadPrompts(
            f"--common-prompts: no prompt is in all of the lists: {_describe_lists(jobs)}; name one list with "
            "--prompts, or leave --common-prompts out"
        )
    return [[prompt for prompt in source if identify_prompt(prompt) in common] for source in sources]


def pick_same(prompts: Sequence[Prompt], wanted: tuple[Prompt, ...]) -> tuple[Prompt, ...]:
    """Return the same prompts as another list of them has: `wanted` itself if they do not differ at all."""
    by_identity = {identify_prompt(prompt): prompt for prompt in prompts}
    picked = tuple(by_identity[identify_prompt(prompt)] for prompt in wanted)
    return wanted if picked == wanted else picked


def _describe_lists(jobs: Sequence[Job]) -> str:
    """Return the number of prompts of each list, with its name and the metrics that measure it."""
    lists = [
        f"{len(prompts)} of {own[0].prompts_name} ({_name_jobs(own, jobs)})"
        for prompts, own in _group_by_prompts(jobs).items()
    ]
    more = [f"{len(lists) - _MOST} more"] if len(lists) > _MOST else []
    return ", ".join([*lists[:_MOST], *more])


def _group_by_prompts(jobs: Iterable[Job]) -> dict[frozenset[PromptIdentity], list[Job]]:
    """Return the jobs by the identities of their prompts."""
    identities: dict[int, frozenset[PromptIdentity]] = {}  # most jobs have the same tuple
    found: dict[frozenset[PromptIdentity], list[Job]] = {}
    for job in jobs:
        if id(job.prompts) not in identities:
            identities[id(job.prompts)] = frozenset(map(identify_prompt, job.prompts))
        found.setdefault(identities[id(job.prompts)], []).append(job)
    return found


def _name_jobs(own: Sequence[Job], jobs: Sequence[Job]) -> str:
    """Return the metrics of some jobs, with the models where a metric also measures other prompts."""
    all_jobs, own_jobs = (Counter(job.title for job in some) for some in (jobs, own))
    named = dict.fromkeys(
        job.title
        if own_jobs[job.title] == all_jobs[job.title]
        else f"{job.title} on {' | '.join(model.label for model in job.models)}"
        for job in own
    )
    return ", ".join(named)
