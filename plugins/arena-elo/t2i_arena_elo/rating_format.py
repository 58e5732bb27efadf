"""Ratings as JSON data and as text."""

from __future__ import annotations

from typing import Any

from .ratings import Ratings

MARK = "*"
"""Marks regularised ratings."""


def plain(ratings: Ratings) -> dict[str, Any]:
    """Return ratings as data for JSON; missing values are None."""
    table = ratings.table.astype(object).where(ratings.table.notna(), None)
    position = ratings.position
    return {
        "models": table.to_dict("records"),
        "position": None if position is None else {name: float(value) for name, value in vars(position).items()},
        "counts": ratings.counts,
        "clusters": ratings.clusters,
        "notes": list(ratings.notes),
    }


def as_lines(ratings: Ratings) -> str:
    """Return ratings as lines of text."""
    lines = [f"{'rank':>8}  {'rating':>7}  {'95 % interval':>18}  {'battles':>8}  model"]
    for row in ratings.table.astype(object).where(ratings.table.notna(), None).to_dict("records"):
        rank = "" if row["rank"] is None else f"{row['rank']} ({row['rank_low']}-{row['rank_high']})"
        rating = "" if row["rating"] is None else f"{row['rating']:.1f}"
        mark = MARK if row["regularised"] else " "
        interval = "none" if row["low"] is None else f"[{row['low']:.1f}, {row['high']:.1f}]"
        lines.append(f"{rank:>8}  {rating:>7}{mark} {interval:>18}  {row['battles']:>8}  {row['model']}")
    if ratings.position is not None:
        p = ratings.position
        lines.append(
            f"shown first: {p.points:+.1f} points [{p.low:+.1f}, {p.high:+.1f}], {p.share:.0%} against an equal"
        )
    lines.append(
        "battles: " + ", ".join(f"{count} {verdict}" for verdict, count in ratings.counts.items() if count)
    )
    if ratings.clusters:
        lines.append(f"resampled: {ratings.clusters}")
    if ratings.table["regularised"].any():
        lines.append(f"{MARK} regularised: see the note")
    return "\n".join([*lines, *(f"note: {note}" for note in ratings.notes)])
