"""The scores of a run as a table of pandas, and as a chart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .chart import Chart
from .result import Result

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("metric", "model", "judge", "name", "value", "lo", "hi", "prompts", "n_prompts", "n_seeds"),
    *("n_ok", "n_failed", "n_missing", "n_excluded"),
)


def make_score_table(results: Iterable[Result]) -> pd.DataFrame:
    """Return one row per result and score, with the columns `COLUMNS`; a result's headline comes first."""
    import pandas as pd

    rows = [
        (
            *(each.metric, each.label, name_judges(each), name),
            *(score.value, *(score.ci or (None, None)), each.prompts, each.n_prompts, each.n_seeds),
            *(each.n_ok, each.n_failed, each.n_missing, each.n_excluded),
        )
        for each in results
        for name, score in each.scores.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"value": float, "lo": float, "hi": float})


def name_judges(result: Result) -> str:
    """Return the judges of a result as one text; empty if it has none."""
    return result.by or " + ".join(dict.fromkeys(judge.name for judge in result.judges))


def draw_scores(results: Iterable[Result]) -> Chart:
    """Return a chart of the headline scores with their intervals: a panel per metric, a line per model."""
    points = [
        {
            "metric": each.metric,
            "model": each.label,
            "judge": name_judges(each),
            "score": each.score,
            "lo": each.ci[0] if each.ci else None,
            "hi": each.ci[1] if each.ci else None,
        }
        for each in results
        if each.score is not None
    ]
    judged = {(point["metric"], point["model"]) for point in points}
    encoding: dict[str, Any] = {"y": {"field": "model", "type": "nominal", "title": None, "sort": None}}
    if len(judged) < len(points):  # several judges for a score
        encoding |= {
            "yOffset": {"field": "judge", "type": "nominal"},
            "color": {"field": "judge", "type": "nominal"},
        }
    x = {"type": "quantitative", "title": "score with 95 % interval", "scale": {"zero": False}}
    return Chart(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "data": {"values": points},
            "facet": {"row": {"field": "metric", "type": "nominal", "title": None, "sort": None}},
            "spec": {
                "width": 400,
                "height": {"step": 24},
                "encoding": encoding,
                "layer": [
                    {
                        "mark": {"type": "rule", "strokeWidth": 2, "color": "#4c78a8"},
                        "encoding": {"x": {"field": "lo", **x}, "x2": {"field": "hi"}},
                    },
                    {
                        "mark": {
                            "type": "point",
                            "filled": True,
                            "size": 60,
                            "opacity": 1,
                            "tooltip": True,
                        },
                        "encoding": {"x": {"field": "score", **x}},
                    },
                ],
            },
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
        }
    )
