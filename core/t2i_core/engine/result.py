"""The results of a run as plain data: what `--json` prints and run.json holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..statistics import ONE_PROMPT, ONE_SEED, Comparison, Estimate
from .job import Job
from .sample import Model
from .sample_counts import Measured
from .score import Scores

_LEFT_OUT = {ONE_PROMPT: "prompt", ONE_SEED: "seed"}
"""Notes on what is not in an interval, each with the facet whose levels have it by their nature."""


def result(job: Job, model: Model, scores: Scores, measured: Measured) -> dict[str, Any]:
    """One model's result under one metric."""
    counts = measured.counts[model.label]
    headline = next(iter(scores.scores.values()), None)
    judges = [
        {"need": s.need.name, "name": s.choice.judge.spec, "why": s.choice.why}
        if s.choice
        else {"need": s.need.name, "name": model.component.spec, "why": "the model itself is asked"}
        for s in job.needs
    ]
    said = measured.said(model.label, f"{job.instance.group_by}s")
    notes = [*scores.notes, *(headline.notes if headline else ()), *_narrow(scores), *said]
    if counts.missing:
        planned = counts.ok + counts.failed + counts.missing + counts.excluded
        notes.append(
            f"{model.label}: {counts.missing} of {planned} samples are missing, the score leaves them out"
        )
    return {
        "metric": job.metric.spec,
        "model": model.component.spec,
        "as": model.label,
        "settings": model.settings,
        "judge": {k: judges[0][k] for k in ("name", "why")} if judges else None,
        "judges": judges,
        "prompts": job.prompts_name,
        "score": _number(headline.value) if headline else None,
        "ci": _interval(headline) if headline else None,
        "interval": f"{headline.method}; {headline.question}" if headline else None,
        "upper_bound": None,
        "notes": list(dict.fromkeys(notes)),
        "n_prompts": len(job.prompts),
        "n_prompts_ok": len(measured.scored.get(model.label, ())),
        "n_seeds": len(job.seeds),
        "n_ok": counts.ok,
        "n_failed": counts.failed,
        "n_missing": counts.missing,
        "n_excluded": counts.excluded,
        "scores": {name: value_of(e) for name, e in scores.scores.items()},
        "facets": {
            measure: {
                facet: {level: value_of(e) for level, e in levels.items()} for facet, levels in facets.items()
            }
            for measure, facets in scores.facets.items()
        },
    }


def set_beside(jobs: Sequence[Job], results: Sequence[dict[str, Any]]) -> None:
    """Put beside the scores of one metric what they can reach, where one of its jobs says that."""
    of_model = {found["as"]: found for found in results if found["metric"] == jobs[0].metric.spec}
    for job in jobs:
        if job.bound is not None and not job.is_bound:
            bound = of_model[job.bound]
            said = {"model": job.bound, "value": bound["score"], "ci": bound["ci"]}
            of_model[job.models[0].label]["upper_bound"] = said


def value_of(estimate: Estimate) -> dict[str, Any]:
    """A score with its interval, and what variation is not in that, if any."""
    left_out = [note for note in estimate.notes if note in _LEFT_OUT]
    return {
        "value": _number(estimate.value),
        "ci": _interval(estimate),
        **({"notes": left_out} if left_out else {}),
    }


def _narrow(scores: Scores) -> Iterator[str]:
    """Say of which scores and levels the interval leaves out what that of the headline has in it, a line for each
    variation. That a level of the facet `prompt` is one prompt needs no word.
    """
    if not scores.scores:
        return
    headline, *others = scores.scores
    for note, facet_of_ones in _LEFT_OUT.items():
        if note in scores.scores[headline].notes:
            continue
        where = [name for name in others if note in scores.scores[name].notes]
        for measure, facets in scores.facets.items():
            for facet, levels in facets.items():
                narrow = sum(note in estimate.notes for estimate in levels.values())
                if narrow and facet != facet_of_ones and measure not in where:
                    where.append(f"{measure} by {facet} ({narrow} of {len(levels)} levels)")
        if where:
            yield f"{', '.join(where)}: {note}"


def comparison(metric: str, a: str, b: str, found: Comparison) -> dict[str, Any]:
    """A paired difference a - b; `p` is adjusted later for the number of comparisons, `p_unadjusted` stays."""
    return {
        "metric": metric,
        "a": a,
        "b": b,
        "diff": _number(found.diff),
        "ci": _interval(found),
        "p": _number(found.p),
        "p_unadjusted": _number(found.p),
        "n": found.n,
        "interval": f"{found.method}; {found.question}",
    }


def _number(value: float) -> float | None:
    """JSON has no NaN: a value that does not exist is null."""
    return float(value) if math.isfinite(value) else None


def _interval(found: Estimate | Comparison) -> list[float | None]:
    return [_number(found.lo), _number(found.hi)]
