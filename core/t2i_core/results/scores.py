"""The scores of a run as a table of pandas, and as a chart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

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
    import pandas as pd

    from ..api.figure import ForestPlot
    from .figures import make_spec

    rows = [
        (each.metric, each.label, name_judges(each), each.score, *(each.ci or (None, None)))
        for each in results
        if each.score is not None
    ]
    table = pd.DataFrame(rows, columns=["metric", "model", "judge", "score", "low", "high"])
    several = table.duplicated(["metric", "model"]).any()
    figure = ForestPlot(
        label="model",
        value="score",
        colour="judge" if several else None,
        facet="metric",
        title="score with 95 % interval",
        shared=False,
    )
    return Chart(make_spec(figure, table))
