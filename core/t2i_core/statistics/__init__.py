"""Confidence intervals and comparisons: how would a score come out with other prompts and other seeds?

The functions take arrays and know nothing of metrics or plugins:

- `mean_interval` for a mean over samples,
- `statistic_intervals` for any smooth function of row weights (Elo ratings, shares, spreads),
- `paired_difference` and `statistic_differences` for two models on the samples that both have,
- `block_jackknife` for scores of a whole set of images (FID, KID),
- `level_spread` for "which seeds are best", compared with chance,
- `cohen_kappa`, `fleiss_kappa`, `krippendorff_alpha`, `phi` for the agreement of raters,
- `spearman`, `kendall` for rank correlations,
- `corrected_mean`, `corrected_difference`, `corrected_statistics` and `corrected_statistic_differences` for a
  judge's values that people's labels correct,
- `draw_labels`, `draw_cells` and `allocate_labels` for the rows that people should label,
- `wilson`, `clopper_pearson`, `holm`, `cluster_weights`.

Every interval names its method. Those over prompts and seeds name the question that they answer too, and
`docs/coverage.md` gives their simulated coverage.
"""

from .agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, phi
from .comparison import PairedDifference, holm, limit_difference, paired_difference, statistic_differences
from .corrected_statistics import corrected_statistic_differences, corrected_statistics
from .correction import Correction, corrected_difference, corrected_mean
from .correlation import Correlation, kendall, spearman
from .design import ONE_PROMPT, ONE_SEED, Question
from .estimate import Estimate
from .label_sampling import LabelAllocation, LabelDraw, allocate_labels, draw_cells, draw_labels
from .means import mean_interval
from .proportions import clopper_pearson, wilson
from .resampling import block_jackknife, cluster_weights, statistic_intervals
from .spread import Spread, level_spread

__all__ = [
    "ONE_PROMPT",
    "ONE_SEED",
    "Correction",
    "Correlation",
    "Estimate",
    "LabelAllocation",
    "LabelDraw",
    "PairedDifference",
    "Question",
    "Spread",
    "allocate_labels",
    "block_jackknife",
    "clopper_pearson",
    "cluster_weights",
    "cohen_kappa",
    "corrected_difference",
    "corrected_mean",
    "corrected_statistic_differences",
    "corrected_statistics",
    "draw_cells",
    "draw_labels",
    "fleiss_kappa",
    "holm",
    "kendall",
    "krippendorff_alpha",
    "level_spread",
    "limit_difference",
    "mean_interval",
    "paired_difference",
    "phi",
    "spearman",
    "statistic_differences",
    "statistic_intervals",
    "wilson",
]
