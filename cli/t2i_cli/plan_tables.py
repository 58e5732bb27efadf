"""Text output of plans and of generated images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from t2i_core.api.progress_display import format_duration, format_rate
from t2i_core.api.terminal import make_table, shown
from t2i_core.api.text import shorten_paths


def print_plan(console: Console, plan: Mapping[str, Any]) -> None:
    """Print a plan: models, prompts and seeds, metrics and judges, sinks, and how much of the work is cached.

    Args:
        console: Where to print.
        plan: The plan, as `forecast_plan` returns it.
    """
    measures = "observations" in plan
    columns = ("model", "prompts", "seeds")
    table = make_table(*(("metric", *columns, "judge") if measures else columns))
    reasons: dict[str, None] = {}
    for job in plan["jobs"]:
        drawn = job["as"], f"{shorten_paths(job['prompts'])} ({job['n_prompts']})", _format_seeds(job["seeds"])
        if not measures:
            table.add_row(*map(shown, drawn))
            continue
        judges = list(dict.fromkeys(judge["name"] for judge in job["judges"]))
        table.add_row(*map(shown, (job["metric"], *drawn, ", ".join(judges) or "-")))
        reasons |= dict.fromkeys(f"{j['capability']}: {j['name']} ({j['why']})" for j in job["judges"])
    console.print(table)
    for reason in reasons:
        console.print(shown(reason))
    for what in ("images", "observations") if measures else ("images",):
        console.print(shown(_format_work(what, plan[what])))
    for paid in plan.get("paid_requests", ()):
        console.print(shown(_format_cost(paid), "bold"))
    if plan["sinks"]:
        console.print(shown(f"sinks: {', '.join(plan['sinks'])}"))
    for note in plan["notes"]:
        console.print(shown(note))
    if plan["folder"] is not None:
        console.print(shown(f"folder: {plan['folder']}"))


def print_images(console: Console, images: Mapping[str, Any]) -> None:
    """Print the number of images by status, how many were generated at what rate, and the data sets' files."""
    if "n_ok" in images:
        counts = "{n_ok} ok, {n_failed} failed, {n_missing} missing".format(**images)
        console.print(shown(f"images: {counts}"))
    speed = format_rate(images["images_per_second"])
    console.print(shown(f"made now: {images['n_made']}{f', {speed}' if speed else ''}"))
    for each in images.get("datasets", ()):
        console.print(
            shown(f"data set of {each['model']}: {each['images']} ({each['n_images']} in metadata.jsonl)")
        )
    console.print(shown(f"folder: {images['run']}"))


def _format_seeds(seeds: Sequence[int]) -> str:
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))) and len(seeds) > 2:
        return f"{len(seeds)} ({seeds[0]}-{seeds[-1]})"
    text = ", ".join(map(str, seeds[:6]))
    return f"{len(seeds)} ({text}{', ...' if len(seeds) > 6 else ''})"


def _format_cost(paid: Mapping[str, Any]) -> str:
    count = paid["to_make"] + paid["unknown"]
    up_to = "up to " if paid["unknown"] else ""
    return f"cost: {up_to}{count:,} requests to {paid['judge']}, which may charge for each; --limit asks fewer"


def _format_work(what: str, work: Mapping[str, Any]) -> str:
    seconds = work.get("seconds")
    estimate = f", about {format_duration(seconds)}" if seconds else ""
    unknown = f", {work['unknown']} not known (weights are not here)" if work["unknown"] else ""
    return f"{what}: {work['to_make']} to make{estimate}, {work['kept']} kept already{unknown}"
