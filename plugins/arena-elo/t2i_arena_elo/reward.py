"""Metric `reward`: the mean of a reward model's values, and how models' values differ."""

from __future__ import annotations

from collections.abc import Iterator

from t2i_core.api import Metric, Need, Row, Unit
from t2i_core.api.study import Analysis, Study

NEED = "reward"


class RewardMean(Metric):
    """How good images are for their prompts, on the judge's own scale."""

    needs = (Need(NEED, "reward"),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        """Turn one image into one row."""
        yield Row("reward", unit.one().one(NEED).value)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield tests of differences between models, distributions, and means at levels of facets."""
        from .reward_tests import analyses

        yield from analyses(study, self.options)
