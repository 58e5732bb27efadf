"""The real checkpoints, for who has a GPU and the hub: `pytest -m weights plugins/diffusers -k sd14`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from t2i_core.api import Generated, ImageRequest, Setup
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators
from t2i_diffusers.presets import KNOWN, KnownModel

pytestmark = [pytest.mark.weights, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("known", KNOWN, ids=lambda k: k.name)
def test_it_is_fetched_and_then_draws_offline_the_same_in_any_batch(
    known: KnownModel, draw: Any, requests: Any
) -> None:
    info = next(i for i in t2i_generators() if i.name == known.of)
    setup = Setup(known.repository, DiffusersOptions(**known.options))
    info.loading.prefetch(setup)
    options = info.loading.resolve(setup)
    two: list[ImageRequest] = [requests[0], requests[3]]
    images = []
    for batch_size in (2, 1):
        model = info.create(Setup(known.repository, options, batch_size=batch_size, offline=True))
        answers = draw(model, two)
        assert all(isinstance(a, Generated) for a in answers), answers
        assert all(a.record["tokens_lost"] == 0 for a in answers)
        images.append(np.stack([a.image for a in answers]).astype(int))
        model.close()
    height, width = known.options.get("height", 256), known.options.get("width", 256)
    assert images[0].shape == (2, height, width, 3)
    assert images[0].std() > 10, "a picture, no flat area"
    # in half precision another batch takes other kernels, whose roundings dozens of steps carry far in places
    assert np.abs(images[0] - images[1]).mean() < 8
