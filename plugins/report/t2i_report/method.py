"""Method of a run: methods of intervals, notes and failures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2i_core.results.run import Run

from .names import shorten_reason

MOST_ROWS = 200
"""Maximum number of failures on a page."""


@dataclass(frozen=True)
class Failures:
    """Samples without a value.

    Attributes:
        reasons: Number of failures by metric, kind and reason, the most frequent first.
        rows: The first samples: metric, model, prompt, seed, kind, reason.
        n: Number of samples without a value.
    """

    reasons: Sequence[tuple[tuple[str, str, str], int]] = ()
    rows: Sequence[tuple[Any, ...]] = ()
    n: int = 0


@dataclass(frozen=True)
class Method:
    """Method of a run.

    Attributes:
        intervals: The metrics of each method of intervals.
        notes: The notes of all results, without repetitions.
        failures: Samples without a value.
        manifest: The content of run.json without the results, as JSON.
    """

    intervals: Mapping[str, Sequence[str]]
    notes: Sequence[str]
    failures: Failures
    manifest: str


def describe_method(run: Run) -> Method:
    """Return how a run was measured."""
    intervals: dict[str, dict[str, None]] = {}
    for result in run.results:
        if result.interval:
            intervals.setdefault(result.interval, {})[result.title] = None
    notes = list(dict.fromkeys(note for result in run.results for note in result.notes))
    recorded = run.manifest.model_dump(by_alias=True, exclude={"results", "comparisons", "agreements"})
    manifest = json.dumps(recorded, indent=1, ensure_ascii=False)
    return Method({method: list(own) for method, own in intervals.items()}, notes, count_failures(run), manifest)


def count_failures(run: Run) -> Failures:
    """Return the samples of a run that have no value, by reason."""
    if "failures.csv" not in run.manifest.files:
        return Failures()
    lost = run.failures()
    lost["reason"] = [shorten_reason(reason, [run]) for reason in lost["reason"].fillna("")]
    counted = Counter(lost[["metric", "kind", "reason"]].itertuples(index=False, name=None))
    columns = ["metric", "model", "prompt", "seed", "kind", "reason"]
    rows = list(lost[columns].head(MOST_ROWS).itertuples(index=False, name=None))
    return Failures(counted.most_common(MOST_ROWS), rows, len(lost))
