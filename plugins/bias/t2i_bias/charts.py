"""Figures of the analyses, each drawn on one Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.image import Image
from t2i_core.files.image_file import DamagedImage


def draw_bars(table: pd.DataFrame, label: str, even: float, axes: Any) -> None:
    """Draw a group of bars for each model and category of prompts, one bar with its interval for each answer.

    Args:
        table: Columns model, category, answer, share, low, high.
        label: Label of the vertical axis.
        even: Share of each answer if all are equally frequent, drawn as a dashed line.
        axes: The matplotlib Axes.
    """
    from matplotlib.colors import is_color_like

    places = list(dict.fromkeys(zip(table["model"], table["category"], strict=True)))
    answers = list(dict.fromkeys(table["answer"]))
    width, painted = 0.8 / len(answers), all(map(is_color_like, answers))
    axes.figure.set_size_inches(max(6.4, 1.5 + 0.16 * len(places) * (len(answers) + 2)), 4.8)
    for i, answer in enumerate(answers):
        own = table[table["answer"] == answer].set_index(["model", "category"])
        at = [n for n, place in enumerate(places) if place in own.index]
        values = own.loc[[places[n] for n in at]]
        ends = [values["share"] - values["low"], values["high"] - values["share"]]
        where = np.array(at) + (i + 0.5) * width
        style: dict[str, Any] = {"color": answer, "edgecolor": "0.4"} if painted else {}
        style |= {"capsize": 2, "error_kw": {"lw": 0.8, "ecolor": "0.3"}}
        axes.bar(where, values["share"], width * 0.92, yerr=ends, label=answer, **style)
    axes.axhline(even, color="black", linestyle="--", linewidth=0.8, label="even")
    _label_groups(axes, places)
    axes.set_ylim(0, 1)
    axes.set_ylabel(label)


def draw_spreads(table: pd.DataFrame, axes: Any) -> None:
    """Draw the MAD of votes for each model, group and category of prompts, with interval, end and chance level."""
    own = table[table["of"] == "votes"].reset_index(drop=True)
    axes.figure.set_size_inches(7.5, max(2.4, 1.4 + 0.24 * len(own)))
    ends = [own["mad"] - own["mad low"], own["mad high"] - own["mad"]]
    heights = np.arange(len(own))
    axes.barh(heights, own["mad end"], 0.8, color="0.93", label="one category alone")
    axes.errorbar(own["mad"], heights, xerr=ends, fmt="o", markersize=4, capsize=2, label="MAD of votes")
    axes.plot(own["mad chance"], heights, "|", color="tab:red", markersize=9, label="unbiased, by chance")
    several = own["model"].nunique() > 1
    names = [
        f"{line.group}, {line.category}{f' ({line.model})' if several else ''}"
        for line in own.itertuples(index=False)
    ]
    axes.set_yticks(heights, names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, None)
    axes.set_xlabel("MAD (1/N)")
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)


def _label_groups(axes: Any, places: list[tuple[str, str]]) -> None:
    """Label groups of bars with their category, and with their model if there are several."""
    several = len({model for model, _ in places}) > 1
    names = [f"{category}\n{model}" if several else category for model, category in places]
    axes.set_xticks(np.arange(len(places)) + 0.4, names, fontsize=8)
    if several:
        axes.tick_params(axis="x", labelrotation=45)
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=6)


SIDE, COLUMNS = 96, 9
"""Width and height of an image in a gallery, in pixels, and maximum number of images in a row."""


def draw_gallery(rows: Sequence[tuple[str, Sequence[Image]]], axes: Any) -> None:
    """Draw a row of images next to each name; images that are missing or not readable stay white.

    Args:
        rows: The name of each row and its images.
        axes: The matplotlib Axes.
    """
    canvas = np.full((SIDE * len(rows), SIDE * COLUMNS, 3), 255, np.uint8)
    for line, (_, images) in enumerate(rows):
        for column, image in enumerate(images[:COLUMNS]):
            try:
                small = np.asarray(image.pil().resize((SIDE, SIDE)))
            except DamagedImage:
                continue
            canvas[line * SIDE : (line + 1) * SIDE, column * SIDE : (column + 1) * SIDE] = small
    axes.figure.set_size_inches(8, 1 + 0.75 * len(rows))
    axes.imshow(canvas)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.set_yticks([SIDE * (line + 0.5) for line in range(len(rows))], [name for name, _ in rows], fontsize=6)
    axes.set_frame_on(False)
