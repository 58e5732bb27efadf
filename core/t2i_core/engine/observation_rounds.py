"""The second pass of a run: all metrics' queries, and those of metrics that ask in rounds, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType

from ..api.errors import BadOption, NoJudge
from ..api.metric import AdaptiveMetric
from ..api.metric_input import Observed
from ..api.plugin_guard import guard_plugin
from ..api.progress import Progress, Silent
from ..storage.store import Store
from .generation import GeneratedImages
from .job import Job
from .lifecycle import Execution
from .observation import Observations, observe
from .query_index import Failures
from .request import Request
from .unit_reader import Lost, Reader


def observe_in_rounds(
    jobs: Sequence[Job],
    images: GeneratedImages,
    store: Store,
    how: Execution,
    progress: Progress,
    before: Observations | None = None,
    failed: Failures = MappingProxyType({}),
) -> Observations:
    """Ask the queries of all jobs as `observe` does; an adaptive metric names its next queries after each round.

    A repeated run goes through the same rounds: the answers that it kept choose the same queries. The arguments
    are those of `observe`; `failed` does not affect metrics that ask in rounds.
    """
    at_once = [job for job in jobs if find_adaptive(job) is None]
    found = observe(at_once, images, store, how, progress, before, failed)
    for job in jobs:
        if (metric := find_adaptive(job)) is not None:
            found |= _observe_rounds(job, metric, images, store, how, progress, before)
    return found


def _observe_rounds(
    job: Job,
    metric: AdaptiveMetric,
    images: GeneratedImages,
    store: Store,
    how: Execution,
    progress: Progress,
    before: Observations | None,
) -> Observations:
    """Ask one metric's queries; damaged images end the rounds, which begin again when they are repaired."""
    with guard_plugin(job.metric, "to begin its rounds"):
        metric.begin_rounds(job.prompts)
    found = Observations({}, {})
    while True:
        found |= observe([job], images, store, how, progress, before, found.failures)
        if found.damaged:
            return found
        with guard_plugin(job.metric, "to choose what it asks next"):
            more = metric.add_round(_read_answered(job, Reader(job, images, found, store, Silent())))
        if not more:
            return found


def _read_answered(job: Job, reader: Reader) -> Iterator[Observed]:
    for read in reader.read(job.items()):
        if not isinstance(read, Lost) and any(read[1].answers.values()):
            yield read[1]


def find_adaptive(job: Job) -> AdaptiveMetric | None:
    """Return the metric of a job if it asks in rounds."""
    metric = job.instance
    return metric if isinstance(metric, AdaptiveMetric) and metric.adaptive else None


def refuse_unfit_rounds(jobs: Sequence[Job], request: Request) -> None:
    """Refuse what a metric that asks in rounds cannot do, before anything runs.

    Raises:
        BadOption: If the run is a part of another, several judges are asked, a metric of single models has
            several, or intervals hold for these prompts only.
        NoJudge: If the answers are people's, who were asked before.
    """
    for job in jobs:
        if find_adaptive(job) is None:
            continue
        who = f"metric {job.metric.spec!r} chooses what it asks next by earlier answers"
        if any(served.by_people for served in job.needs):
            judge = next(served.who for served in job.needs if served.by_people)
            raise NoJudge(
                f"{who}, but {judge} only has answers to what people were asked before; leave out the metric's "
                "options for that, or name another --judge"
            )
        if job.by is not None:
            raise BadOption(f"{who}, so several judges would be asked different things; name one --judge a run")
        if not job.pairs and sum(other.instance is job.instance for other in jobs) > 1:
            raise BadOption(
                f"{who}, and the answers about several models would choose for each other; evaluate one --model a "
                "run (metrics that compare models can have several)"
            )
        if request.interval == "seeds":
            raise BadOption(f"{who}, so intervals for the same prompts do not hold; leave out --interval seeds")
        if request.shard is not None:
            raise BadOption(
                f"{who}, so it needs the answers of all parts; leave out --shard (t2i generate can make the "
                "images in parts)"
            )
