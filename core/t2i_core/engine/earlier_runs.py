"""Earlier, smaller runs of the same evaluation, whose results were known before a run was made larger.

A run that is enlarged until its result pleases finds differences that do not exist. So a run says beside its
results if the same metric, model and judges were evaluated before, on fewer of the same prompts or seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..api.errors import BadFolder
from ..results.manifest import Manifest, parse_manifest
from ..results.result import Result
from ..results.run import Run, make_relative
from ..storage.manifest_file import MANIFEST, read_manifest
from ..storage.run_files import PROMPTS
from .job import Job
from .plan import Plan
from .sample import Model
from .score import Scored

_BEGINNING = "enlarged after a result was known: "
_WHY = "Intervals and p-values hold for a size that was fixed beforehand; --until plans its looks"
_WHY_LOOKS = "Intervals and p-values hold for looks that were planned before the first result"

Key = tuple[str, str | None, str]
"""A result: the metric's name, its judges if there are several, and the model's label."""


def note_earlier_runs(plan: Plan) -> dict[Key, str]:
    """Return a note for each result of a plan that a smaller run beside it gave before.

    The runs beside it are those in the same folder. A run that is repeated keeps the notes of its first results,
    so that smaller runs that came later do not count. Looks of one run are planned, so that it is compared with
    the planned end of another one with `--until`.
    """
    own = _read(plan.folder)
    if own is not None and own.results:
        return {
            (result.metric, result.by, result.label): note
            for result in own.results
            for note in result.notes
            if note.startswith(_BEGINNING)
        }
    metrics = {job.metric.spec for job in plan.jobs}
    beside = [
        (folder, manifest)
        for folder in sorted(plan.folder.parent.glob(f"*/{MANIFEST}"))
        if folder.parent != plan.folder and (manifest := _read(folder.parent, metrics)) is not None
    ]
    notes = {}
    for job in plan.jobs:
        for model in job.models:
            earlier = [
                (*size, make_relative(path.parent))
                for path, manifest in beside
                for size in _find_smaller(Run(path.parent, manifest), job, model, plan.stopping is not None)
            ]
            if earlier:
                prompts, seeds, folder = max(earlier, key=lambda each: (each[0] * each[1], str(each[2])))
                notes[job.metric.spec, job.by, model.label] = (
                    f"{_BEGINNING}{folder} has {prompts} prompts x {seeds} seeds, now {len(job.prompts)} x "
                    f"{len(job.seeds)}. {_WHY_LOOKS if plan.stopping else _WHY}"
                )
    return notes


def add_notes(scored: Scored, notes: Mapping[Key, str]) -> Scored:
    """Return scores with a note beside each result that has one."""
    results = [
        each.model_copy(update={"notes": [*each.notes, note]})
        if (note := notes.get((each.metric, each.by, each.label))) is not None
        else each
        for each in scored.results
    ]
    return replace(scored, results=results)


def _read(folder: Path, metrics: set[str] | None = None) -> Manifest | None:
    """Return the manifest of a finished run; None without one, or if it measures none of these metrics."""
    try:
        data = read_manifest(folder)
        if data is None or data.get("status") != "done":
            return None
        if metrics is not None and metrics.isdisjoint(_list_metrics(data)):
            return None
        return parse_manifest(data)
    except (BadFolder, ValueError):  # a damaged run.json tells nothing; `t2i runs` names it
        return None


def _list_metrics(data: Mapping[str, Any]) -> list[str]:
    request = data.get("request")
    metrics = request.get("metrics") if isinstance(request, dict) else None
    return [each for each in metrics if isinstance(each, str)] if isinstance(metrics, list) else []


def _find_smaller(run: Run, job: Job, model: Model, is_growing: bool) -> Iterator[tuple[int, int]]:
    """Yield the prompts and seeds of an earlier run's results for the same metric, model and judges.

    Args:
        run: The earlier run.
        job: The metric's job now.
        model: The model.
        is_growing: True if the run stops early. Then the planned end of an earlier one counts, if it has one.

    Yields:
        Numbers of prompts and seeds, if they are a part of the job's.
    """
    manifest = run.manifest
    if not set(manifest.request.seeds) <= set(job.seeds):
        return
    prints = {(part.kind, part.fingerprint) for part in manifest.components}
    judges = {("judge", served.choice.judge.fingerprint) for served in job.needs if served.choice}
    if not {("metric", job.metric.fingerprint), *judges} <= prints:
        return
    prompts, seeds = len(job.prompts), len(job.seeds)
    for result in manifest.results:
        if (result.metric, result.by) != (job.metric.spec, job.by):
            continue
        if manifest.models[result.label].fingerprint != model.component.fingerprint or result.score is None:
            continue
        end = manifest.stopping.plan[-1] if is_growing and manifest.stopping and manifest.stopping.plan else None
        size = (end.prompts, end.seeds) if end else (result.n_prompts, result.n_seeds)
        smaller = size[0] * size[1] < prompts * seeds and size[0] <= prompts and size[1] <= seeds
        if smaller and _has_prompts_of(run, job, result):
            yield result.n_prompts, result.n_seeds


def _has_prompts_of(run: Run, job: Job, result: Result) -> bool:
    """Return whether the prompts of a result are among those of a job, whatever their lists are called."""
    if PROMPTS not in run.manifest.files:  # an earlier version of t2i wrote it
        return result.prompts == job.prompts_name
    own = {(prompt.id, prompt.text) for prompt in job.prompts}
    try:
        return len(own & {(prompt.id, prompt.text) for prompt in run.prompts()}) >= result.n_prompts
    except BadFolder:  # damaged: `t2i runs` names it
        return False
