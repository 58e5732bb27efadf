"""Runs: five passes over a plan, each with its own function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from ..api.budget import Spending
from ..api.executor import ComponentSettings
from ..api.progress import Progress, Silent
from ..io.prompt_file import write_prompts
from ..results.manifest import Manifest, parse_manifest
from ..results.run import Run
from ..storage.run_files import EVIDENCE, PROMPTS
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .code.keys import follow_changes
from .correction import correct_scores
from .earlier_runs import Key, add_notes, note_earlier_runs
from .executors import open_executor
from .generation import GeneratedImages, drop_damaged, generate
from .growth import Growth, grow
from .imagefolder import open_image_folders
from .lifecycle import Execution
from .manifest import keep_times, make_manifest
from .measurement import Measurements, measure
from .observation import Observations
from .observation_rounds import observe_in_rounds
from .outcomes import Outcomes, count_images
from .plan import Plan
from .preflight import check_references
from .query_index import Failures
from .run_journal import RunJournal
from .run_record import RunRecord
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
from .spending import read_spending, record_spending
from .stopped_scores import adjust_for_stop
from .stopping_rule import refuse_changed_rule
from .time_stamp import get_time


def run_plan(plan: Plan, progress: Progress | None = None) -> Run:
    """Carry out a plan. Every result is stored at once, so that a killed run can be resumed.

    Raises:
        T2IError: If a part is broken, missing or cannot be written.
    """
    request = plan.request
    with (
        RunFolder(plan.folder, plan.digest, request.shard) as folder,
        Store(fresh=request.fresh) as store,
        open_executor(plan.executor, request, store, progress or Silent()) as executor,
    ):
        is_new = request.shard is None and not folder.finished()
        journal = RunJournal(progress, folder if is_new else None)
        settings = ComponentSettings(request.device, request.batch_size, request.offline)
        how = Execution(settings, executor, plan.budget, journal)
        earlier = note_earlier_runs(plan) if request.shard is None else {}
        work = _RunState(plan, folder, store, journal, how, get_time(), read_spending(folder), earlier)
        if folder.repaired:
            journal.note(f"{folder.path}: run.json was damaged and is written again")
        refuse_changed_rule(plan.stopping, folder.path)
        begun = None
        if is_new:
            folder.remove_progress()
            stopping = plan.stopping and plan.stopping.make_record()
            begun = make_manifest(plan, store, work.started, spent=work.record_spending(), stopping=stopping)
        record = RunRecord(folder, begun)
        try:
            return _carry_out(work, record)
        except BaseException as error:
            journal.record()
            record.write_end(error, work.record_spending, has_spent=bool(plan.budget.spent))
            raise
        finally:
            if spent := plan.budget.describe():
                journal.note(spent)
            follow_changes(plan.jobs, plan.models)


@dataclass(frozen=True)
class _RunState:
    """State that the passes of one run share.

    Attributes:
        plan: What to do.
        folder: The run's folder.
        store: The cache.
        progress: Shows the progress to the user.
        how: How components run.
        started: When the run began.
        spent_before: What paid components spent in earlier commands on the run, or on this shard of it.
        earlier: Notes on results that smaller runs gave before.
    """

    plan: Plan
    folder: RunFolder
    store: Store
    progress: RunJournal
    how: Execution
    started: str
    spent_before: Mapping[str, Spending]
    earlier: Mapping[Key, str]

    def record_spending(self) -> dict[str, dict[str, float]]:
        """Record what each paid component has spent on the run so far; return it for the manifest."""
        return record_spending(self.folder, self.spent_before, self.how.budget.spending)


def _carry_out(work: _RunState, record: RunRecord) -> Run:
    plan, store, progress = work.plan, work.store, work.progress
    check_references(plan.jobs, store, progress)
    _note_damaged(drop_damaged(plan.images, store, progress), progress)
    growth = None
    if plan.stopping is not None:
        growth = grow(
            plan,
            plan.stopping,
            partial(_draw, work),
            store,
            lambda looks: record.write_looks(looks, work.record_spending()),
            progress,
        )
        plan = growth.plan
        work = replace(work, plan=plan)
    images, observations = _draw(
        work, plan, growth.images if growth else GeneratedImages(), growth.failures if growth else {}
    )
    if plan.request.shard is not None:
        return _summarize_shard(work, images, observations)
    measured = measure(plan.jobs, images, observations, store, progress)
    del observations  # the keys of all queries: 48 bytes for each
    # only records are checked: the files are looked at when they are linked into the folder
    checks = check_images(iterate_images(plan, store, images.failures, progress, "checking samples", look=False))
    scored = add_notes(score(plan, measured, checks), work.earlier)
    if plan.people is not None:
        scored = correct_scores(plan, scored, measured, store, images.failures, progress)
    if growth is not None:
        scored = adjust_for_stop(scored, growth)
    manifest = _write(work, images.failures, measured, checks, scored, growth)
    record.close()
    progress.close()
    run = Run(work.folder.path, manifest, manifest.failed, made=images.made)
    return replace(run, sink_failures=write_to_sinks(plan.sinks, run, work.how.settings, progress))


def _draw(
    work: _RunState, plan: Plan, before: GeneratedImages, failed: Failures
) -> tuple[GeneratedImages, Observations]:
    """Generate the images of a plan and observe them, except what failed at an earlier look of a growing run."""
    images = generate(plan.image_sets, work.store, work.how, work.progress, before)
    observations = observe_in_rounds(plan.jobs, images, work.store, work.how, work.progress, failed=failed)
    return _repair(work, plan, images, observations) if observations.damaged else (images, observations)


def _repair(
    work: _RunState, plan: Plan, images: GeneratedImages, observations: Observations
) -> tuple[GeneratedImages, Observations]:
    """Generate images again that judges found damaged, and observe them. Nothing that failed is tried again.

    Whether a kept image is whole is known only when it is opened, and a run opens few of them. So damage comes to
    light in the second pass, when other judges may have answered about the image; both passes then complete their
    work.
    """
    store, progress = work.store, work.progress
    for digest in observations.damaged:
        store.forget_image(digest)
    _note_damaged(len(observations.damaged), progress)
    images = generate(plan.image_sets, store, work.how, progress, images)
    return images, observe_in_rounds(plan.jobs, images, store, work.how, progress, observations)


def _note_damaged(count: int, progress: Progress) -> None:
    if count:
        progress.note(f"{count} kept images were damaged and are made again")


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
        make_manifest(plan, work.store, work.started, spent=work.record_spending()),
        failed=make_verdict((reasons.total() / max(tried, 1), done), plan.request.max_failed, reasons),
        partial=f"{done}: run the same command without --shard for the {wanted}{then}",
        made=images.made,
    )


def _write(
    work: _RunState,
    without_image: Failures,
    measured: Measurements,
    checks: ImageChecks,
    scored: Scored,
    growth: Growth | None,
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
    failed = (growth and growth.failed) or describe_failure(plan, outcomes)
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
        stopping=growth and growth.record,
        datasets=image_folders.describe(checks),
        files=folder.files(),
        spent=work.record_spending(),
    )
    if not progress.has_measured:
        manifest = keep_times(manifest, folder.path)
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
