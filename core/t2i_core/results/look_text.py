"""Looks of a run that stops early, in words: a line for each comparison, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator

from .looks import PairAtLook, StoppingRecord
from .number_format import format_interval, format_number

_WIDTHS = (6, 10, 16, 28, 8, 20)
"""Widths of the columns of the table that grows with the looks."""


def describe_look(stopping: StoppingRecord) -> Iterator[str]:
    """Yield the rows of the last look, as a part of a table that grows; before the first one, its head."""
    if len(stopping.looks) == 1:
        yield _join(list_columns(stopping))
    yield from map(_join, list_rows(stopping, len(stopping.looks)))


def list_columns(stopping: StoppingRecord) -> tuple[str, ...]:
    """Return the columns of a table of looks."""
    value = ("model", "score") if stopping.margin is None else ("difference", "value")
    return ("look", "images", "prompts x seeds", *value, "interval", "decision")


def list_rows(stopping: StoppingRecord, number: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one look, counted from 1: one for each pair, or for each model with `width=W`."""
    look = stopping.looks[number - 1]
    first = f"{number}/{len(stopping.plan)}", f"{look.images:,}", f"{look.prompts} x {look.seeds}"
    for pair in look.pairs:
        value = format_number(pair.diff), format_interval(pair.ci)
        yield (*first, f"{pair.a} - {pair.b}", *value, describe_decision(pair))
        first = "", "", ""
    for each in look.scores:
        value = format_number(each.score), format_interval(each.ci)
        yield (*first, each.model, *value, "narrow enough" if each.narrow else "wider than asked")
        first = "", "", ""


def _join(cells: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, (*_WIDTHS, 0), strict=True)).rstrip()


def describe_decision(pair: PairAtLook) -> str:
    """Return the decision on a pair at a look, or how far it is from its boundary."""
    if pair.decision == "close":
        return "surely closer than the margin"
    if pair.decision is not None:
        return f"{pair.a} is {pair.decision}"
    if pair.diff is None:
        return "open: no values"
    return f"open: |z| {abs(pair.statistic):.2f} of {pair.boundary:.2f}"


def describe_stop(stopping: StoppingRecord, failed: str | None = None, is_limited: bool = False) -> str:
    """Return in words what was decided, after how many images, and why the run ended.

    Args:
        stopping: The rule and the looks.
        failed: Why the run ended although samples were left to draw; None if it did not.
        is_limited: True if `--max-images` leaves out some of the request's samples.
    """
    if not stopping.looks:
        return f"not decided: {failed}"
    look = stopping.looks[-1]
    where = f"after look {len(stopping.looks)} of {len(stopping.plan)} ({look.images:,} images)"
    found = "; ".join(_describe_width(stopping) if look.scores else _describe_pairs(stopping))
    if not look.left:
        return f"decided {where}: {found}"
    why = failed
    if why is None and len(stopping.looks) == len(stopping.plan):
        limit = f", which --max-images {stopping.max_images} limits" if is_limited else ""
        why = f"these are all planned images{limit}"
    return f"not decided {where}: {found}{'; ' if found and why else ''}{why or ''}"


def _describe_pairs(stopping: StoppingRecord) -> Iterator[str]:
    """Yield what is known of each pair at its last look; of the goal `best`, the models that may be best."""
    last: dict[tuple[str, str], PairAtLook] = {}
    for look in stopping.looks:
        last |= {(pair.a, pair.b): pair for pair in look.pairs}
    if stopping.until == "best":
        best = look.best
        yield f"best: {best[0]}" if len(best) == 1 else f"any of {', '.join(best)} may be best"
    for pair in last.values():
        if pair.decision == "close":
            yield f"{pair.a} and {pair.b} differ by less than {stopping.margin:g}"
        elif pair.decision is not None:
            yield f"{pair.a} is {pair.decision} than {pair.b}"
        elif pair.diff is None:
            yield f"{pair.a} and {pair.b} have no sample with a value in common"
        elif stopping.until != "best":
            yield f"{pair.a} and {pair.b} are not decided"


def _describe_width(stopping: StoppingRecord) -> Iterator[str]:
    last = {each.model: each for look in stopping.looks for each in look.scores}
    for each in last.values():
        lo, hi = each.ci
        if each.score is None:
            yield f"{each.model} has no sample with a value"
        elif lo is None or hi is None:
            yield f"nothing limits the interval of {each.model}, whose values do not vary"
        else:
            yield f"the interval of {each.model} is {format_number(hi - lo)} wide"
