"""`t2i runs`: list the runs of a folder with their scores, show a run, remove runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from t2i_core.api.errors import did_you_mean, join_clauses
from t2i_core.api.terminal import console, print_json, print_rows, shown, write_line
from t2i_core.files.byte_size import format_size
from t2i_core.results.command_line import write_command_line
from t2i_core.results.number_format import format_interval, format_number
from t2i_core.results.run import Run, load_run, make_relative
from t2i_core.results.run_list import ListedRun, UnreadableRun, parse_since, select_runs
from t2i_core.results.run_list import list_runs as stored_runs
from t2i_core.results.score_tables import print_looks, print_results
from t2i_core.results.signature_line import describe_difference, read_parts
from t2i_core.storage.run_removal import check_removable, measure_disk_use, remove_run
from t2i_core.storage.runs_folder import find_listed_folder, find_run_folder

from .terminal import confirm

_UNREADABLE = "unreadable"


def list_runs(
    named: Path | None, metric: str | None, model: str | None, since: str | None, best: bool, as_json: bool
) -> None:
    """Print the runs of a folder, or a selection of them. See `select_runs` for the conditions.

    Raises:
        BadFolder: If a folder is named that does not exist.
        BadOption: If `since` is not a time.
    """
    start = None if since is None else parse_since(since)
    folder = find_listed_folder(named)
    stored = list(stored_runs(folder))
    runs = select_runs(stored, metric, model, start, best)
    if as_json:
        print_json([_describe_run(run) for run in runs])
        return
    if not runs:
        write_line(_explain_no_match(folder, stored, metric, model) if stored else f"no runs in {folder}")
        return
    _print_table(runs)
    for line in _describe_protocols(runs) if best else ():
        console().print(shown(line))


def _explain_no_match(
    folder: Path, stored: Sequence[ListedRun | UnreadableRun], metric: str | None, model: str | None
) -> str:
    """Return a message that none of the stored runs matches, with the names that no run has."""
    runs = [run for run in stored if isinstance(run, ListedRun)]
    metrics = {name for run in runs for name in (*run.metrics, *(s.metric for s in run.scores))}
    models = {name for run in runs for name in (*run.models, *run.models.values())}
    asked = (("metric", metric, metrics), ("model", model, models))
    unknown = [
        f"no run has the {kind} {name!r}{did_you_mean(name, known)}"
        for kind, name, known in asked
        if name is not None and name not in known
    ]
    return join_clauses([f"none of the {len(stored)} runs in {folder} matches", *unknown])


def _describe_protocols(runs: Sequence[ListedRun | UnreadableRun]) -> Iterator[str]:
    """Yield, for each metric with several best scores because they do not compare, how their protocols differ."""
    protocols: dict[str, dict[str | Path, Path]] = {}
    for run in runs:
        if isinstance(run, ListedRun):
            for score in run.scores:
                protocols.setdefault(score.title, {}).setdefault(score.signature or run.folder, run.path)
    for title, runs_by_protocol in protocols.items():
        (first, its_run), *others = runs_by_protocol.items()
        if not others:
            continue
        yield f"{title}: the best of each of {len(others) + 1} protocols, which do not compare; first {its_run}"
        for protocol, path in others:
            if isinstance(protocol, Path) or isinstance(first, Path):
                yield f"  {path}: a run without signature lines compares with no other"
            else:
                yield f"  {path}: {describe_difference(read_parts(protocol), read_parts(first))}"


def show_run(folder: Path, as_json: bool) -> None:
    """Print the content of a run's run.json; print lists of versions only as JSON. Raises BadFolder."""
    run = load_run(folder)
    if as_json:
        use = measure_disk_use(run.folder)
        content = {**run.manifest.to_json(), "status": run.status}
        print_json({"run": str(run.folder), "bytes": use.bytes, "bytes_alone": use.alone, **content})
        return
    for name, text in _list_facts(run):
        console().print(shown(f"{name + ':':<11}{text}"))
    if run.results:
        write_line()
        print_results(console(), run.results, run.comparisons, run.agreements)
        print_looks(console(), run.manifest.stopping)


def remove_runs(folders: Sequence[Path], yes: bool) -> None:
    """Remove runs, after a confirmation for each unless `yes` is true.

    Raises:
        BadFolder: A folder holds no run, or cannot be removed; earlier runs may be removed already.
    """
    runs = {run.folder: run for run in map(_load_removable, folders)}
    for run in runs.values():
        use = measure_disk_use(run.folder)
        if not yes:
            freed = f"{format_size(use.bytes)}, {format_size(use.alone)} of it nowhere else"
            confirm(f"remove {make_relative(run.folder)} ({freed})?")
        left = remove_run(run.folder)
        what = f"results removed; other files stay ({', '.join(left[:3])})" if left else "removed"
        console().print(shown(f"{make_relative(run.folder)}: {what}"))


def _load_removable(folder: Path) -> Run | ListedRun | UnreadableRun:
    """Return the run to remove, readable or not. Raises BadFolder if the folder holds no run or is a link."""
    folder = find_run_folder(folder)
    run = next((run for run in stored_runs(folder) if run.folder == folder.absolute()), None)
    found = load_run(folder) if run is None else run
    check_removable(found.folder)
    return found


def _list_facts(run: Run) -> Iterator[tuple[str, str]]:
    manifest, use = run.manifest, measure_disk_use(run.folder)
    request = manifest.request
    yield "run", str(run.path)
    yield "status", run.status + (f": {run.failed}" if run.failed else "")
    yield "time", f"{manifest.started} to {manifest.finished or '?'}"
    yield "command", write_command_line(manifest.command)
    yield "version", f"t2i {manifest.t2i}, Python {manifest.python}, {manifest.platform}"
    yield "metrics", ", ".join(request.metrics) or "-"
    for label, model in manifest.models.items():
        made_by = f"{model.dist} {model.version}".strip()
        settings = "".join(f" {key}={value}" for key, value in model.settings.items())
        yield "model", f"{label}: {model.name}{settings} ({made_by})"
    for name, why in manifest.left_out.items():
        yield "left out", f"{name}: {why}"
    yield "prompts", ", ".join(request.prompts)
    yield "seeds", f"{len(request.seeds)}"
    for judge in manifest.judges:
        yield "judge", f"{judge.metric} {judge.need}: {judge.judge} ({judge.why})"
    for signature in dict.fromkeys(result.signature for result in run.results if result.signature):
        yield "signature", signature
    yield "disk", f"{format_size(use.bytes)}, {format_size(use.alone)} of it nowhere else"


def _describe_run(run: ListedRun | UnreadableRun) -> dict[str, Any]:
    use = measure_disk_use(run.folder)
    found = {"run": str(run.folder), "bytes": use.bytes, "bytes_alone": use.alone}
    if isinstance(run, UnreadableRun):
        return {**found, "status": _UNREADABLE, "started": None, "finished": None, "scores": []}
    scores = [
        {
            "metric": score.metric,
            **({} if score.by is None else {"by": score.by}),
            "as": score.label,
            "score": score.score,
            "ci": score.ci,
        }
        for score in run.scores
    ]
    return {
        **found,
        "status": run.status,
        "started": run.started,
        "finished": run.finished,
        "scores": scores,
    }


def _print_table(runs: Sequence[ListedRun | UnreadableRun]) -> None:
    rows: list[tuple[str, ...]] = []
    for run in runs:
        if isinstance(run, UnreadableRun):
            status, started, lines = _UNREADABLE, "?", [("",) * 4]
        else:
            status, started, lines = run.status, run.started[:16], list(_list_scores(run))
        head = str(make_relative(run.folder)), status, started, format_size(measure_disk_use(run.folder).bytes)
        for line in lines:
            rows.append((*head, *line))
            head = "", "", "", ""
    print_rows(("run", "status", "started", "disk", "metric", "model", "score", "95 % interval"), rows)


def _list_scores(run: ListedRun) -> Iterator[tuple[str, str, str, str]]:
    """Yield a table row for each score of a run; an empty row if it has none."""
    for score in run.scores:
        yield score.headline, score.label, format_number(score.score), format_interval(score.ci)
    if not run.scores:
        yield "", "", "", ""
