"""The looks of a run that stops early, as tables and figures of the report."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from t2i_core.api.figure import LinePlot
from t2i_core.api.study import Analysis
from t2i_core.results.looks import StoppingRecord

_UNREACHABLE = 8.0
"""A boundary above this is not drawn: no statistic reaches it."""


def analyze_looks(stopping: StoppingRecord | None) -> Iterator[Analysis]:
    """Yield the looks of a run: estimates with their intervals, and statistics with their boundaries.

    Args:
        stopping: The rule and the looks; None if the run does not stop early.
    """
    if stopping is None or not stopping.looks:
        return
    if stopping.margin is None:
        yield _show_widths(stopping)
        return
    pairs = _list_pairs(stopping)
    band = f"; grey: 0; the margin is {stopping.margin:g}"
    yield Analysis(
        "looks",
        "Difference at each look, with the repeated interval that holds at all looks and for all pairs "
        f"together{band}.",
        pairs[["look", "images", "prompts", "seeds", "pair", "difference", "low", "high", "decision"]],
        LinePlot(
            x="images",
            y="difference",
            colour="pair",
            reference=0.0,
            band="bars",
            x_title="images of all models",
            y_title="difference",
        ),
    )
    yield Analysis(
        "boundaries",
        "Statistic of each look and the boundary at which it decides the pair (by Holm's method, if there are "
        "several); the information is that of the planned end.",
        pairs[["look", "images", "pair", "statistic", "boundary", "information", "p"]],
        LinePlot(
            x="images",
            y="|z|",
            colour="line",
            facet="pair",
            x_title="images of all models",
            data=_list_boundaries(pairs),
        ),
    )


def _list_pairs(stopping: StoppingRecord) -> pd.DataFrame:
    """Return one row for each look and pair."""
    return pd.DataFrame(
        [
            {
                "look": number,
                "images": look.images,
                "prompts": look.prompts,
                "seeds": look.seeds,
                "pair": f"{each.a} - {each.b}",
                "difference": each.diff,
                "low": each.ci[0],
                "high": each.ci[1],
                "statistic": each.statistic,
                "boundary": each.boundary,
                "information": each.information,
                "p": each.p_adjusted,
                "decision": each.decision or "open",
            }
            for number, look in enumerate(stopping.looks, 1)
            for each in look.pairs
        ]
    )


def _list_boundaries(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each look, pair and line: the statistic, and the boundary if it can be reached."""
    parts = [
        pairs.assign(line="statistic", **{"|z|": pairs["statistic"].abs()}),
        pairs[pairs["boundary"] < _UNREACHABLE].assign(line="boundary", **{"|z|": pairs["boundary"]}),
    ]
    return pd.concat(parts, ignore_index=True)[["images", "pair", "line", "|z|"]]


def _show_widths(stopping: StoppingRecord) -> Analysis:
    table = pd.DataFrame(
        [
            {
                "look": number,
                "images": look.images,
                "prompts": look.prompts,
                "seeds": look.seeds,
                "model": each.model,
                "score": each.score,
                "low": each.ci[0],
                "high": each.ci[1],
                "narrow": each.narrow,
            }
            for number, look in enumerate(stopping.looks, 1)
            for each in look.scores
        ]
    )
    figure = LinePlot(x="images", y="score", colour="model", band="bars", x_title="images of all models")
    return Analysis("looks", f"Score at each look with its interval; the goal is {stopping.until}.", table, figure)
