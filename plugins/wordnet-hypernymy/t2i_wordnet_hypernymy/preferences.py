"""People's preferences: shares without ties, agreement between people, and correlation with synsets' scores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import ForestPlot
from t2i_core.api.study import Analysis
from t2i_core.io.table import read_table
from t2i_core.statistics import Estimate, krippendorff_alpha, mean_interval

from .figures import plot_correlations
from .synsets import spearman

COLUMNS = ("synset", "model_a", "model_b", "annotator", "choice")
CHOICES = {"a": 1.0, "b": 0.0, "tie": 0.5}


def read_preferences(path: Path) -> pd.DataFrame:
    """Read a CSV file of people's choices (`a`, `b` or `tie`) between two models, one line per choice.

    If a synset has several pairs of images, the column `item` distinguishes them.

    Returns:
        One row per choice; `model_a` and `model_b` are in alphabetical order, and `choice` follows them.

    Raises:
        BadOption: The file is not valid. The message names file, line and problem.
    """
    rows = read_table(path, BadOption, COLUMNS, escaped=True)
    if not rows:
        raise BadOption(f"{path}: no choices; the file must have a line for each choice")
    seen: set[tuple[str, ...]] = set()
    votes = []
    for row in rows:
        where = f"{path}, line {row.line}"
        vote = {name: row.cells.get(name, "") for name in (*COLUMNS, "item")}
        if empty := next((name for name in COLUMNS if not vote[name]), None):
            raise BadOption(f"{where}: column '{empty}' is empty; fill it in or delete the line")
        if vote["choice"] not in CHOICES:
            raise BadOption(f"{where}: choice must be a, b or tie (got {vote['choice']!r})")
        if vote["model_a"] == vote["model_b"]:
            raise BadOption(f"{where}: {vote['model_a']!r} is compared with itself; name two models")
        if vote["model_a"] > vote["model_b"]:  # the pair was shown in the other order
            vote["model_a"], vote["model_b"] = vote["model_b"], vote["model_a"]
            vote["choice"] = {"a": "b", "b": "a", "tie": "tie"}[vote["choice"]]
        key = tuple(vote[name] for name in vote if name != "choice")
        if key in seen:
            raise BadOption(
                f"{where}: {vote['annotator']} chose twice between the same models on this synset; add a column "
                "item if the pairs of images differ"
            )
        seen.add(key)
        votes.append(vote)
    return pd.DataFrame(votes)


def alpha(votes: pd.DataFrame, *, ties: bool = True) -> Estimate:
    """Return Krippendorff's nominal alpha of the choices, with its interval over synsets for these people.

    A unit is a synset and item; people who did not see it are missing values.

    Args:
        votes: Choices between two models.
        ties: Whether a tie is a third choice; if not, it is a missing value.

    Returns:
        Alpha; NaN if no unit has two choices, or if all choices are equal.
    """
    units = zip(votes["synset"], votes["item"], strict=True)
    return krippendorff_alpha(
        units, votes["annotator"], votes["choice"], votes["synset"], excluded=() if ties else ("tie",)
    )


def preferences(path: Path, wide: pd.DataFrame) -> Iterator[Analysis]:
    """Yield shares and agreement for each pair of models, and their correlations with the synsets' scores.

    Args:
        path: The file of preferences.
        wide: Scores by model and synset, one column for each measure.

    Raises:
        BadOption: The file is not valid, or is about none of the run's pairs of models or synsets.
    """
    votes = read_preferences(path)
    known = set(wide.index.get_level_values("model"))
    pairs = {pair: own for pair, own in votes.groupby(["model_a", "model_b"]) if set(pair) <= known}
    if not pairs:
        named = ", ".join(sorted(set(chain(votes["model_a"], votes["model_b"]))))
        raise BadOption(
            f"{path}: no line compares two of the run's models ({', '.join(sorted(known))}), only {named}"
        )
    if not set(votes["synset"]) & set(wide.index.get_level_values("synset")):
        raise BadOption(f"{path}: has none of the run's synsets; write synsets as bird.n.01")
    shares = pd.DataFrame([_share(a, b, own) for (a, b), own in pairs.items()])
    summary = (
        "Share of choices for a over b, without ties, and Krippendorff's alpha of the choices, with ties as a "
        "third choice and without ties; 95 % intervals over synsets, for these annotators."
    )
    figure = ForestPlot(
        label="pair", value="share", reference=0.5, range=(0, 1), title="share for the first, without ties",
        data=shares.assign(pair=shares["a"] + " over " + shares["b"]), hover=["votes", "ties"],
    )  # fmt: skip
    yield Analysis("preferences", summary, shares, figure)
    lines = []
    for (a, b), own in pairs.items():
        decided = own[own["choice"] != "tie"]
        share = decided["choice"].map(CHOICES).astype(np.float64).groupby(decided["synset"]).mean()
        gain = wide.loc[a].sub(wide.loc[b]).reindex(share.index)
        lines += [
            {"a": a, "b": b, "measure": name, **spearman(share.to_numpy(), gain[name].to_numpy())} for name in wide
        ]
    summary = (
        "Spearman's rho over synsets: people's share for a with the difference of scores a - b; 95 % interval by "
        "Fisher's z, p exact up to 8 synsets."
    )
    table = pd.DataFrame(lines)
    yield Analysis("preferences and scores", summary, table, plot_correlations("measure", ("a", "b")))


def _share(a: str, b: str, votes: pd.DataFrame) -> dict[str, Any]:
    """Return the share of `a` without ties, people's agreement, their intervals over synsets, and the counts."""
    decided = votes[votes["choice"] != "tie"]
    line: dict[str, Any] = {"a": a, "b": b, "share": np.nan, "low": np.nan, "high": np.nan}
    if len(decided):
        values = decided["choice"].map(CHOICES).to_numpy(np.float64)
        found = mean_interval(values, decided["synset"].to_numpy(), None, low=0, high=1)
        line |= {"share": found.value, "low": found.lo, "high": found.hi}
    line |= {
        "votes": len(decided),
        "ties": len(votes) - len(decided),
        "synsets": votes["synset"].nunique(),
        "annotators": votes["annotator"].nunique(),
    }
    for name, found in (("alpha", alpha(votes)), ("alpha without ties", alpha(votes, ties=False))):
        line |= {name: found.value, f"{name} low": found.lo, f"{name} high": found.hi}
    return line
