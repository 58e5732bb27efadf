"""Run folders that somebody has tampered with: their manifest and tables altered."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from t2i_core.api.resolver import Resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.compared_model import ComparedModel, categorize, select_rows
from t2i_core.results.numbers import make_interval, make_number
from t2i_core.results.run import load_run
from t2i_core.results.score_difference import make_stored_scoring
from t2i_core.results.score_estimates import estimate_model_scores

Rows = list[list[str]]


def manifest_of(run: Path) -> dict[str, Any]:
    """Return what a run's run.json says."""
    said: dict[str, Any] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return said


def write_manifest(run: Path, manifest: Mapping[str, Any]) -> None:
    """Write a run.json. A link is replaced, not followed."""
    (run / "run.json").unlink(missing_ok=True)
    (run / "run.json").write_bytes(json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def write_table(run: Path, name: str, text: str) -> None:
    """Write a table, and its digest into run.json."""
    data = text.encode("utf-8", "surrogatepass")
    (run / name).write_bytes(data)
    manifest = manifest_of(run)
    manifest["files"][name] = hashlib.sha256(data).hexdigest()
    write_manifest(run, manifest)


def rewrite_table(run: Path, name: str, change: Callable[[Rows], Rows]) -> None:
    """Write a table with its rows, the header among them, changed."""
    with (run / name).open(newline="", encoding="utf-8") as file:
        rows = change(list(csv.reader(file)))
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    write_table(run, name, text.getvalue())


def forge_scores(run: Path, resolver: Resolver[Any]) -> None:
    """Write the scores and intervals that a run's altered table gives, as a careful forger does."""
    stored, manifest = load_run(run), manifest_of(run)
    metrics = list_metrics(stored, resolver)
    for result, written in zip(stored.results, manifest["results"], strict=True):
        scoring = make_stored_scoring(metrics.made[result.metric])
        rows = select_rows(ComparedModel(stored, result.label, result.label, result.by), result.metric)
        found = estimate_model_scores(scoring, categorize(rows), stored.manifest.request.interval).scores
        scores = {name: {"value": make_number(e.value), "ci": make_interval(e)} for name, e in found.items()}
        headline = next(iter(scores.values()))
        written |= {"scores": scores, "score": headline["value"], "ci": headline["ci"]}
    write_manifest(run, manifest)


def name_image(run: Path, name: str, digest: str) -> None:
    """Have the first sample of a run name another image."""

    def change(rows: Rows) -> Rows:
        header, first, *others = rows
        first[header.index("image")], first[header.index("digest")] = name, digest
        return [header, first, *others]

    rewrite_table(run, "samples.csv", change)


def copy_run(run: Path, target: Path) -> Path:
    """Copy a run's folder."""
    shutil.copytree(run, target)
    return target
