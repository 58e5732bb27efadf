"""Intervals and comparisons: how would a score come out with other prompts and other seeds?

Plain functions over arrays, without any knowledge of metrics or plugins:

- :func:`mean_interval` for a mean over samples,
- :func:`statistic_intervals` for any smooth function of row weights (Elo ratings, shares, spreads),
- :func:`paired_difference` and :func:`statistic_differences` for two models on what they share,
- :func:`block_jackknife` for scores of a whole set of images (FID, KID),
- :func:`level_spread` for "which seeds are best", beside what chance alone gives,
- :func:`wilson`, :func:`clopper_pearson`, :func:`holm`, :func:`cluster_weights`.

Every interval names its method and the question that it answers. ``docs/coverage.md`` holds the simulated
coverage of all of them.
"""

from .comparison import PairedDifference, holm, paired_difference, statistic_differences
from .design import ONE_PROMPT, ONE_SEED, Question
from .estimate import Estimate
from .means import mean_interval
from .proportions import clopper_pearson, wilson
from .resampling import block_jackknife, cluster_weights, statistic_intervals
from .spread import Spread, level_spread

__all__ = [
    "ONE_PROMPT",
    "ONE_SEED",
    "Estimate",
    "PairedDifference",
    "Question",
    "Spread",
    "block_jackknife",
    "clopper_pearson",
    "cluster_weights",
    "holm",
    "level_spread",
    "mean_interval",
    "paired_difference",
    "statistic_differences",
    "statistic_intervals",
    "wilson",
]
