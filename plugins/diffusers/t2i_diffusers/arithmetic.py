"""Arithmetic of likelihoods: float64 tensors in, float64 tensors out, without a model.

An image or latent has any shape; a first axis counts noises or steps if the docstring says so.
"""

from __future__ import annotations

import hashlib
import math

import torch

from .schedules import Steps


def draw_noise(seed: int, trial: int, count: int, shape: torch.Size, use: str = "likelihood") -> torch.Tensor:
    """Return the noise of a trial, (count, *shape).

    It is the same for every image, caption, batch and device. It is drawn step by step, so that a larger count
    only appends noise. Each use has its own noise.
    """
    digest = hashlib.sha256(f"{use} {seed} {trial}".encode()).digest()
    generator = torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return torch.stack([torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(count)])


def forward(x0: torch.Tensor, steps: Steps, noise: torch.Tensor, kind: str) -> torch.Tensor:
    """Return x_0 to x_T, (T + 1, *shape), for a trial's noise (T, *shape).

    Args:
        x0: Image or latent.
        steps: Steps of the schedule.
        noise: Noise of the trial.
        kind: `step` draws from q(x_t | x_{t-1}) with new noise in each step. `trial` uses the first step's noise
            in
            all steps, as eq. 7 of SelfEval literally says; the marginals are then wrong. `marginal` draws from
            q(x_t | x_0) with the first step's noise in all steps.
    """
    chain = [x0]
    for i in range(len(steps)):
        if kind == "marginal":
            chain.append(steps.signal[i].sqrt() * x0 + (1 - steps.signal[i]).sqrt() * noise[0])
        else:
            own = noise[i] if kind == "step" else noise[0]
            chain.append((1 - steps.beta[i]).sqrt() * chain[-1] + steps.beta[i].sqrt() * own)
    return torch.stack(chain)


def predict_image(x: torch.Tensor, output: torch.Tensor, signal: torch.Tensor, prediction: str) -> torch.Tensor:
    """Return the image that a denoiser's output predicts."""
    if prediction == "sample":
        return output
    if prediction == "v_prediction":
        return signal.sqrt() * x - (1 - signal).sqrt() * output
    return (x - (1 - signal).sqrt() * output) / signal.sqrt()


def predict_noise(x: torch.Tensor, output: torch.Tensor, signal: torch.Tensor, prediction: str) -> torch.Tensor:
    """Return the noise that a denoiser's output predicts."""
    if prediction == "epsilon":
        return output
    return (x - signal.sqrt() * predict_image(x, output, signal, prediction)) / (1 - signal).sqrt()


def mean_before(x: torch.Tensor, image: torch.Tensor, steps: Steps, i: int) -> torch.Tensor:
    """Return the mean of p(x_{t-1} | x_t), which is that of q(x_{t-1} | x_t, x_0) for the predicted image."""
    beta, signal, before = steps.beta[i], steps.signal[i], steps.before[i]
    return (before.sqrt() * beta * image + (1 - beta).sqrt() * (1 - before) * x) / (1 - signal)


def learned_variance(output: torch.Tensor, steps: Steps, i: int) -> torch.Tensor:
    """Return the learned variance: -1 means the posterior's, 1 means beta, interpolated logarithmically."""
    share = (output + 1) / 2
    return torch.exp(share * steps.beta[i].log() + (1 - share) * steps.posterior[i].log())


def log_normal(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> float:
    """Return the log density, in nats, of a Gaussian with independent coordinates."""
    terms = (x - mean) ** 2 / variance + torch.log(2 * math.pi * variance)
    return -0.5 * float(terms.sum())
