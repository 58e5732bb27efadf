"""Figures of shares and spreads."""

from __future__ import annotations

import pandas as pd
from PIL import ImageColor
from t2i_core.api.figure import BarChart, Columns, ForestPlot


def plot_shares(table: pd.DataFrame, title: str, even: float, group: Columns = "category") -> BarChart:
    """Return bars of the shares of answers, with intervals; answers that are colours have their own.

    Args:
        table: Columns model, answer, share, low, high, and the columns of `group`.
        title: Title of the axis.
        even: Share of each answer if all are equally frequent, drawn as a dashed line.
        group: Columns of which each level has a group of bars.
    """
    answers = list(dict.fromkeys(table["answer"]))
    painted = {answer: answer for answer in answers} if all(map(_is_colour, answers)) else {}
    return BarChart(
        label=group, value="share", colour="answer", facet="model", reference=even, range=(0, 1), title=title,
        colours=painted, note="dashed: even shares",
    )  # fmt: skip


def _is_colour(text: str) -> bool:
    return text in ImageColor.colormap


def plot_spreads(table: pd.DataFrame) -> ForestPlot:
    """Return the MAD of votes for each group and category of prompts, with interval, end and chance level."""
    return ForestPlot(
        label=("group", "category"), value="mad", interval=("mad low", "mad high"), facet="model",
        ticks={"mad chance": "unbiased, by chance", "mad end": "one category alone"}, range=(0, None),
        title="MAD (1/N) of votes", data=table[table["of"] == "votes"], hover=["n"],
    )  # fmt: skip
