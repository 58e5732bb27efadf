"""The toy chain of the golden cases in plain numpy, with closed forms of its likelihood.

The denoiser says a * x, so that everything is Gaussian: x_T is N(0, I), x_{t-1} is N(k_t x_t, s_t^2 I).
Coordinates are independent of each other and alike, but for the image's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def log_normal(x: Floats, mean: Floats, variance: float) -> Floats:
    """Return the logarithm of the normal density, summed over the last axis."""
    found: Floats = -0.5 * (((x - mean) ** 2) / variance + np.log(2 * np.pi * variance)).sum(axis=-1)
    return found


@dataclass(frozen=True)
class Chain:
    """A chain and one image. `gain` stands for the caption: the denoiser returns gain * x."""

    betas: Floats
    x0: Floats
    gain: float
    beta_variance: bool

    @property
    def signal(self) -> Floats:
        return np.cumprod(1 - self.betas)

    @property
    def variance(self) -> Floats:
        if self.beta_variance:
            return self.betas
        before = np.concatenate([[1.0], self.signal[:-1]])
        found = self.betas * (1 - before) / (1 - self.signal)
        found[0] = found[1]
        return found

    @property
    def k(self) -> Floats:
        """Factors k_t of the means mu = k x."""
        return (1 - self.betas / np.sqrt(1 - self.signal) * self.gain) / np.sqrt(1 - self.betas)

    def noised(self, noise: Floats, mode: str) -> Floats:
        """Return x_0 to x_T, of shape (T + 1, ..., D), for noise of shape (T, ..., D)."""
        xs = [np.broadcast_to(self.x0, noise.shape[1:])]
        for t, beta in enumerate(self.betas):
            own = noise[0] if mode != "markov" else noise[t]
            if mode == "marginal":
                xs.append(np.sqrt(self.signal[t]) * self.x0 + np.sqrt(1 - self.signal[t]) * own)
            else:
                xs.append(np.sqrt(1 - beta) * xs[-1] + np.sqrt(beta) * own)
        return np.stack(xs)

    def terms(self, noise: Floats, mode: str = "markov", free: bool = False) -> dict[str, Floats]:
        """Return a model's terms under this one caption for noise of shape (T, trials, D)."""
        xs, steps = self.noised(noise, mode), len(self.betas)
        zero = np.zeros_like(self.x0)
        log_p, log_q = np.empty((noise.shape[1], steps)), np.empty((noise.shape[1], steps))
        seen = xs[-1]
        for t in reversed(range(steps)):
            mean = self.k[t] * (seen if free else xs[t + 1])
            log_p[:, t] = log_normal(xs[t], mean, self.variance[t])
            log_q[:, t] = log_normal(xs[t + 1], np.sqrt(1 - self.betas[t]) * xs[t], self.betas[t])
            seen = mean
        return {"log_p": log_p, "log_q": log_q, "log_prior": log_normal(xs[-1], zero, 1.0)}

    def exact(self) -> float:
        """Return log p(x_0) of the discretised chain."""
        variance = 1.0
        for k, own in zip(self.k[::-1], self.variance[::-1], strict=True):
            variance = k**2 * variance + own
        return float(log_normal(self.x0, np.zeros_like(self.x0), variance))

    def _forward(self) -> tuple[Floats, Floats]:
        """Return the mean (T + 1, D) and covariance (T + 1, T + 1) of x_0 to x_T given x_0, under q."""
        size = len(self.betas) + 1
        mean, way = np.empty((size, len(self.x0))), np.zeros((size, size))
        mean[0] = self.x0
        for t, beta in enumerate(self.betas):
            mean[t + 1] = np.sqrt(1 - beta) * mean[t]
            way[t + 1] = np.sqrt(1 - beta) * way[t]
            way[t + 1, t + 1] = np.sqrt(beta)
        return mean, way @ way.T

    def _precision(self) -> tuple[Floats, float]:
        """Return A and c of log p(x_0 ... x_T) = -x' A x / 2 - c of each coordinate."""
        size = len(self.betas) + 1
        matrix, constant = np.zeros((size, size)), 0.5 * np.log(2 * np.pi)
        matrix[-1, -1] = 1.0
        for t, (k, variance) in enumerate(zip(self.k, self.variance, strict=True)):
            row = np.zeros(size)
            row[t], row[t + 1] = 1.0, -k
            matrix += np.outer(row, row) / variance
            constant += 0.5 * np.log(2 * np.pi * variance)
        return matrix, float(constant)

    def expected(self) -> dict[str, float]:
        """Return the closed form of each estimator's limit as the number of trials grows."""
        (mean, covariance), (matrix, constant) = self._forward(), self._precision()
        inner = covariance[1:, 1:]
        entropy = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * inner)[1]
        average = joint = 0.0
        for m in mean.T:
            average += -0.5 * (np.trace(matrix @ covariance) + m @ matrix @ m) - constant
            # the log of E_q[p(x_0 ... x_T)]: a Gaussian times the exponential of a quadratic
            a, b, c = matrix[1:, 1:], matrix[1:, 0] * m[0], matrix[0, 0] * m[0] ** 2
            precision = np.linalg.inv(inner)
            linear = precision @ m[1:] - b
            whole = precision + a
            joint += 0.5 * (linear @ np.linalg.solve(whole, linear) - m[1:] @ precision @ m[1:] - c) - constant
            joint -= 0.5 * np.linalg.slogdet(whole @ inner)[1]
        bound = average + len(self.x0) * entropy
        found = {"mean": average, "q-mean": bound, "log-mean-exp": joint, "q-log-mean-exp": self.exact()}
        return {name: float(value) for name, value in found.items()}


def of_captions(chains: list[Chain], noise: Floats, **how: Any) -> dict[str, Floats]:
    """Return a model's terms under several captions with shared noise."""
    each = [chain.terms(noise, **how) for chain in chains]
    return {name: np.stack([terms[name] for terms in each], axis=-1) for name in each[0]}
