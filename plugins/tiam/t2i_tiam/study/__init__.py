"""The paper's study as analyses of a stored run: arithmetic on its table, nothing drawn or judged again."""

from __future__ import annotations

from collections.abc import Iterator

from t2i_core.api.study import Analysis, Study

from ..options import TiamOptions
from .colours import reference_distances
from .confidence import confidence_sweep
from .mining import mine_seeds
from .models import seeds_of_models
from .occurrence import occurrence
from .pairs import pairs
from .prompts import sizes, wordings
from .seeds import seeds
from .tables import read_tables


def analyse(study: Study, options: TiamOptions, floor: float | None) -> Iterator[Analysis]:
    """Yield the tables and figures of the paper that a run has the rows for.

    floor: the confidence below which the run's judge keeps nothing; None where that is not known
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
    yield reference_distances(options.references)
