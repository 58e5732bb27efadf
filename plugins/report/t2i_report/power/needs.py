"""Output of `t2i power`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadFolder, BadOption, MissingDependency
from t2i_core.api.progress_display import format_duration
from t2i_core.api.resolver import installed_resolver
from t2i_core.api.terminal import console, make_table, write_line
from t2i_core.results.run import load_finished_run
from t2i_core.statistics.sample_size import Prices

from .pilots import find_needs
from .sample_sizes import WIDTHS, DesignNeed, DesignNeeds, Goal

_PRICED = ("prompt", "image", "answer")


def read_prices(words: Iterable[str]) -> Prices | None:
    """Read prices, `NAME=NUMBER` each; None without any.

    Raises:
        BadOption: If a word is anything else.
    """
    given: dict[str, float] = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            price = float(number)
        except ValueError:
            price = -1.0
        if name not in _PRICED or not 0 <= price < float("inf"):
            raise BadOption(f"--cost {word!r} must be prompt=, image= or answer= with a number from 0")
        given[name] = price
    return Prices(**given) if given else None


def print_needs(folders: list[Path], goal: Goal, whole: bool, as_json: bool, out: Path | None) -> None:
    """Print how many prompts and seeds are needed, and draw the widths of designs if `out` names a file."""
    if out is not None and out.suffix not in (".svg", ".png"):
        raise BadOption(f"--out {out}: the file must end with .svg or .png")
    needs = find_needs([load_finished_run(folder) for folder in folders], goal, installed_resolver())
    if not needs.found:
        raise BadOption(f"nothing to plan: {_list_left_out(needs)}")
    if out is not None:
        _draw(needs, out)
    if as_json:
        print(json.dumps(_to_json(needs, goal), indent=2))
        return
    for need in needs.found:
        write_line(need.title, bold=True)
        write_line(need.describe(goal))
        for line in need.describe_levels():
            write_line(line)
        if need.sizes and (whole or len(needs.found) == 1):
            _print_sizes(need, goal)
    for name, why in needs.left_out:
        write_line(f"left out: {name}: {why}", err=True)


def _list_left_out(needs: DesignNeeds) -> str:
    return "; ".join(f"{name}: {why}" for name, why in needs.left_out) or "the runs have no metric"


def _print_sizes(need: DesignNeed, goal: Goal) -> None:
    """Print the smallest design for each number of seeds."""
    in_time = need.price_unit == "seconds"
    table = make_table("seeds", need.unit, "range", "images a model", f"{'time' if in_time else 'cost'} a model")
    for size in need.sizes:
        table.add_row(
            str(size.seeds),
            f"{size.prompts:,}",
            f"{size.low:,} to {size.high:,}" if size.high is not None else f"{size.low:,} or more",
            f"{size.images:,}",
            (format_duration(size.cost) if in_time else f"{size.cost:,.6g}")
            + ("  cheapest" if size == need.cheapest else ""),
        )
    console().print(table)
    if len(need.sizes) > 1 and need.sizes[0].seeds == 1:
        write_line("1 seed: the interval would lack the variation between seeds")
    if goal.prices is None:
        measured = "time: as the runs measured it" if in_time else "cost: in images"
        write_line(f"{measured}; name prices with --cost image=0.04 --cost prompt=1")


def _to_json(needs: DesignNeeds, goal: Goal) -> Mapping[str, object]:
    return {
        "margin": goal.margin,
        "power": goal.power,
        "needs": [
            {
                "metric": need.metric,
                "models": need.of,
                "components": asdict(need.components),
                "unit": need.unit,
                "rough": need.rough,
                "designs": list(need.rows()),
                "levels": [asdict(level) for level in need.levels],
            }
            for need in needs.found
        ],
        "left_out": [{"of": name, "why": why} for name, why in needs.left_out],
    }


def _draw(needs: DesignNeeds, out: Path) -> None:
    """Draw the widths of designs as SVG or PNG, a panel for each pair of models or model."""
    from t2i_core.results.figures import convert_to_png, draw_svg

    try:
        svg = draw_svg(WIDTHS, pd.concat([need.widths() for need in needs.found], ignore_index=True))
    except ModuleNotFoundError as error:
        raise MissingDependency("figures need vl-convert-python; install t2i[figures]") from error
    try:
        out.write_bytes(convert_to_png(svg) if out.suffix == ".png" else svg.encode())
    except OSError as error:
        raise BadFolder(f"--out {out}: {error.strerror}; name a file in a folder that can be written") from error
    write_line(out, err=True)
