"""The rule by which a run stops early, and its looks: parts of the plan that grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ..api.errors import BadFolder, BadOption
from ..api.metric import AdaptiveMetric, Metric, TableMetric
from ..results.looks import PlannedLook, StoppingRecord
from ..storage.manifest_file import read_manifest
from .common_prompts import identify_prompt
from .job import Job
from .prompt_selection import order_prompts
from .request import Request
from .sample import SampleGrid

if TYPE_CHECKING:
    from ..statistics.looks import Look


@dataclass(frozen=True)
class StoppingRule:
    """When a run stops.

    Attributes:
        until: The goal, as the user wrote it.
        width: The width with `width=W`; None for other goals.
        margin: The smallest difference that matters; None with `width=W`.
        max_images: The most images of all models, as the user named it.
        looks: The planned looks of each model.
        is_limited: True if `max_images` leaves out some of the request's samples.
        spending: How the tests of the looks spend their error; None with `width=W`, which tests nothing.
    """

    until: str
    width: float | None
    margin: float | None
    max_images: int | None
    looks: tuple[Look, ...]
    is_limited: bool = False
    spending: str | None = None

    def make_record(self) -> StoppingRecord:
        """Return the rule as run.json holds it before the first image."""
        return StoppingRecord(
            until=self.until,
            margin=self.margin,
            max_images=self.max_images,
            plan=[PlannedLook(prompts=look.prompts, seeds=look.seeds) for look in self.looks],
            spending=self.spending,
        )


def make_stopping_rule(request: Request, jobs: Sequence[Job]) -> tuple[StoppingRule | None, list[Job]]:
    """Return the rule of a request, and its jobs up to the planned end, with prompts in the order of drawing.

    Args:
        request: The request.
        jobs: All jobs, those of upper bounds among them.

    Returns:
        The rule, None without `--until`; and the jobs.

    Raises:
        BadOption: If the request cannot be stopped early.
    """
    if request.until is None:
        for name in ("margin", "max_images"):
            if getattr(request, name) is not None:
                raise BadOption(f"--{name.replace('_', '-')} needs --until (verdict, best or width=W)")
        return None, list(jobs)
    # here, because they import pandas, which other plans do not need
    from ..statistics.looks import FIRST_SEEDS, plan_looks
    from ..statistics.needed_design import MARGIN
    from ..statistics.pair_test import SPENDING
    from ..statistics.sample_size import FEWEST_PROMPTS

    drawn = [job for job in jobs if not job.is_bound]
    _refuse_unfit(request, drawn)
    width = request.until.partition("=")[2]
    if width and request.margin is not None:
        raise BadOption("--margin belongs to --until verdict or best; leave it out, or name another goal")
    headline = drawn[0].measures[0]
    if not width and request.margin is None and None in (headline.low, headline.high):
        raise BadOption(
            f"--until {request.until} needs --margin: {headline.name} has no range, so t2i does not know which "
            "differences matter"
        )
    prompts = order_prompts(drawn[0].prompts)
    if len(prompts) < FEWEST_PROMPTS:
        raise BadOption(f"--until needs at least {FEWEST_PROMPTS} prompts (got {len(prompts)})")
    seeds = len(drawn[0].seeds)
    per_model = None if request.max_images is None else request.max_images // len(jobs)
    least = FEWEST_PROMPTS * min(seeds, FIRST_SEEDS)
    if per_model is not None and per_model < least:
        raise BadOption(
            f"--max-images {request.max_images}: the first look needs {least * len(jobs)} images "
            f"({FEWEST_PROMPTS} prompts x {min(seeds, FIRST_SEEDS)} seeds x {len(jobs)} models); raise it"
            f"{', or lower --seeds' if seeds > 1 else ''}"
        )
    looks = plan_looks(len(prompts), seeds, most_images=per_model)
    margin = None if width else request.margin or MARGIN
    at_end = looks[-1]
    rule = StoppingRule(
        request.until,
        float(width) if width else None,
        margin,
        request.max_images,
        looks,
        is_limited=at_end.images < len(prompts) * seeds,
        spending=None if width else SPENDING,
    )
    ordered = {id(drawn[0].prompts): prompts}
    for job in jobs:  # jobs on the same list get the same object back
        ordered.setdefault(id(job.prompts), order_prompts(job.prompts))
    return rule, [restrict_job(job, at_end, ordered[id(job.prompts)]) for job in jobs]


def restrict_job(job: Job, look: Look, prompts: Sequence[object] | None = None) -> Job:
    """Return a job on the samples of one look: its first prompts and seeds.

    Args:
        job: The job.
        look: The look.
        prompts: The job's prompts in another order.
    """
    kept = tuple(job.prompts if prompts is None else prompts)[: look.prompts]
    grids = (
        SampleGrid(grid.model, kept, grid.seeds[: look.seeds], grid.noise, texts=grid.texts)  # type: ignore[arg-type]
        for grid in job.grids
    )
    return replace(job, grids=tuple(grids))


def restrict_jobs(jobs: Sequence[Job], looks: Mapping[str, Look]) -> tuple[Job, ...]:
    """Return the jobs on the samples that were drawn of each model; an upper bound on the most of them."""
    most = max(looks.values(), key=lambda look: look.images)
    return tuple(restrict_job(job, looks.get(job.models[0].label, most)) for job in jobs)


def refuse_changed_rule(rule: StoppingRule | None, folder: Path) -> None:
    """Refuse to go on with a run under another rule than its looks were planned by.

    Raises:
        BadFolder: If the folder's run has another rule.
    """
    if rule is None:
        return
    known = (read_manifest(folder) or {}).get("stopping")
    if known is None:
        return
    try:
        before = StoppingRecord.model_validate(known)
    except ValidationError as error:
        raise BadFolder(
            f"{folder}: 'stopping' in run.json is not valid; name another folder with --out"
        ) from error
    wanted = rule.make_record()
    ours, theirs = _describe_rule(wanted), _describe_rule(before)
    if ours == theirs and wanted.plan != before.plan:
        ours, theirs = (
            f"looks of {', '.join(f'{look.prompts} x {look.seeds}' for look in record.plan)} (prompts x seeds)"
            for record in (wanted, before)
        )
    if ours == theirs and wanted.spending != before.spending:
        ours, theirs = (
            f"boundaries by {record.spending or 'obf'!r} spending of the error" for record in (wanted, before)
        )
    if ours != theirs:
        raise BadFolder(
            f"{folder}: this run was planned with {theirs}, and a change after the first look would make "
            f"them wrong (got {ours}); give the same options, or name another folder with --out"
        )


def _describe_rule(record: StoppingRecord) -> str:
    words = [f"--until {record.until}"]
    words += [] if record.margin is None else [f"--margin {record.margin!r}"]
    words += [] if record.max_images is None else [f"--max-images {record.max_images}"]
    return " ".join(words)


def _refuse_unfit(request: Request, jobs: Sequence[Job]) -> None:
    """Refuse a request whose looks would not be comparisons of means over prompts and seeds."""
    if not jobs:
        raise BadOption("--until needs --metric: it stops by the scores of one")
    titles = list(dict.fromkeys(job.title for job in jobs))
    if len(titles) > 1:
        raise BadOption(
            f"--until decides by one metric and one judge (got {', '.join(titles)}); run the others afterwards: "
            "images are kept"
        )
    for name, is_given in {
        "--shard": request.shard is not None,
        "--correct": request.correct is not None,
        f"--interval {request.interval}": request.interval != "new",
    }.items():
        if is_given:
            raise BadOption(f"--until cannot be combined with {name}; leave one out")
    first = jobs[0]
    if request.until == "best" and first.measures[0].higher_is_better is None:
        raise BadOption(
            f"--until best: neither a higher nor a lower {first.measures[0].name} is better; use --until verdict"
        )
    if first.unit_kind is not Metric:
        raise BadOption(
            f"--until needs a score that is a mean over images, and metric {first.metric.spec!r} measures "
            f"{_UNITS.get(first.unit_kind.__name__, 'sets of images')} together; leave --until out, and find the "
            "number of images with t2i power"
        )
    if isinstance(first.instance, TableMetric) and first.instance.computes_headline:
        raise BadOption(describe_aggregate(first))
    if isinstance(first.instance, AdaptiveMetric) and first.instance.adaptive:
        raise BadOption(f"metric {first.metric.spec!r} chooses what it asks by itself; leave --until out")
    if request.until in ("verdict", "best") and len(jobs) < 2:
        raise BadOption(f"--until {request.until} compares models; name several, or use --until width=W")
    for job in jobs[1:]:
        if list(map(identify_prompt, job.prompts)) != list(map(identify_prompt, first.prompts)):
            raise BadOption(
                f"--until needs the same prompts for all models, and those of {job.models[0].label} differ; add "
                "--common-prompts, or name one list with --prompts"
            )
        if job.seeds != first.seeds:
            raise BadOption("--until needs the same seeds for all models; name them with --seeds")
    if len({prompt.cluster_id for prompt in first.prompts}) < len(first.prompts):
        raise BadOption(
            "--until draws prompts one by one, and several of these are of one cluster, whose images are not "
            "independent; leave --until out, and find the number of images with t2i power"
        )


def describe_aggregate(job: Job) -> str:
    """Return why a run cannot stop by a headline that its metric computes from all rows."""
    return (
        f"--until needs a score that is a mean over images, and metric {job.metric.spec!r} computes "
        f"{job.measures[0].name!r} from all of them together; leave --until out, and choose the number of images "
        "with --limit and --seeds"
    )


_UNITS = {
    "PromptMetric": "a prompt's images",
    "StackedMetric": "a prompt's images",
    "SetMetric": "a model's images",
    "PairMetric": "pairs of models",
}
"""The unit of each kind of metric, in words."""
