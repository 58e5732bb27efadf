"""What people preferred: shares without ties, their agreement, and how far synsets' scores say the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Analysis
from t2i_core.io.table import read_table
from t2i_core.statistics import mean_interval

from .figures import rhos
from .synsets import spearman

COLUMNS = ("synset", "model_a", "model_b", "annotator", "choice")
CHOICES = {"a": 1.0, "b": 0.0, "tie": 0.5}


def read_preferences(path: Path) -> pd.DataFrame:
    """Read a CSV file: a line for each person's choice (`a`, `b` or `tie`) between two models on a synset.

    A column `item` tells several pairs of images of one synset apart. Raises BadOption with file, line and fault.
    """
    rows = read_table(path, BadOption, COLUMNS, escaped=True)
    if not rows:
        raise BadOption(f"{path}: holds no choices")
    seen: set[tuple[str, ...]] = set()
    votes = []
    for row in rows:
        where = f"{path}, line {row.line}"
        vote = {name: row.cells.get(name, "") for name in (*COLUMNS, "item")}
        if empty := next((name for name in COLUMNS if not vote[name]), None):
            raise BadOption(f"{where}: no {empty}")
        if vote["choice"] not in CHOICES:
            raise BadOption(f"{where}: the choice {vote['choice']!r}; want a, b or tie")
        if vote["model_a"] == vote["model_b"]:
            raise BadOption(f"{where}: {vote['model_a']!r} against itself")
        if vote["model_a"] > vote["model_b"]:  # shown in the other order
            vote["model_a"], vote["model_b"] = vote["model_b"], vote["model_a"]
            vote["choice"] = {"a": "b", "b": "a", "tie": "tie"}[vote["choice"]]
        told_apart = tuple(vote[name] for name in vote if name != "choice")
        if told_apart in seen:
            raise BadOption(
                f"{where}: {vote['annotator']} has said so twice; tell pairs of images apart by `item`"
            )
        seen.add(told_apart)
        votes.append(vote)
    return pd.DataFrame(votes)


def alpha(votes: pd.DataFrame) -> float:
    """Krippendorff's alpha of the choices, nominal, ties a choice of their own; NaN where it does not exist.

    A unit is a synset and item; who did not see it has said nothing of it.
    """
    codes = votes["choice"].map({name: float(i) for i, name in enumerate(CHOICES)})
    matrix = votes.assign(code=codes).pivot(index="annotator", columns=["synset", "item"], values="code")
    shared = matrix.loc[:, matrix.notna().sum() > 1]
    if shared.shape[1] == 0 or len(np.unique(shared.to_numpy()[shared.notna().to_numpy()])) < 2:
        return float("nan")
    return float(krippendorff.alpha(reliability_data=shared.to_numpy(), level_of_measurement="nominal"))


def preferences(path: Path, wide: pd.DataFrame) -> Iterator[Analysis]:
    """Yield shares and agreement for each two models, and correlations with differences of synsets' scores.

    wide: scores by model and synset, a column for each measure
    """
    votes = read_preferences(path)
    known = set(wide.index.get_level_values("model"))
    pairs = {pair: own for pair, own in votes.groupby(["model_a", "model_b"]) if set(pair) <= known}
    if not pairs:
        named = ", ".join(sorted(set(chain(votes["model_a"], votes["model_b"]))))
        raise BadOption(f"{path}: has no two of the run's models ({', '.join(sorted(known))}), only {named}")
    if not set(votes["synset"]) & set(wide.index.get_level_values("synset")):
        raise BadOption(f"{path}: has none of the run's synsets; want names like bird.n.01")
    shares = pd.DataFrame([_share(a, b, own) for (a, b), own in pairs.items()])
    summary = "How often people preferred a to b, ties left out, and Krippendorff's alpha of all they said."
    yield Analysis("preferences", summary, shares, partial(_bars, shares))
    lines = []
    for (a, b), own in pairs.items():
        decided = own[own["choice"] != "tie"]
        share = decided["choice"].map(CHOICES).astype(np.float64).groupby(decided["synset"]).mean()
        gain = wide.loc[a].sub(wide.loc[b]).reindex(share.index)
        lines += [
            {"a": a, "b": b, "measure": name, **spearman(share.to_numpy(), gain[name].to_numpy())} for name in wide
        ]
    summary = "Spearman's rho over synsets of people's share for a with the difference a - b."
    found = pd.DataFrame(lines)
    yield Analysis("preferences and scores", summary, found, partial(rhos, found, "measure", ["a", "b"]))


def _share(a: str, b: str, votes: pd.DataFrame) -> dict[str, Any]:
    """The share of a without ties, its interval over synsets, and what it is made of."""
    decided = votes[votes["choice"] != "tie"]
    said: dict[str, Any] = {"a": a, "b": b, "share": np.nan, "low": np.nan, "high": np.nan}
    if len(decided):
        values = decided["choice"].map(CHOICES).to_numpy(np.float64)
        found = mean_interval(values, decided["synset"].to_numpy(), None, low=0, high=1)
        said |= {"share": found.value, "low": found.lo, "high": found.hi}
    return {
        **said,
        "votes": len(decided),
        "ties": len(votes) - len(decided),
        "synsets": votes["synset"].nunique(),
        "annotators": votes["annotator"].nunique(),
        "alpha": alpha(votes),
    }


def _bars(shares: pd.DataFrame, axes: Any) -> None:
    below, above = shares["share"] - shares["low"], shares["high"] - shares["share"]
    axes.barh(range(len(shares)), shares["share"], xerr=[below.fillna(0), above.fillna(0)], capsize=3)
    axes.set_yticks(range(len(shares)), [f"{line.a} over {line.b}" for line in shares.itertuples()])
    axes.axvline(0.5, color="grey", linewidth=1)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share without ties")
