"""Rows of the table of counts: each compares observed and expected values by a test with a p-value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, chisquare, ks_2samp, norm


@dataclass(frozen=True)
class CountRow:
    """A row of the table: the value observed in ``n`` cases, the ``expected`` value, and the p-value."""

    case: str
    what: str
    expected: str
    found: str
    n: int
    p: float

    def line(self, alarm: float) -> str:
        """Return the row in Markdown. It passes if p exceeds ``alarm``."""
        passes = "yes" if self.p > alarm else "NO"
        cells = self.case, self.what, self.expected, self.found, str(self.n), f"{self.p:.2g}", passes
        return f"| {' | '.join(cells)} |"


def share(case: str, what: str, expected: float, hits: Iterable[bool]) -> CountRow:
    """Test a share by the exact binomial test. Without cases the row fails."""
    seen = list(hits)
    n, counted = len(seen), sum(seen)
    p = binomtest(counted, n, min(max(expected, 0), 1)).pvalue if n else 0.0
    return CountRow(case, what, f"{expected:.4f}", f"{counted / max(n, 1):.4f}", n, float(p))


def spread(case: str, what: str, shares: Sequence[float], counts: Sequence[int]) -> CountRow:
    """Test the shares of several values by a chi-square test. Without cases the row fails."""
    n = sum(counts)
    p = chisquare(counts, np.multiply(shares, n)).pvalue if n else 0.0
    found = np.divide(counts, max(n, 1))
    expected, counted = (f"{min(of):.4f} to {max(of):.4f}" for of in (shares, found))
    return CountRow(case, what, expected, counted, n, float(p))


def alike(case: str, what: str, values: Sequence[float], happened: Sequence[bool]) -> CountRow:
    """Test that values have the same distribution with a fault and without, by the Kolmogorov-Smirnov test."""
    with_, without = ([v for v, h in zip(values, happened, strict=True) if h is is_] for is_ in (True, False))
    if not (with_ and without):
        return CountRow(case, what, "", "", len(values), 0.0)
    expected, counted = (f"mean {np.mean(of):.3f}" for of in (without, with_))
    # the exact p-value can overflow for many values, for which the asymptotic one is accurate
    method = "exact" if len(values) <= 500 else "asymp"
    p = float(ks_2samp(with_, without, method=method).pvalue)
    return CountRow(case, what, expected, counted, len(values), p)


def mean(case: str, what: str, expected: float, values: Sequence[float]) -> CountRow:
    """Test a mean of many values by the normal approximation."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    found = sum(values) / max(len(values), 1)
    p = 2 * norm.sf(abs(found - expected) / error) if error > 0 else 0.0
    return CountRow(case, what, f"{expected:.4f}", f"{found:.4f}", len(values), float(p))


Rows = Iterator[CountRow]
