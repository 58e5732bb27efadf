"""Two captions whose images are Gaussians: accuracy has a closed form, and intervals hold it.

With 20 salts: a line of docs/validation.md, held by tests/test_validation.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.long
@pytest.mark.parametrize(("delta", "tau", "trials"), [(1, 0.0, 1), (2, 4.0, 4)])
def test_accuracy_is_what_distance_and_noise_make_of_it(
    delta: float, tau: float, trials: int, gaussian_captions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    world = gaussian_captions.GaussianWorld(delta, tau, trials)
    (result,) = world.evaluated(300, 0, tmp_path).results
    accuracy = result.scores["accuracy"]
    low, high = accuracy.ci
    assert low <= world.accuracy <= high
    assert result.score == pytest.approx(accuracy.value - 0.5)
    assert high - low < 0.13


def test_the_law_is_that_of_one_gaussian_against_another(gaussian_captions: Any) -> None:
    assert gaussian_captions.GaussianWorld(2, 0.0, 1).accuracy == pytest.approx(0.8413, abs=1e-4)  # Phi(delta / 2)
    far = [gaussian_captions.GaussianWorld(2, 4.0, trials).accuracy for trials in (1, 4, 10_000)]
    assert far == pytest.approx([0.6726, 0.7602, 0.8413], abs=2e-4)
