"""People's preferences: shares without ties, agreement between people, and correlation with synsets' scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import ForestPlot
from t2i_core.api.study import Analysis
from t2i_core.io.answers import BOTH_BAD, LEFT, PREFERENCE, RIGHT, TIE, locate, read_answers
from t2i_core.io.majority import turn_preference
from t2i_core.statistics import Estimate, krippendorff_alpha, mean_interval

from .figures import plot_correlations
from .synsets import spearman

_POINTS = {LEFT: 1.0, RIGHT: 0.0}


def read_preferences(
    path: Path, synsets: Mapping[str, str] | None = None, places: Mapping[str, tuple[str, str, int]] | None = None
) -> pd.DataFrame:
    """Read people's preferences between two models.

    Args:
        path: A file of people's answers, with answers to other questions or without.
        synsets: Synset of each prompt. A prompt that is not in it counts as the synset that its id names.
        places: Model, prompt and seed by digest of the image file.

    Returns:
        One row per preference: synset, item (which images), model_a and model_b in alphabetical order, annotator,
        and choice: left for model_a, right for model_b, tie or both-bad.

    Raises:
        BadOption: The file is not valid, or has no preferences.
    """
    votes = []
    for answer in locate(read_answers(path).about(PREFERENCE), places or {}):
        sides = sorted(answer.shown, key=lambda side: side.model)
        turned = sides[0] != answer.shown[0]
        known = any(side.seeds or side.digests for side in sides)
        votes.append(
            {
                "synset": (synsets or {}).get(answer.prompt, answer.prompt),
                "item": (answer.prompt, *sides) if known else (answer.prompt, answer.task),
                "model_a": sides[0].model,
                "model_b": sides[1].model,
                "annotator": answer.rater,
                "choice": turn_preference(answer.answer) if turned else answer.answer,
            }
        )
    return pd.DataFrame(votes)


def alpha(votes: pd.DataFrame, *, ties: bool = True) -> Estimate:
    """Return Krippendorff's nominal alpha of the choices, with its interval over synsets for these people.

    A unit is a synset and item; people who did not see it are missing values.

    Args:
        votes: Choices between two models.
        ties: Whether a tie (and "both are bad") is a choice; if not, it is a missing value.

    Returns:
        Alpha; NaN if no unit has two choices, or if all choices are equal.
    """
    units = zip(votes["synset"], votes["item"], strict=True)
    return krippendorff_alpha(
        units, votes["annotator"], votes["choice"], votes["synset"], excluded=() if ties else (TIE, BOTH_BAD)
    )


def preferences(
    path: Path,
    wide: pd.DataFrame,
    synsets: Mapping[str, str] | None = None,
    places: Mapping[str, tuple[str, str, int]] | None = None,
) -> Iterator[Analysis]:
    """Yield shares and agreement for each pair of models, and their correlations with the synsets' scores.

    Args:
        path: A file of people's answers.
        wide: Scores by model and synset, one column for each measure.
        synsets: Synset of each prompt.
        places: Model, prompt and seed by digest of the image file.

    Raises:
        BadOption: The file is not valid, or is about none of the run's pairs of models or synsets.
    """
    votes = read_preferences(path, synsets, places)
    known = set(wide.index.get_level_values("model"))
    groups = votes.groupby(["model_a", "model_b"])
    pairs = {(str(a), str(b)): own for (a, b), own in groups if {a, b} <= known}
    if not pairs:
        named = ", ".join(sorted(set(chain(votes["model_a"], votes["model_b"]))))
        raise BadOption(
            f"{path}: no preference compares two of the run's models ({', '.join(sorted(known))}), only {named}"
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
        decided = own[own["choice"].isin(_POINTS)]
        share: pd.Series = decided["choice"].map(_POINTS).astype(np.float64).groupby(decided["synset"]).mean()
        scores_a, scores_b = (wide.loc[[model]].droplevel("model") for model in (a, b))
        gain = scores_a.sub(scores_b).reindex(share.index)
        for name in wide.columns:
            found = spearman(share.to_numpy(np.float64), gain[name].to_numpy(np.float64))
            lines.append({"a": a, "b": b, "measure": name, **found})
    summary = (
        "Spearman's rho over synsets: people's share for a with the difference of scores a - b; 95 % interval by "
        "Fisher's z, p exact up to 8 synsets."
    )
    table = pd.DataFrame(lines)
    yield Analysis("preferences and scores", summary, table, plot_correlations("measure", ("a", "b")))


def _share(a: str, b: str, votes: pd.DataFrame) -> dict[str, Any]:
    """Return the share of `a` without ties, people's agreement, their intervals over synsets, and the counts."""
    decided = votes[votes["choice"].isin(_POINTS)]
    line: dict[str, Any] = {"a": a, "b": b, "share": np.nan, "low": np.nan, "high": np.nan}
    if len(decided):
        values = decided["choice"].map(_POINTS).to_numpy(np.float64)
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
