"""Scores, intervals and p-values, formatted for people."""

from __future__ import annotations

from collections.abc import Sequence


def format_number(value: float | None) -> str:
    """Format a score: three decimals, fewer if it is large; `-` if it is None."""
    if value is None:
        return "-"
    if value and abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def format_interval(ci: Sequence[float | None] | None) -> str:
    """Format an interval; `-` if it does not exist."""
    if ci is None or ci[0] is None or ci[1] is None:
        return "-"
    return f"[{format_number(ci[0])}, {format_number(ci[1])}]"


def format_p_value(p: float | None) -> str:
    """Format a p-value; `-` if there was no test."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
