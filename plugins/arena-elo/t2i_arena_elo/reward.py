"""Metric `reward`: the mean of a reward model's values, with tests between models."""

from __future__ import annotations

from collections.abc import Iterator

from t2i_core.api import Metric, Need, Note, Row, Unit
from t2i_core.api.study import Analysis, Study

NEED = "reward"


class RewardMean(Metric):
    """Mean reward of images for their prompts, on the judge's own scale."""

    needs = (Need(NEED, "reward"),)

    def measure(self, unit: Unit) -> Iterator[Row | Note]:
        """Yield one row with the image's reward."""
        reward = unit.one().one(NEED)
        if reward.cut_to is not None:
            yield Note(
                f"the text is longer than the {reward.cut_to} tokens that the judge reads; the rest is not scored",
                counted=True,
            )
        yield Row("reward", reward.value)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield distributions of rewards, summaries by facet, and tests of differences between models."""
        from .reward_tests import analyses

        yield from analyses(study, self.options)
