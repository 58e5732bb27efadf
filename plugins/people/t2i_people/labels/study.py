"""The study of a draw: which images people label, what they are asked, and what is kept of the draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.api.resolver import Resolver
from t2i_core.io.answer_database import find_version, read_database
from t2i_core.io.answers import read_answers
from t2i_core.io.rater_rules import Rules
from t2i_core.results.label_rows import LabelledMetric, measure_labels
from t2i_core.results.label_units import MeasuredUnit, average_units
from t2i_core.results.run import load_finished_run
from t2i_core.results.stored_samples import list_samples

from ..page.forms import StudyForm, compare_models
from ..page.store import VotingStore
from ..page.study_setup import StudyRequest
from .draw import Design, DrawRecord, UnitDraw, begin_draw, extend_draw, repeat_draw
from .measured import MeasuredMetric, read_metric
from .questions import Questioner


@dataclass(frozen=True)
class LabelRequest:
    """Request for labels.

    Attributes:
        run: The run's folder.
        votes: File of the answers, which keeps the draw.
        metric: Name of the metric; None if the run has only one.
        count: Number of units of the first wave.
        design: How they are drawn.
        seed: Random seed of the draw.
        more: Number of units to add where they narrow the interval most; None for the first wave.
        images_from: Folders outside the run whose images may be shown.
    """

    run: Path
    votes: Path
    metric: str | None = None
    count: int = 200
    design: Design = "simple"
    seed: int = 0
    more: int | None = None
    images_from: tuple[Path, ...] = ()


def make_study(
    request: LabelRequest,
    resolver: Resolver[Any],
    rules: Rules,
    each: int,
    instructions: Path | None,
    say: Callable[[str], None],
) -> StudyRequest:
    """Draw the images, or go on with a draw, and return the study that asks about them.

    Args:
        request: The request.
        resolver: Finds the metric, and the judge that gives people's answers.
        rules: Rules for the people.
        each: Number of people per image.
        instructions: Markdown file with instructions; None for none.
        say: Shows a message.

    Raises:
        T2IError: If the run, the metric or the file of answers cannot be used.
    """
    run = load_finished_run(request.run, request.images_from)
    measured = read_metric(run, request.metric, resolver)
    samples = {(sample.model, sample.prompt.id, sample.seed): sample for sample in list_samples(run)}
    record = _choose_draw(request, measured, _read_record(request, measured), resolver, say)
    draw = _repeat(measured, record, request)
    items = Questioner(measured, samples).make_items(draw.drawn)
    for line in _describe(measured, draw):
        say(line)
    pairs = len(items[0].models) == 2
    form = compare_models() if pairs else StudyForm((), show_prompt=False)
    return StudyRequest(
        runs=[request.run],
        votes=request.votes,
        form=replace(form, instructions=instructions),
        items=items,
        each=each,
        images_from=request.images_from,
        rules=rules,
        record={"draw": record.to_json()},
    )


def _read_record(request: LabelRequest, measured: MeasuredMetric) -> DrawRecord | None:
    """Return the draw that the file of answers keeps; None before the first draw.

    Raises:
        BadFolder: If the file has answers to something else, or another draw.
    """
    if find_version(request.votes) is None:
        return None
    store = VotingStore(request.votes)
    try:
        study = store.study()
    finally:
        store.close()
    if not study:
        return None
    if (kept := study.get("draw")) is None:
        raise BadFolder(f"{request.votes}: has answers of another study; name another file with --votes")
    record = DrawRecord.from_json(kept)
    design = "cells" if record.cells else "stratified" if record.waves[0].stratified else "simple"
    compared = {
        "run": (record.run, measured.run.manifest.plan),
        "metric": (record.metric, measured.metric.spec),
        "seed": (record.seed, request.seed),
        "design": (design, request.design if request.more is None else design),
    }
    for name, (before, now) in compared.items():
        if before != now:
            raise BadFolder(
                f"{request.votes}: has a draw with another {name} ({before}, not {now}); name another file with "
                "--votes, or repeat the command as it was"
            )
    return record


def _choose_draw(
    request: LabelRequest,
    measured: MeasuredMetric,
    known: DrawRecord | None,
    resolver: Resolver[Any],
    say: Callable[[str], None],
) -> DrawRecord:
    """Return the draw to label: the one that the file keeps, or a larger one that contains it."""
    if request.more is None:
        of = measured.run.manifest.plan, measured.metric.spec
        first = begin_draw(measured.units, of, request.design, request.count, request.seed)
        return first if known is None or _is_larger(first, known) else known
    if known is None:
        raise BadOption(f"--next: {request.votes} has no labels yet; leave --next out for the first wave")
    draw = _repeat(measured, known, request)
    answered = {(frozenset(s.model for s in a.shown), a.prompt, a.seed) for a in read_database(request.votes)[0]}
    wanted = {(frozenset(unit.models), unit.prompt, seed) for unit, _ in draw.drawn for seed in unit.seeds}
    if left := len(wanted - answered):
        say(f"{left} of {len(wanted)} drawn images are not labelled yet; these come first, and --next draws none")
        return known
    if (draw.wave >= 0).all():
        raise BadOption("--next: everything is drawn already; there is nothing left to label")
    return extend_draw(measured.units, known, _read_labels(request, measured, resolver), request.more)


def _repeat(measured: MeasuredMetric, record: DrawRecord, request: LabelRequest) -> UnitDraw:
    """Return the draw that a record describes.

    Raises:
        BadFolder: If the run has other values now than when its images were drawn.
    """
    try:
        return repeat_draw(measured.units, record)
    except ValueError as error:
        raise BadFolder(
            f"{request.votes}: images were drawn from other values than {measured.run.path} has now; name another "
            "file with --votes"
        ) from error


def _is_larger(first: DrawRecord, known: DrawRecord) -> bool:
    """Return whether a draw of one wave contains another of one wave and more."""
    sizes = [record.waves[0].size for record in (first, known)]
    return len(known.waves) == 1 and all(isinstance(size, int) for size in sizes) and sizes[0] > sizes[1]  # type: ignore[operator]


def _read_labels(
    request: LabelRequest, measured: MeasuredMetric, resolver: Resolver[Any]
) -> Mapping[MeasuredUnit, float]:
    """Return what the metric measures by people's answers, by unit."""
    people = resolver.component("judge", f"people:{request.votes}", {})
    labelled = LabelledMetric(measured.metric, measured.instance, measured.measures, people)
    models = list(dict.fromkeys(model for unit in measured.units for model in unit.models))
    answers = read_answers(request.votes).answers
    rows = measure_labels(labelled, answers, list_samples(measured.run), models).table
    if rows.empty:
        return {}
    return {unit: unit.value for unit in average_units(rows[rows["measure"] == measured.measure])}


def _describe(measured: MeasuredMetric, draw: UnitDraw) -> Iterator[str]:
    """Yield what is drawn, in words."""
    yield f"{measured.metric.spec}: {len(draw.drawn)} of {len(draw.units)} measured values are drawn"
    taken = Counter(stratum for stratum, wave in zip(draw.strata, draw.wave, strict=True) if wave >= 0)
    if len({probability for _, probability in draw.drawn}) > 1:
        totals = Counter(draw.strata)
        yield from (f"  {name}: {taken[name]} of {total}" for name, total in sorted(totals.items()))
