"""Plans and results as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from t2i_core.results.number_format import format_interval, format_number, format_p_value

from .progress import duration, rate
from .terminal import shown

MOST_LEVELS = 8
"""A facet with more levels is shown by its lowest and highest."""


def print_plan(console: Console, plan: Mapping[str, Any]) -> None:
    """Show what will be done: per model prompts and seeds, and metric and judges where there are any; what is to
    make and what is kept.
    """
    measures = "observations" in plan
    columns = ("model", "prompts", "seeds")
    table = _table(*(("metric", *columns, "judge") if measures else columns))
    reasons: dict[str, None] = {}
    for job in plan["jobs"]:
        drawn = job["as"], f"{job['prompts']} ({job['n_prompts']})", _seeds(job["seeds"])
        if not measures:
            table.add_row(*_cells(*drawn))
            continue
        judges = list(dict.fromkeys(judge["name"] for judge in job["judges"]))
        table.add_row(*_cells(job["metric"], *drawn, ", ".join(judges) or "-"))
        reasons |= dict.fromkeys(f"{j['capability']}: {j['name']} ({j['why']})" for j in job["judges"])
    console.print(table)
    for reason in reasons:
        console.print(shown(reason))
    for what in ("images", "observations") if measures else ("images",):
        console.print(shown(_work(what, plan[what])))
    for note in plan["notes"]:
        console.print(shown(note))
    if plan["folder"] is not None:
        console.print(shown(f"folder: {plan['folder']}"))


def print_results(console: Console, results: Mapping[str, Any]) -> None:
    """Show scores with intervals, named scores, facets, and comparisons of models."""
    found = results["results"]
    if found:
        console.print(_scores(found))
        for part in _details(found):
            console.print(part)
    if results["comparisons"]:
        console.print(_comparisons(results["comparisons"]))
    notes = dict.fromkeys(note for each in found for note in each.get("notes", ()))
    for line in _method_lines(found):
        console.print(shown(line, "dim"))
    for note in notes:
        console.print(shown(f"note: {note}"))


def print_images(console: Console, images: Mapping[str, Any]) -> None:
    """Show what became of a run's images, how many were made for it at which rate, and where the data sets are."""
    if "n_ok" in images:
        counts = "{n_ok} ok, {n_failed} failed, {n_missing} missing".format(**images)
        console.print(shown(f"images: {counts}"))
    speed = rate(images["images_per_second"])
    console.print(shown(f"made now: {images['n_made']}{f', {speed}' if speed else ''}"))
    for each in images.get("datasets", ()):
        console.print(
            shown(f"data set of {each['model']}: {each['images']} ({each['n_images']} in metadata.jsonl)")
        )
        if each["annotations"]:
            objects = f"{each['n_annotations']} objects in {each['n_annotated']} images"
            console.print(shown(f"annotations of {each['model']}: {each['annotations']} ({objects})"))
    console.print(shown(f"folder: {images['run']}"))


def _table(*columns: str, title: str | None = None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _cells(*values: object) -> Iterator[Text]:
    return map(shown, values)


def _seeds(seeds: Sequence[int]) -> str:
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))) and len(seeds) > 2:
        return f"{len(seeds)} ({seeds[0]}-{seeds[-1]})"
    text = ", ".join(map(str, seeds[:6]))
    return f"{len(seeds)} ({text}{', ...' if len(seeds) > 6 else ''})"


def _work(what: str, work: Mapping[str, Any]) -> str:
    seconds = work.get("seconds")
    estimate = f", about {duration(seconds)}" if seconds else ""
    return f"{what}: {work['to_make']} to make{estimate}, {work['kept']} kept already"


def _scores(results: Sequence[Mapping[str, Any]]) -> Table:
    bounded = any(each.get("upper_bound") for each in results)
    left_out = any(each["n_excluded"] for each in results)
    beside = ["upper bound"] if bounded else []
    counts = ["ok", "failed", "missing", *(["excluded"] if left_out else [])]
    table = _table("metric", "model", "score", "95 % interval", *beside, "prompts", *counts, "judge")
    for each in results:
        bound = [format_number(each["upper_bound"]["value"]) if each["upper_bound"] else "-"] if bounded else []
        table.add_row(
            *_cells(
                each["metric"],
                each["as"],
                format_number(each["score"]),
                format_interval(each["ci"]),
                *bound,
                f"{each['prompts']} ({_prompts(each)})",
                each["n_ok"],
            ),
            _alarming(each["n_failed"]),
            _alarming(each["n_missing"]),
            *([shown(each["n_excluded"])] if left_out else []),
            shown(each["judge"]["name"] if each["judge"] else "-"),
        )
    return table


def _prompts(result: Mapping[str, Any]) -> str:
    """How many prompts were asked for, and how many of them have a value where some have none."""
    asked, ok = result["n_prompts"], result.get("n_prompts_ok", result["n_prompts"])
    return f"{asked}" if ok == asked else f"{ok} of {asked}"


def _alarming(count: int) -> Text:
    return shown(count, "red" if count else "")


def _details(results: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Named scores where there are several, and facets."""
    named = _table("metric", "model", "name", "score", "95 % interval", title="by name")
    facets = _table("metric", "model", "by", "level", "score", "95 % interval", title="by facet")
    for each in results:
        who = each["metric"], each["as"]
        if len(each["scores"]) > 1:
            for name, score in each["scores"].items():
                named.add_row(*_cells(*who, name, format_number(score["value"]), format_interval(score["ci"])))
        for measure, by_facet in each["facets"].items():
            for facet, levels in by_facet.items():
                place = facet if len(each["facets"]) == 1 else f"{measure} by {facet}"
                for level, score in _few(levels):
                    facets.add_row(
                        *_cells(*who, place, level, format_number(score["value"]), format_interval(score["ci"]))
                    )
    for table in (named, facets):
        if table.row_count:
            yield ""
            yield table


def _few(levels: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All levels, or the lowest and the highest of many."""
    if len(levels) <= MOST_LEVELS:
        yield from levels.items()
        return
    ranked = sorted((item for item in levels.items() if item[1]["value"] is not None), key=lambda i: i[1]["value"])
    for word, (level, score) in zip(("lowest", "highest"), (ranked[0], ranked[-1]), strict=True):
        yield f"{word} of {len(levels)}: {level}", score


def _comparisons(comparisons: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("metric", "a", "b", "a - b", "95 % interval", "p", "n", title="paired comparisons")
    for each in comparisons:
        table.add_row(
            *_cells(
                each["metric"],
                each["a"],
                each["b"],
                format_number(each["diff"]),
                format_interval(each["ci"]),
                format_p_value(each["p"]),
                each["n"],
            )
        )
    return table


def _method_lines(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How the intervals were made: what they answer and by which method."""
    methods: dict[str, dict[str, None]] = {}
    for each in results:
        if each["interval"]:
            methods.setdefault(each["interval"], {})[each["metric"]] = None
    for method, metrics in methods.items():
        yield f"interval of {', '.join(metrics)}: {method}"
