"""Confidence intervals for a proportion: k successes in n independent trials."""

from __future__ import annotations

import math

import scipy  # its `special` is imported when it is first used


def _check(k: float, n: float, level: float) -> None:
    if not (n > 0 and 0 <= k <= n):
        raise ValueError(f"need 0 <= k <= n and n > 0, got k = {k}, n = {n}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def wilson(k: float, n: float, level: float = 0.95, *, quantile: float | None = None) -> tuple[float, float]:
    """Return Wilson's score interval for a proportion.

    Args:
        k: Number of successes, 0 to n; may be fractional.
        n: Number of trials, above 0; may be fractional, such as an effective sample size for clustered trials.
        level: The confidence level, in (0, 1).
        quantile: Replaces the normal quantile of `level`, for example by Student's t if the variance was estimated
            from few clusters.

    Returns:
        The lower and upper end, within [0, 1].

    Raises:
        ValueError: Unless 0 <= k <= n, n > 0 and 0 < level < 1.

    References:
        E. B. Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    _check(k, n, level)
    z = float(scipy.special.ndtri(0.5 + level / 2)) if quantile is None else quantile
    p, spread = k / n, z * z / n
    centre = (p + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (p * (1 - p) + spread / 4)) / (1 + spread)
    # at k = 0 and k = n one end is exact; rounding must not push it past the estimate
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))


def clopper_pearson(k: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Clopper and Pearson's exact interval for a proportion, which never covers less than `level`.

    Args:
        k: Number of successes, 0 to n; may be fractional.
        n: Number of independent trials, above 0; may be fractional.
        level: The confidence level, in (0, 1).

    Returns:
        The lower and upper end, within [0, 1].

    Raises:
        ValueError: Unless 0 <= k <= n, n > 0 and 0 < level < 1.

    References:
        C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of the
        binomial (1934).
    """
    _check(k, n, level)
    tail = (1 - level) / 2
    lo = 0.0 if k == 0 else float(scipy.special.betaincinv(k, n - k + 1, tail))
    hi = 1.0 if k == n else float(scipy.special.betaincinv(k + 1, n - k, 1 - tail))
    return lo, hi
