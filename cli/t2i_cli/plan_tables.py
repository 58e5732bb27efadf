"""Text output of plans and of generated images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from t2i_core.api.money import format_dollars
from t2i_core.api.progress_display import format_duration, format_rate
from t2i_core.api.terminal import make_table, shown
from t2i_core.api.text import shorten_paths
from t2i_core.engine.request import LOCAL

if TYPE_CHECKING:
    from t2i_core.results.run import Run


def print_plan(console: Console, plan: Mapping[str, Any]) -> None:
    """Print a plan: models, prompts and seeds, metrics and judges, executor, sinks, and the work that is cached.

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
    if (executor := plan["executor"])["name"] != LOCAL:
        console.print(shown(_format_executor(executor)))
    if "stopping" in plan:
        console.print(shown(_format_stopping(plan["stopping"]), "bold"))
    for line in _format_cost(plan["cost"]) if "cost" in plan else ():
        console.print(shown(line, "bold"))
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


def print_speeds(console: Console, run: Run) -> None:
    """Print the speed of each model, if this command has generated images."""
    if run.made.images:
        for label, model in run.manifest.models.items():
            if model.speed is not None and model.perturbation is None:
                console.print(shown(f"speed of {label}: {model.speed.describe()}"))


def _format_seeds(seeds: Sequence[int]) -> str:
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))) and len(seeds) > 2:
        return f"{len(seeds)} ({seeds[0]}-{seeds[-1]})"
    text = ", ".join(map(str, seeds[:6]))
    return f"{len(seeds)} ({text}{', ...' if len(seeds) > 6 else ''})"


def _format_stopping(stopping: Mapping[str, Any]) -> str:
    """Return when the run stops, its looks, and the most that it draws."""
    margin = "" if stopping["margin"] is None else f" (margin {stopping['margin']:g})"
    looks = ", ".join(f"{look['prompts']} x {look['seeds']}" for look in stopping["plan"])
    count = len(stopping["plan"])
    return (
        f"stops at {stopping['until']}{margin}: at most {stopping['most_images']:,} images, in "
        f"{f'up to {count} looks' if count > 1 else 'one look'} at prompts x seeds of each model: {looks}"
    )


def _format_cost(cost: Mapping[str, Any]) -> list[str]:
    """Return the cost of each paid component, of all together if there are several, and what the limit does."""
    parts = cost["components"]
    is_bound = all(part["is_bound"] for part in parts)
    lines = [
        f"cost: {_format_amount(part['most'], part['is_bound'])} for {_format_requests(part)}" for part in parts
    ]
    if len(parts) > 1:
        lines.append(f"cost in all: {_format_amount(cost['most'], is_bound)}")
    if cost["limit"] is not None and (cost["most"] is None or not is_bound or cost["most"] > cost["limit"]):
        lines.append(f"--max-cost {format_dollars(cost['limit'])} may end the run before it is complete")
    return lines


def _format_amount(most: float | None, is_bound: bool) -> str:
    if not most:
        return "not known" if most is None else "$0"
    return f"{'at most' if is_bound else 'about'} {format_dollars(most, up=True)}"


def _format_requests(part: Mapping[str, Any]) -> str:
    up_to = "up to " if part["unknown"] else ""
    what = f"{up_to}{part['to_make'] + part['unknown']:,} requests to {part['kind']} {part['component']}"
    return f"{what}, which may charge for each; {part['set_first']}" if part["set_first"] else what


def _format_executor(executor: Mapping[str, Any]) -> str:
    """Return the executor with the number of workers that each model and judge gets."""
    count = executor["workers"]
    each = "" if count is None else f", {count} workers" if count > 1 else ", 1 worker"
    return f"executor: {executor['name']}{each}"


def _format_work(what: str, work: Mapping[str, Any]) -> str:
    seconds = work.get("seconds")
    estimate = f", about {format_duration(seconds)}" if seconds else ""
    unknown = f", {work['unknown']} not known (weights are not here)" if work["unknown"] else ""
    count = work.get("waiting")
    waiting = (
        f"; more about {count} samples, not known until the first answers about them are there" if count else ""
    )
    return f"{what}: {work['to_make']} to make{estimate}, {work['kept']} kept already{unknown}{waiting}"
