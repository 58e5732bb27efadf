"""The terms of one image's likelihood under several captions.

Arrays are float64 with the shape (trials, steps, captions); step i holds the term of x_i given x_{i+1}, or NaN
after a caption was given up. A term depends neither on the other terms nor on the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption

from .arithmetic import (
    draw_noise,
    forward,
    learned_variance,
    log_normal,
    mean_before,
    predict_image,
    predict_noise,
)
from .denoiser import Asking, Denoiser
from .elimination import find_survivors, list_looks, order
from .likelihood_params import LikelihoodParams
from .schedules import Steps, midpoints, respace

Terms = dict[str, NDArray[np.float64]]


class NotNumbers(Exception):
    """Raised if the model returns values that are not numbers."""


@dataclass(frozen=True)
class TermQuestion:
    """One trial and step, evaluated for all captions.

    Attributes:
        term: Function from the denoiser's output to the term.
    """

    x: torch.Tensor
    time: float
    term: Callable[[torch.Tensor], float]


Trial = Callable[[int], TermQuestion]
"""Function from a trial to its questions, one per step."""


def errors(denoiser: Denoiser, x0: torch.Tensor, captions: Sequence[str], want: LikelihoodParams) -> Terms:
    """Return mean squared errors of the predicted noise or, for a flow, of the predicted velocity.

    Returns:
        `error`: The mean over all coordinates. `weight`, for flows: the mean over steps of weight * error, in
        nats, is an upper bound of -log p, up to a constant that captions share.
    """
    schedule = denoiser.schedule
    times = midpoints(schedule.length, want.steps)
    share = times.double() / schedule.length
    betas = torch.zeros(schedule.length) if schedule.betas is None else schedule.betas
    signal = torch.cumprod(1 - betas, 0)[times]

    def of_flow(i: int, noise: torch.Tensor) -> TermQuestion:
        velocity = noise - x0
        x = (1 - share[i]) * x0 + share[i] * noise
        return TermQuestion(x, float(share[i]), lambda output: _mean_square(velocity - output))

    def of_noise(i: int, noise: torch.Tensor) -> TermQuestion:
        x = signal[i].sqrt() * x0 + (1 - signal[i]).sqrt() * noise

        def term(output: torch.Tensor) -> float:
            prediction, _ = split_output(output, x)
            return _mean_square(noise - predict_noise(x, prediction, signal[i], schedule.prediction))

        return TermQuestion(x, float(times[i]), term)

    ask = of_flow if schedule.is_flow else of_noise

    def trial(n: int) -> Trial:
        noise = draw_noise(want.seed, n, want.steps, x0.shape)
        return lambda i: ask(i, noise[i])

    found = {"error": _evaluate(denoiser, captions, want, trial, sign=-1)}
    if schedule.is_flow:
        weight = x0.numel() * (1 - share) / share
        found["weight"] = np.broadcast_to(weight.numpy()[None, :, None], found["error"].shape).copy()
    return found


def chain(denoiser: Denoiser, x0: torch.Tensor, captions: Sequence[str], want: LikelihoodParams) -> Terms:
    """Return log densities, in nats, of a chain from the image to noise.

    Flows have no such chain (`check_terms`).

    Returns:
        `log_p` of p(x_{t-1} | x_t, caption); `log_prior` of p(x_T), (trials, captions), equal for all captions;
        and `log_q` of q(x_t | x_{t-1}), equal for all captions, if each step has its own noise.
    """
    assert denoiser.schedule.betas is not None
    steps = respace(denoiser.schedule.betas, want.steps)
    shape = (want.trials, want.steps, len(captions))
    found: Terms = {"log_prior": np.full((want.trials, len(captions)), np.nan)}
    if want.noise == "step":
        found["log_q"] = np.full(shape, np.nan)

    def drawn(n: int) -> torch.Tensor:
        xs = forward(x0, steps, draw_noise(want.seed, n, want.steps, x0.shape), want.noise)
        zero, one = torch.zeros_like(x0), torch.ones((), dtype=torch.float64)
        found["log_prior"][n] = log_normal(xs[-1], zero, one)
        if "log_q" in found:
            for i, beta in enumerate(steps.beta):
                found["log_q"][n, i] = log_normal(xs[i + 1], (1 - beta).sqrt() * xs[i], beta)
        return xs

    def step(i: int, x: torch.Tensor, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        prediction, learned = split_output(output, x)
        image = predict_image(x, prediction, steps.signal[i], denoiser.schedule.prediction)
        return mean_before(x, image, steps, i), _variance(want.variance, learned, steps, i)

    def trial(n: int) -> Trial:
        xs = drawn(n)

        def question(i: int) -> TermQuestion:
            x, before = xs[i + 1], xs[i]
            return TermQuestion(x, float(steps.timesteps[i]), lambda o: log_normal(before, *step(i, x, o)))

        return question

    def reverse_noise(n: int) -> torch.Tensor | None:
        if want.chain == "free-running-mean":
            return None
        return draw_noise(want.seed, n, want.steps, x0.shape, "reverse process")

    if want.chain == "forward":
        log_p = _evaluate(denoiser, captions, want, trial, sign=1)
    else:
        log_p = np.full(shape, np.nan)
        at_once = max(1, denoiser.batches.size // len(captions))
        for first in range(0, want.trials, at_once):
            trials = range(first, min(first + at_once, want.trials))
            _run_freely(denoiser, captions, steps, {n: drawn(n) for n in trials}, step, log_p, reverse_noise)
    return {"log_p": log_p, **found}


Step = Callable[[int, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""Function from step, sample and output to the mean and variance of the previous sample."""


def _run_freely(
    denoiser: Denoiser,
    captions: Sequence[str],
    steps: Steps,
    chains: dict[int, torch.Tensor],
    step: Step,
    log_p: NDArray[np.float64],
    reverse_noise: Callable[[int], torch.Tensor | None],
) -> None:
    """Fill log_p for some trials: the denoiser starts from x_T and continues from its own output (section 3.3).

    Args:
        denoiser: The model.
        captions: The captions.
        steps: Steps of the schedule.
        chains: x_0 to x_T of each trial.
        step: Gives mean and variance of the previous sample.
        log_p: To be filled, (trials, steps, captions).
        reverse_noise: Gives the noise of a trial's samples, (T, *shape), which all captions share; None to
            continue from the means.
    """
    noises = {n: reverse_noise(n) for n in chains}
    places = [(n, k) for n in chains for k in range(len(captions))]
    now = {(n, k): chains[n][-1] for n, k in places}
    for i in reversed(range(len(steps))):
        time = float(steps.timesteps[i])
        asked = [(Asking(now[place], time, captions[place[1]]), place) for place in places]
        for (n, k), output in denoiser.ask(asked):
            mean, variance = step(i, now[n, k], output)
            log_p[n, i, k] = _number(log_normal(chains[n][i], mean, variance))
            noise = noises[n]
            now[n, k] = mean if noise is None else mean + variance.sqrt() * noise[i]


def split_output(output: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Split a denoiser's output into the prediction and the learned variance, if there is one."""
    if output.shape == x.shape:
        return output, None
    if output.shape[1:] != x.shape[1:] or len(output) != 2 * len(x):
        raise ValueError(f"its denoiser gives {tuple(output.shape)} for {tuple(x.shape)}")
    prediction, variance = output.chunk(2)
    return prediction, variance


def _variance(kind: str, learned: torch.Tensor | None, steps: Steps, i: int) -> torch.Tensor:
    if kind == "learned" and learned is None:
        raise BadOption("likelihood, param variance: this model has no learned variance; set posterior or beta")
    if learned is not None and kind in ("auto", "learned"):
        return learned_variance(learned, steps, i)
    return steps.beta[i] if kind == "beta" else steps.posterior[i]


def _evaluate(
    denoiser: Denoiser, captions: Sequence[str], want: LikelihoodParams, trial: Callable[[int], Trial], sign: int
) -> NDArray[np.float64]:
    """Evaluate terms until all captions are decided; `sign` is 1 if higher terms are better, otherwise -1."""
    terms = np.full((want.trials * want.steps, len(captions)), np.nan)
    left = list(range(len(captions)))
    places, done = order(want), 0
    for look, until in enumerate(list_looks(want)):
        fresh = sorted(places[done:until])
        for (place, caption, term), output in denoiser.ask(_questions(fresh, left, captions, want.steps, trial)):
            terms[place, caption] = _number(term(output))
        done = until
        if not want.gives_up or done == len(places):
            break
        kept = find_survivors(sign * terms[places[:done]][:, left], want, look, len(captions))
        left = [left[i] for i in kept]
        if len(left) == 1:
            break
    return terms.reshape(want.trials, want.steps, len(captions))


Tag = tuple[int, int, Callable[[torch.Tensor], float]]


def _questions(
    places: Iterable[int], left: Sequence[int], captions: Sequence[str], steps: int, trial: Callable[[int], Trial]
) -> Iterator[tuple[Asking, Tag]]:
    """Yield the questions trial by trial, so that only one trial's noise is in memory."""
    for n, of_trial in groupby(places, key=lambda place: place // steps):
        question_of = trial(n)
        for place in of_trial:
            question = question_of(place % steps)
            for caption in left:
                yield Asking(question.x, question.time, captions[caption]), (place, caption, question.term)


def _mean_square(difference: torch.Tensor) -> float:
    return float((difference**2).mean())


def _number(term: float) -> float:
    if not math.isfinite(term):
        raise NotNumbers("its denoiser gives values that are")
    return term
