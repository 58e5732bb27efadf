"""Analyses of a stored run as in the paper's study; they compute only on the run's measured rows."""

from __future__ import annotations

from collections.abc import Iterator

from t2i_core.api.study import Analysis, Study

from ..options import TiamOptions
from .colours import colours
from .confidence import confidence_sweep
from .mined_seeds import mine_seeds
from .models import seeds_of_models
from .occurrence import occurrence
from .pairs import pairs
from .prompts import sizes, wordings
from .seeds import seeds
from .tables import read_tables


def analyse(study: Study, options: TiamOptions, floor: float | None) -> Iterator[Analysis]:
    """Yield the tables and figures of the paper for which the run has rows.

    Args:
        study: The run.
        options: The options of `tiam`.
        floor: Confidence below which the run's judge stores no detections; None if unknown.
    """
    if not (study.table["measure"] == "tiam").any():
        return
    tables = read_tables(study)
    yield from sizes(tables)
    yield from wordings(tables)
    yield from occurrence(tables)
    yield from seeds(tables)
    yield from mine_seeds(tables, study, options.mined, options.held_out)
    yield from seeds_of_models(tables)
    yield from confidence_sweep(tables, options.confidence, floor)
    yield from pairs(tables, study)
    yield from colours(options.references)
