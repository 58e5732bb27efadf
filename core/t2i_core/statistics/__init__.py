"""Confidence intervals and comparisons: how would a score come out with other prompts and other seeds?

The functions take arrays and know nothing of metrics or plugins:

- `mean_interval` for a mean over samples,
- `statistic_intervals` for any smooth function of row weights (Elo ratings, shares, spreads),
- `paired_difference` and `statistic_differences` for two models on the samples that both have,
- `block_jackknife` for scores of a whole set of images (FID, KID),
- `level_spread` for "which seeds are best", compared with chance,
- `cohen_kappa`, `fleiss_kappa`, `krippendorff_alpha`, `phi` for the agreement of raters,
- `corrected_mean`, `corrected_difference`, `corrected_statistics` and `corrected_statistic_differences` for a
  judge's values that people's labels correct,
- `draw_labels`, `draw_cells` and `allocate_labels` for the rows that people should label,
- `spearman`, `kendall` for rank correlations; `cluster_spearman` and `kendall_tau_b` for values in clusters,
- `pairwise_accuracy`, `accuracy_with_ties` of a metric beside people, on `make_pairs` or `pair_items`,
- `wilson`, `clopper_pearson`, `holm`, `cluster_weights`.

Every interval names its method. Those over prompts and seeds name the question that they answer too, and
`docs/coverage.md` gives their simulated coverage.
"""

from .agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, phi
from .cluster_correlation import cluster_spearman
from .comparison import PairedDifference, holm, limit_difference, paired_difference, statistic_differences
from .corrected_statistics import corrected_statistic_differences, corrected_statistics
from .correction import CorrectedEstimate, corrected_difference, corrected_mean
from .correlation import Correlation, kendall, spearman
from .design import ONE_ANNOTATOR, ONE_PROMPT, ONE_SEED, Crossing, Question
from .estimate import NO_VARIATION, Estimate
from .item_pairs import PairCounts, Pairs, count_pairs, make_pairs, pair_items
from .label_sampling import LabelAllocation, LabelDraw, allocate_labels, draw_cells, draw_labels
from .means import mean_interval
from .pairwise_accuracy import accuracy_with_ties, choose_epsilon, kendall_tau_b, pairwise_accuracy
from .proportions import clopper_pearson, wilson
from .resampling import block_jackknife, cluster_weights, statistic_intervals
from .spread import Spread, level_spread

__all__ = [
    "NO_VARIATION",
    "ONE_ANNOTATOR",
    "ONE_PROMPT",
    "ONE_SEED",
    "CorrectedEstimate",
    "Correlation",
    "Crossing",
    "Estimate",
    "LabelAllocation",
    "LabelDraw",
    "PairCounts",
    "PairedDifference",
    "Pairs",
    "Question",
    "Spread",
    "accuracy_with_ties",
    "allocate_labels",
    "block_jackknife",
    "choose_epsilon",
    "clopper_pearson",
    "cluster_spearman",
    "cluster_weights",
    "cohen_kappa",
    "corrected_difference",
    "corrected_mean",
    "corrected_statistic_differences",
    "corrected_statistics",
    "count_pairs",
    "draw_cells",
    "draw_labels",
    "fleiss_kappa",
    "holm",
    "kendall",
    "kendall_tau_b",
    "krippendorff_alpha",
    "level_spread",
    "limit_difference",
    "make_pairs",
    "mean_interval",
    "pair_items",
    "paired_difference",
    "pairwise_accuracy",
    "phi",
    "spearman",
    "statistic_differences",
    "statistic_intervals",
    "wilson",
]
