"""Carrying out a plan: generate, observe, measure, score, write."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from ..api.errors import BadFolder, T2IError
from ..api.progress import Progress, Silent
from ..results.run import Made, Run
from ..statistics import holm
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .code.keys import follow_changes
from .dataset_export import check_kept, data_sets
from .generation import generate
from .image_checks import Doubts
from .job import IMAGES, Job
from .ledger import Ledger
from .lifecycle import Execution
from .manifest import get_time, make_manifest
from .measurement import measure, reading_alike
from .measurement_table import TableBuilder
from .observation import observe
from .plan import Plan
from .preflight import check_references
from .result import comparison, result, set_beside
from .sample import Model
from .sample_counts import Counts, Lost, Measured
from .sample_list import LOST_COLUMNS, SAMPLE_COLUMNS, listed, lost_row, places_of, sample_row
from .score import compare, compare_pairs, incomparable, remarks, score


def run_plan(plan: Plan, progress: Progress | None = None) -> Run:
    """Carry out a plan; whatever is made is kept as soon as it is there, so that a killed run goes on.

    Raises a T2IError where a part is broken, missing or cannot be written.
    """
    progress = progress or Silent()
    request = plan.request
    how = Execution(request.device, request.batch_size, request.offline)
    ledger = Ledger()
    with (
        RunFolder(plan.folder, plan.digest, request.shard) as folder,
        Store(fresh=request.fresh) as store,
    ):
        started = get_time()
        if folder.repaired:
            progress.note(f"{folder.path}: run.json was damaged and is written anew")
        begun = request.shard is None and not folder.finished()
        said = {"started": started, **make_manifest(plan, store)} if begun else {}
        if begun:
            folder.write_manifest({"status": "running", **said})
        try:
            check_references(plan.jobs, store, progress)
            made = generate(plan.jobs, store, ledger, how, progress)
            observe(plan.jobs, store, ledger, how, progress)
            check_kept(plan.unmeasured, store, ledger, progress)
            if ledger.healed:
                progress.note(f"{len(ledger.healed)} kept images were damaged and are made again")
                made += generate(plan.jobs, store, ledger, how, progress)
                observe(plan.jobs, store, ledger, how, progress)
            if request.shard is not None:
                return _partial(plan, folder, ledger, made)
            return _score(plan, folder, store, ledger, progress, started, made)
        except T2IError as error:
            if begun:
                _write_failed(folder, said, error)
            raise
        finally:
            follow_changes(plan.jobs)


def _write_failed(folder: RunFolder, said: Mapping[str, Any], error: T2IError) -> None:
    """Have run.json say which error ended the run, if it can still be written: the error itself comes first."""
    try:
        folder.write_manifest({"status": "failed", "failed": str(error), "finished": get_time(), **said})
    except BadFolder as another:
        error.add_note(str(another))


def _partial(plan: Plan, folder: RunFolder, ledger: Ledger, made: Made) -> Run:
    part, parts = plan.request.shard or (1, 1)
    failed = sum(not f.missing for f in (*ledger.images.values(), *ledger.observations.values()))
    tried = sum(1 for job in plan.jobs for _ in job.items())
    done = f"part {part} of {parts} is done ({failed} failed)"
    wanted = "data set" if plan.unmeasured else "scores"
    message = f"{done}: run the same command without --shard for the {wanted}"
    worst = (failed / max(tried, 1), done)
    return Run(
        folder.path,
        {"run": str(folder.path), "results": [], "comparisons": []},
        failed=_verdict(
            worst,
            plan.request.max_failed,
            Counter(f.reason for f in (*ledger.images.values(), *ledger.observations.values()) if not f.missing),
        ),
        partial=message,
        made=made,
    )


def _score(
    plan: Plan,
    folder: RunFolder,
    store: Store,
    ledger: Ledger,
    progress: Progress,
    started: str,
    made: Made,
) -> Run:
    interval = plan.request.interval
    by_metric: dict[str, list[Job]] = defaultdict(list)
    for job in plan.jobs:
        by_metric[job.metric.spec].append(job)
    results: list[dict[str, Any]] = []
    scored: list[tuple[Job, Model]] = []
    comparisons: list[dict[str, Any]] = []
    tables: dict[str, pd.DataFrame] = {}
    lost: list[tuple[str, Lost]] = []
    worst = (0.0, "")
    rows = {name: TableBuilder() for name in by_metric}
    of_job: dict[int, Measured] = {}
    for alike in reading_alike(plan.jobs):
        shown = Silent() if alike[0].metric.info is IMAGES else progress
        each = measure(alike, store, ledger, [rows[job.metric.spec] for job in alike], shown)
        of_job.update(zip(map(id, alike), each, strict=True))
    for name, jobs in by_metric.items():
        measured = [of_job[id(job)] for job in jobs]
        lost += [(name, each) for m in measured for each in m.lost]
        for job, m in zip(jobs, measured, strict=True):
            worst = max(worst, *(_failed_share(job, label, c) for label, c in m.counts.items()))
        if jobs[0].metric.info is IMAGES:
            continue
        tables[name] = table = rows.pop(name).build()
        for job, m in zip(jobs, measured, strict=True):
            own = table if job.pairs or table.empty else table[table["model"] == job.models[0].label]
            m.remark(job.models, remarks(job, own))
            scores = score(job, own, interval)
            scored += [(job, model) for model in job.models]
            results += [result(job, model, scores[model.label], m) for model in job.models]
        set_beside(jobs, results)
        comparisons += _comparisons(jobs, table, plan, progress)
    places = places_of(model.label for job in plan.jobs for model in job.models)
    alone = [model for job in plan.unmeasured for model in job.models]
    doubts = Doubts()
    with data_sets(alone, folder, places, store, progress) as sets:
        images = doubts.passing(listed(plan.jobs, folder, places, store, ledger, progress))
        folder.write_rows("samples.csv", SAMPLE_COLUMNS, map(sample_row, sets.passing(images)))
    for note in doubts.notes():
        progress.note(note)
    for (job, model), found in zip(scored, results, strict=True):
        found["n_truncated"] = truncated = doubts.truncated(job, model)
        found["notes"] += [*_said_of_truncated(model, truncated), *doubts.converted(model)]
    asked = {model.label: (job, model) for job in plan.unmeasured for model in job.models}
    for _, model in asked.values():
        for note in doubts.converted(model):
            progress.note(note)
    for written in sets.written:
        job, model = asked[written["model"]]
        written["n_truncated"] = truncated = doubts.truncated(job, model)
        for note in _said_of_truncated(model, truncated):
            progress.note(note)
    folder.write_rows("failures.csv", LOST_COLUMNS, (lost_row(name, each) for name, each in lost))
    if tables:
        folder.write_tables("measurements.csv", tables)
    reasons = Counter(each.reason for _, each in lost if each.kind == "failed")
    failed = _verdict(worst, plan.request.max_failed, reasons)
    finished = {
        "status": "failed" if failed else "done",
        "failed": failed,
        "started": started,
        "finished": get_time(),
        **make_manifest(plan, store),
        "results": results,
        "comparisons": comparisons,
        "datasets": sets.written,
        "files": folder.files(),
    }
    written = folder.write_manifest(finished)
    return Run(
        folder.path,
        {"run": str(folder.path), "results": written["results"], "comparisons": written["comparisons"]},
        written,
        failed,
        made=made,
    )


def _said_of_truncated(model: Model, count: int) -> list[str]:
    if not count:
        return []
    return [
        f"{model.label}: {count} samples were drawn from a part of their prompt, which is longer than the model "
        "reads (tokens_lost in samples.csv)"
    ]


def _comparisons(jobs: list[Job], table: pd.DataFrame, plan: Plan, progress: Progress) -> list[dict[str, Any]]:
    """Compare each two models of a metric, p-values adjusted together by Holm's method."""
    found = []
    theirs = [(job, model) for job in jobs if not job.is_bound for model in job.models]
    in_pairs = compare_pairs(jobs[0], table, plan.request.interval) if jobs[0].pairs else {}
    for a, b in combinations(theirs, 2):
        (job_a, model_a), (job_b, model_b) = a, b
        compared = None
        why = incomparable(job_a, job_b)
        if job_a.pairs:
            compared, why = in_pairs.get((model_a.label, model_b.label)), "one has no score"
        elif why is None:
            compared = compare(job_a, job_b, model_a.label, model_b.label, table, plan.request.interval)
            why = "they share no prompts under the same seeds"
        if compared is None:
            progress.note(f"{job_a.metric.spec}: {model_a.label} and {model_b.label} are not compared: {why}")
        else:
            found.append(comparison(job_a.metric.spec, model_a.label, model_b.label, compared))
    tested = [c for c in found if c["p"] is not None]
    if tested:
        for c, p in zip(tested, holm([c["p"] for c in tested]), strict=True):
            c["p"] = float(p)
    return found


def _failed_share(job: Job, label: str, counts: Counts) -> tuple[float, str]:
    """The share of a model's samples that failed, and in words; what never existed is missing, not failed."""
    who = f"{job.metric.spec} on {label}"
    tried = counts.ok + counts.failed
    if counts.ok == 0 and counts.excluded == 0:
        return 1.0, f"{who}: no sample has a value ({counts.failed} failed, {counts.missing} missing)"
    share = counts.failed / max(tried, 1)
    return share, f"{who}: {counts.failed} of {tried} samples failed ({share:.1%})"


def _verdict(worst: tuple[float, str], allowed: float, reasons: Counter[str]) -> str | None:
    """Say that a run has failed, and what for most often."""
    if worst[0] <= allowed:
        return None
    more = "" if worst[1].endswith("missing)") else f", more than the {allowed:.1%} allowed"
    most = "; ".join(f"{count} x {reason[:200]}" for reason, count in reasons.most_common(2))
    return f"{worst[1]}{more}; failures.csv says why{f': {most}' if most else ''}"
