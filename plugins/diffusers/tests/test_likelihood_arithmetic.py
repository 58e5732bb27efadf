"""What likelihoods are made of, without a model: the golden values, closed forms, who is given up."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm
from t2i_core.api.errors import BadModel, BadOption
from t2i_diffusers.arithmetic import (
    draw_noise,
    forward,
    learned_variance,
    log_normal,
    mean_before,
    predict_image,
    predict_noise,
)
from t2i_diffusers.elimination import find_limit, find_survivors, list_looks, order
from t2i_diffusers.likelihood_params import LikelihoodParams, read_params
from t2i_diffusers.schedules import Steps, make_schedule, midpoints, respace

TOY, ELBO = json.loads(Path(__file__).with_name("selfeval_golden.json").read_text())
NOISE = {"markov": "step", "shared": "trial", "marginal": "marginal"}


def numbers(values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def chain_of(x0: torch.Tensor, xs: torch.Tensor, steps: Steps, gain: float, beta: bool, free: bool) -> float:
    """log p(x_T) + sum over t of log p(x_{t-1} | x_t) under a denoiser that says gain * x."""
    total = log_normal(xs[-1], torch.zeros_like(x0), numbers(1.0))
    seen = xs[-1]
    for i in reversed(range(len(steps))):
        seen = seen if free else xs[i + 1]
        mean = mean_before(seen, predict_image(seen, gain * seen, steps.signal[i], "epsilon"), steps, i)
        total += log_normal(xs[i], mean, steps.beta[i] if beta else steps.posterior[i])
        seen = mean
    return total


@pytest.mark.parametrize("case", TOY["expected"])
def test_the_toy_chain_of_the_golden_values(case: str) -> None:
    noise, variance, conditioning = case.split(" | ")
    given = TOY["inputs"]
    x0, steps = numbers(given["x0"]), respace(numbers(given["betas"]), 3)
    for caption, gain in given["a"].items():
        found = [
            chain_of(
                x0,
                forward(x0, steps, numbers(own), NOISE[noise]),
                steps,
                gain,
                variance.startswith("fixed_large"),
                conditioning == "free_running_mean",
            )
            for own in given["eps[n][t]"]
        ]
        assert found == pytest.approx(TOY["expected"][case][caption]["per_trial"], abs=1e-6)


def test_the_errors_of_the_golden_values() -> None:
    given = ELBO["inputs"]
    from diffusers import DDIMScheduler

    scheduler = DDIMScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear")
    schedule = make_schedule(scheduler, "StableDiffusionPipeline", "toy")
    times = midpoints(schedule.length, 4)
    assert times.tolist() == given["timesteps"]
    signal = torch.cumprod(1 - schedule.betas, 0)[times]
    assert signal.tolist() == pytest.approx(given["alphas_cumprod_at_t"], abs=1e-6)
    x0 = numbers([[[0.5, -0.25], [0.75, 0.0]]] * 4)
    noise = (1.2 * torch.sin(torch.arange(1, 65, dtype=torch.float64))).reshape(4, 4, 2, 2)
    for caption, gain in given["a"].items():
        error = []
        for share, own in zip(signal, noise, strict=True):
            x = share.sqrt() * x0 + (1 - share).sqrt() * own
            error.append(float(((own - predict_noise(x, gain * x, share, "epsilon")) ** 2).mean()))
        assert error == pytest.approx(ELBO["expected"][caption]["per_t_mse"], abs=1e-6)


def test_all_steps_of_a_schedule_are_the_schedule_and_fewer_keep_its_marginals() -> None:
    betas = torch.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=torch.float64) ** 2
    assert torch.allclose(respace(betas, 1000).beta, betas, rtol=1e-9)
    few = respace(betas, 100)
    assert (few.timesteps[0], few.timesteps[-1]) == (0, 999)
    assert torch.allclose(torch.cumprod(1 - few.beta, 0), torch.cumprod(1 - betas, 0)[few.timesteps])
    assert few.posterior[0] == few.posterior[1]
    assert (few.posterior <= few.beta + 1e-12)[1:].all()


def test_predictions_of_one_model_agree() -> None:
    x, noise, share = torch.randn(3, 4, 4).double(), torch.randn(3, 4, 4).double(), numbers(0.3)
    image = (x - (1 - share).sqrt() * noise) / share.sqrt()
    velocity = share.sqrt() * noise - (1 - share).sqrt() * image
    for output, kind in ((noise, "epsilon"), (velocity, "v_prediction"), (image, "sample")):
        assert torch.allclose(predict_image(x, output, share, kind), image)
        assert torch.allclose(predict_noise(x, output, share, kind), noise)


def test_a_learned_variance_lies_between_the_posteriors_and_betas() -> None:
    steps = respace(torch.linspace(0.01, 0.2, 10, dtype=torch.float64), 10)
    low, middle, high = (float(learned_variance(numbers(v), steps, 5)) for v in (-1.0, 0.0, 1.0))
    assert (low, high) == pytest.approx((float(steps.posterior[5]), float(steps.beta[5])))
    assert middle == pytest.approx(math.sqrt(low * high))


def test_noise_is_the_trials_own_and_the_first_steps_do_not_depend_on_how_many_there_are() -> None:
    shape = torch.Size((4, 2, 2))
    five = draw_noise(0, 3, 5, shape)
    assert torch.equal(draw_noise(0, 3, 2, shape), five[:2])
    assert not torch.equal(draw_noise(0, 4, 2, shape), five[:2])
    assert not torch.equal(draw_noise(1, 3, 2, shape), five[:2])
    many = draw_noise(0, 0, 2000, shape)
    assert abs(float(many.mean())) < 0.02
    assert abs(float(many.std()) - 1) < 0.02


def test_schedules_without_betas_and_unknown_predictions_are_refused() -> None:
    from diffusers import DDPMScheduler, EDMEulerScheduler, FlowMatchEulerDiscreteScheduler

    def of(scheduler: Any, pipeline: str = "StableDiffusionPipeline") -> Any:
        return make_schedule(scheduler, pipeline, "toy")

    assert of(FlowMatchEulerDiscreteScheduler(), "FluxPipeline").is_flow
    with pytest.raises(BadModel, match="likelihoods of a StableDiffusionPipeline with the flow scheduler"):
        of(FlowMatchEulerDiscreteScheduler())
    with pytest.raises(BadModel, match="EDMEulerScheduler has no betas"):
        of(EDMEulerScheduler())
    with pytest.raises(BadModel, match="no signal left"):
        of(DDPMScheduler(rescale_betas_zero_snr=True))
    assert of(DDPMScheduler(rescale_betas_zero_snr=True, prediction_type="v_prediction"))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"trial": 3}, "param trial: "),
        ({"trials": 0}, "param trials: "),
        ({"steps": 1}, "a chain needs at least 2"),
        ({"error_rate": 0.1, "chain": "free-running"}, "leave out error_rate and stages"),
        ({"error_rate": 0.1, "stages": [[10, 1]]}, "exclude each other"),
        ({"stages": [[10, 2], [10, 1]]}, "growing number"),
        ({"stages": [[3000, 1]]}, "3000 terms of 1000"),
        ({"guidance": 7.5}, "param guidance: "),
    ],
)
def test_params_that_make_no_sense_are_refused(params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        read_params(params)


def test_more_steps_than_the_model_was_trained_on_are_refused() -> None:
    with pytest.raises(BadOption, match="trained on 10"):
        respace(torch.full((10,), 0.1, dtype=torch.float64), 11)


@pytest.mark.parametrize(
    "want",
    [LikelihoodParams(error_rate=0.05), LikelihoodParams(stages=((20, 3), (50, 1))), LikelihoodParams(trials=3)],
)
def test_each_term_is_worked_out_at_most_once(want: LikelihoodParams) -> None:
    places, until = order(want), list_looks(want)
    assert len(set(places)) == len(places)
    assert until == sorted(until)
    assert len(places) == until[-1] <= want.trials * want.steps


def test_captions_that_cannot_win_go_and_the_best_one_seldom_does() -> None:
    generator = np.random.default_rng(0)
    want = LikelihoodParams(error_rate=0.05)
    rejected = kept = 0
    for _ in range(300):
        terms = generator.normal(size=(1000, 1)) + generator.normal(size=(1000, 3)) * [0.5, 0.5, 2.0]
        terms -= [0.0, 1.0, 0.0]  # the second is far worse, the third as good as the first, but for chance
        exact = int(terms.mean(axis=0).argmax())
        left, places = [0, 1, 2], order(want)
        for look, until in enumerate(list_looks(want)[:-1]):
            left = [left[i] for i in find_survivors(terms[places[:until]][:, left], want, look, 3)]
        rejected += 1 not in left
        kept += exact in left
    assert rejected == 300
    assert kept / 300 >= 0.95


def test_the_boundary_keeps_the_error_of_all_looks_together() -> None:
    """Means of parts of a finite population: the better of two, by all terms, seldom crosses it at any look."""
    looks = (10, 20, 40, 80, 160, 200)
    limit = find_limit(looks, 0.05)
    assert norm.isf(0.05) < limit < norm.isf(0.05 / (len(looks) - 1))
    terms = np.random.default_rng(0).normal(size=(20_000, looks[-1])).astype(np.float32)
    sums = (terms - terms.mean(axis=1, keepdims=True)).cumsum(axis=1)
    scores = [sums[:, n - 1] / np.sqrt(n * (1 - n / looks[-1])) for n in looks[:-1]]
    assert (np.max(scores, axis=0) >= limit).mean() == pytest.approx(0.05, abs=0.004)


def test_equal_captions_stay_together() -> None:
    terms = np.repeat(np.random.default_rng(0).normal(size=(64, 1)), 3, axis=1)
    assert find_survivors(terms, LikelihoodParams(error_rate=0.05), 2, 3) == [0, 1, 2]


def test_stages_keep_a_number_of_captions() -> None:
    terms = np.random.default_rng(0).normal([0, 3, 1, 2], size=(50, 4))
    assert find_survivors(terms, LikelihoodParams(stages=((50, 2), (100, 1))), 0, 4) == [1, 3]
