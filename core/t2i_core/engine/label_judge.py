"""The judge that gives people's labels, by which a run corrects its scores (`--correct`)."""

from __future__ import annotations

from collections.abc import Sequence

from ..api.errors import NoJudge
from ..api.plugin_info import JudgeInfo
from ..results.asked_people import list_asked_needs
from .component import Component
from .component_finder import ComponentFinder
from .job import Job


def find_label_judge(finder: ComponentFinder, jobs: Sequence[Job]) -> Component[JudgeInfo] | None:
    """Return the judge that gives people's labels, and note the metrics that they cannot correct.

    Args:
        finder: Finds the judge.
        jobs: A job of each metric.

    Raises:
        NoJudge: If people can be asked about none of the metrics.
    """
    if finder.request.correct is None:
        return None
    people: Component[JudgeInfo] = finder.find("judge", finder.request.correct)
    finder.check(people)
    refused = {}
    for job in jobs:
        try:
            list_asked_needs(job.metric.spec, job.instance, people.info.capabilities)
        except NoJudge as error:
            refused[job.metric.spec] = error
    if refused and len(refused) == len({job.metric.spec for job in jobs}):
        raise next(iter(refused.values()))
    finder.notes += [f"not corrected: {error}" for error in refused.values()]
    return people
