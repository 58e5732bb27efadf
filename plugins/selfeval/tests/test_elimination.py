"""Captions that cannot win are given up: the same decisions as by all terms, at a fraction of the calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from t2i_diffusers.likelihood_params import LikelihoodParams
from t2i_diffusers.schedules import Schedule
from t2i_diffusers.terms import chain
from t2i_selfeval.estimators import certainty, score_remaining, share

TRIALS, STEPS = 10, 100


class PerfectDenoiser:
    """Finds the noise that is there, if the image is of the caption's Gaussian."""

    def __init__(self, world: Any, betas: torch.Tensor) -> None:
        self.world, self.calls = world, 0
        self.schedule = Schedule("epsilon", betas, len(betas))
        self.batches = SimpleNamespace(size=8)
        self._signal = torch.cumprod(1 - betas, 0)

    def ask(self, askings: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, torch.Tensor]]:
        for asking, tag in askings:
            self.calls += 1
            noise = self.world.noise_in(asking.x, self._signal[int(asking.time)])
            yield tag, noise[int(asking.caption)]


def test_the_generators_own_terms_are_those_of_the_benchmark(elimination: Any) -> None:
    """And so are those that it gives up."""
    world = elimination.CaptionWorld.of(3, 8.0, seed=3)
    x0, captions = world.image(1, 4), ("0", "1", "2")
    for rate in (None, 0.05):
        want = LikelihoodParams(trials=2, steps=40, error_rate=rate)
        denoiser = PerfectDenoiser(world, elimination.betas())
        own = chain(denoiser, x0, captions, want)["log_p"]
        terms = elimination.all_terms(world, x0, want)
        expected, asked = (terms, terms.size) if rate is None else elimination.eliminate(terms, want)
        np.testing.assert_allclose(own, expected, rtol=1e-6)
        assert denoiser.calls == asked
    assert np.isnan(own).any()


def test_sure_decisions_stay_at_a_fifth_of_the_calls(elimination: Any) -> None:
    sure = elimination.sure(list(elimination.toy(12, TRIALS, STEPS, nearest=12)))
    assert len(sure) >= 6
    assert all(certainty(terms) >= 10 for terms, _ in sure)
    (point,) = elimination.curve(sure, [0.05])
    assert point.same == 1
    assert point.calls <= 0.2


@pytest.mark.slow
def test_of_300_sure_decisions_99_in_100_stay_and_so_does_accuracy(elimination: Any) -> None:
    sampled = list(elimination.toy(1300, TRIALS, STEPS))
    (sure,) = elimination.curve(elimination.sure(sampled), [0.05])
    assert sure.samples == 300
    assert sure.same >= 0.99
    assert sure.calls <= 0.2
    (every,) = elimination.curve(sampled, [0.05])
    assert every.accuracy == pytest.approx(every.accuracy_by_all_terms, abs=0.01)
    assert every.same >= 0.95  # the error rate


def test_a_smaller_error_rate_costs_calls_and_accuracy_stays(elimination: Any) -> None:
    sampled = list(elimination.toy(20, TRIALS, STEPS))
    strict, usual, loose = elimination.curve(sampled, [0.001, 0.05, 0.3])
    assert strict.calls > usual.calls > loose.calls
    assert strict.same >= usual.same >= 0.9
    assert usual.accuracy == pytest.approx(usual.accuracy_by_all_terms, abs=0.05)


def test_equal_captions_share_the_decision(elimination: Any) -> None:
    world = elimination.CaptionWorld(torch.zeros(2, 16, dtype=torch.float64), 1.0)
    terms = elimination.all_terms(world, world.image(0, 0), LikelihoodParams(trials=2, steps=10))
    seen, asked = elimination.eliminate(terms, LikelihoodParams(trials=2, steps=10, error_rate=0.05))
    assert asked == terms.size
    assert share(score_remaining(seen), 0) == 0.5
