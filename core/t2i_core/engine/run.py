"""Runs: five passes over a plan, each with its own function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..api.errors import BadFolder, T2IError
from ..api.progress import Progress, Silent
from ..io.prompt_file import write_prompts
from ..results.manifest import Manifest, parse_manifest
from ..results.run import Run
from ..storage.run_files import EVIDENCE, PROMPTS
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .code.keys import follow_changes
from .correction import correct_scores
from .generation import GeneratedImages, drop_damaged, generate
from .imagefolder import open_image_folders
from .lifecycle import Execution
from .manifest import get_time, make_manifest
from .measurement import Measurements, measure
from .observation import Observations, observe
from .outcomes import Outcomes, count_images
from .plan import Plan
from .preflight import check_references
from .query_index import Failures
from .sample_images import ImageChecks, check_images, iterate_images
from .sample_list import (
    LOST_COLUMNS,
    SAMPLE_COLUMNS,
    link_image,
    make_lost_row,
    make_sample_row,
    name_model_folders,
)
from .score import Scored, describe_failure, describe_truncated, make_verdict, score
from .sinks import write_to_sinks


def run_plan(plan: Plan, progress: Progress | None = None) -> Run:
    """Carry out a plan. Every result is stored at once, so that a killed run can be resumed.

    Raises:
        T2IError: If a part is broken, missing or cannot be written.
    """
    progress = progress or Silent()
    request = plan.request
    with (
        RunFolder(plan.folder, plan.digest, request.shard) as folder,
        Store(fresh=request.fresh) as store,
    ):
        work = _RunState(plan, folder, store, progress, get_time())
        if folder.repaired:
            progress.note(f"{folder.path}: run.json was damaged and is written again")
        begun = None
        if request.shard is None and not folder.finished():
            begun = make_manifest(plan, store, work.started)
            folder.write_manifest(begun.to_json())
        try:
            return _carry_out(work)
        except T2IError as error:
            if begun is not None:
                _record_error(folder, begun, error)
            raise
        finally:
            follow_changes(plan.jobs, plan.models)


@dataclass(frozen=True)
class _RunState:
    """State that the passes of one run share.

    Attributes:
        plan: What to do.
        folder: The run's folder.
        store: The cache.
        progress: Shows the progress to the user.
        started: When the run began.
    """

    plan: Plan
    folder: RunFolder
    store: Store
    progress: Progress
    started: str


def _carry_out(work: _RunState) -> Run:
    plan, store, progress = work.plan, work.store, work.progress
    check_references(plan.jobs, store, progress)
    _note_damaged(drop_damaged(plan.images, store, progress), progress)
    images = generate(plan.image_sets, store, _execute(plan), progress)
    observations = observe(plan.jobs, images, store, _execute(plan), progress)
    if observations.damaged:
        images, observations = _repair(work, images, observations)
    if plan.request.shard is not None:
        return _summarize_shard(work, images, observations)
    measured = measure(plan.jobs, images, observations, store, progress)
    # only records are checked: the files are looked at when they are linked into the folder
    checks = check_images(iterate_images(plan, store, images.failures, progress, "checking samples", look=False))
    scored = score(plan, measured, checks)
    if plan.people is not None:
        scored = correct_scores(plan, scored, measured, store, images.failures, progress)
    manifest = _write(work, images.failures, measured, checks, scored)
    run = Run(work.folder.path, manifest, manifest.failed, made=images.made)
    return replace(run, sink_failures=write_to_sinks(plan.sinks, run, _execute(plan), progress))


def _repair(
    work: _RunState, images: GeneratedImages, observations: Observations
) -> tuple[GeneratedImages, Observations]:
    """Generate images again that judges found damaged, and observe them. Nothing that failed is tried again.

    Whether a kept image is whole is known only when it is opened, and a run opens few of them. So damage comes to
    light in the second pass, when other judges may have answered about the image; both passes then complete their
    work.
    """
    plan, store, progress = work.plan, work.store, work.progress
    for digest in observations.damaged:
        store.forget_image(digest)
    _note_damaged(len(observations.damaged), progress)
    images = generate(plan.image_sets, store, _execute(plan), progress, images)
    return images, observe(plan.jobs, images, store, _execute(plan), progress, observations)


def _note_damaged(count: int, progress: Progress) -> None:
    if count:
        progress.note(f"{count} kept images were damaged and are made again")


def _execute(plan: Plan) -> Execution:
    return Execution(plan.request.device, plan.request.batch_size, plan.request.offline)


def _summarize_shard(work: _RunState, images: GeneratedImages, observations: Observations) -> Run:
    plan = work.plan
    part, parts = plan.request.shard or (1, 1)
    failures = (*images.failures.values(), *observations.failures.values())
    reasons = Counter(failure.reason for failure in failures if not failure.missing)
    tried = sum(1 for job in plan.jobs for _ in job.items()) + sum(1 for s in plan.images for _ in s.samples())
    done = f"part {part} of {parts} is done ({reasons.total()} failed)"
    wanted = "scores" if plan.jobs else "data set"
    then = ", which also writes to the sinks" if plan.sinks else ""
    return Run(
        work.folder.path,
        make_manifest(plan, work.store, work.started),
        failed=make_verdict((reasons.total() / max(tried, 1), done), plan.request.max_failed, reasons),
        partial=f"{done}: run the same command without --shard for the {wanted}{then}",
        made=images.made,
    )


def _write(
    work: _RunState, without_image: Failures, measured: Measurements, checks: ImageChecks, scored: Scored
) -> Manifest:
    """Write the run's folder: tables, links to the images, data sets, and finally run.json."""
    plan, folder, store, progress = work.plan, work.folder, work.store, work.progress
    places = name_model_folders(model.label for model in plan.models)
    with (
        open_image_folders(plan.images, folder, places) as image_folders,
        folder.open_rows("samples.csv", SAMPLE_COLUMNS) as write_row,
    ):
        for image in iterate_images(plan, store, without_image, progress, "writing samples"):
            linked = link_image(image, folder, places, store)
            image_folders.add(linked)
            write_row(make_sample_row(linked))
    folder.write_json_lines(PROMPTS, write_prompts(p for each in plan.sample_sets for p in each.prompts))
    outcomes = measured.outcomes or _count_images(plan, without_image)
    metrics = [job.title for job in plan.jobs] or [""] * len(outcomes)
    lost = [(metric, each) for metric, own in zip(metrics, outcomes, strict=True) for each in own.lost]
    folder.write_rows("failures.csv", LOST_COLUMNS, (make_lost_row(metric, each) for metric, each in lost))
    if measured.tables:
        folder.write_tables("measurements.csv", measured.tables)
    folder.write_json_lines(EVIDENCE, [row.model_dump() for row in measured.evidence])
    for note in [*scored.notes, *checks.notes(), *_note_images(plan, checks)]:
        progress.note(note)
    failed = describe_failure(plan, outcomes)
    manifest = make_manifest(
        plan,
        store,
        work.started,
        status="failed" if failed else "done",
        failed=failed,
        finished=get_time(),
        results=scored.results,
        comparisons=scored.comparisons,
        agreements=scored.agreements,
        datasets=image_folders.describe(checks),
        files=folder.files(),
    )
    return parse_manifest(folder.write_manifest(manifest.to_json()))


def _count_images(plan: Plan, without_image: Failures) -> list[Outcomes]:
    return [count_images(grid, without_image) for each in plan.images for grid in each.grids]


def _note_images(plan: Plan, checks: ImageChecks) -> list[str]:
    """Return notes on images that are not measured; for those that are, the results have the notes."""
    each_model = [(each, model) for each in plan.images for model in each.models]
    notes = [note for _, model in each_model for note in checks.describe_decoding(model)]
    for each, model in each_model:
        notes += describe_truncated(model, checks.count_truncated(each, model))
    return notes


def _record_error(folder: RunFolder, begun: Manifest, error: T2IError) -> None:
    """Record in run.json which error ended the run. If that fails, the failure becomes a note on the error."""
    ended = begun.model_copy(update={"status": "failed", "failed": str(error), "finished": get_time()})
    try:
        folder.write_manifest(ended.to_json())
    except BadFolder as another:
        error.add_note(str(another))
