"""Every pipeline class of the presets, on a tiny checkpoint of the real classes: loaded and drawn with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from t2i_core.api import Generated
from t2i_diffusers.presets import KNOWN

PIPELINES = sorted({known.pipeline for known in KNOWN})
TOLERANCE = 2
"""How far a pixel of 0 to 255 may move with the batch: sums in another order, then rounding."""


@pytest.mark.long
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_images_depend_neither_on_batch_nor_on_order(pipeline: str, model: Any, draw: Any, requests: Any) -> None:
    loaded = model(pipeline, batch_size=7)
    together = draw(loaded, requests)
    loaded.batch_size = 1
    some = [0, 3, 6]  # an image of each prompt
    alone = draw(loaded, [requests[i] for i in some[::-1]])[::-1]
    assert all(isinstance(a, Generated) for a in (*together, *alone))
    a, b = (np.stack([answer.image for answer in group]).astype(int) for group in (together, alone))
    assert np.abs(a[some] - b).max() <= TOLERANCE
    assert np.abs(a[0] - a[1]).max() > 3 * TOLERANCE, "seeds make no difference, so the comparison shows nothing"
    assert np.abs(a[0] - a[3]).max() > 3 * TOLERANCE, "prompts make no difference, so the comparison shows nothing"
    assert loaded.settings["pipeline"] == pipeline
    assert loaded.settings["batch_size"]["halved_for_memory"] == 0
    assert loaded.settings["size"] == list(a.shape[2:0:-1])


LIMITS = {
    # a letter is a token of the tiny tokenizers, whose special tokens count; FLUX's second encoder saw more
    "StableDiffusionPipeline": (77, 2),
    "StableDiffusionXLPipeline": (77, 2),
    "UnCLIPPipeline": (77, 2),
    "LDMTextToImagePipeline": (77, 2),
    "FluxPipeline": (48, 1),
    "KandinskyPipeline": (77, 2),
    "IFPipeline": (77, 1),
    "Kandinsky3Pipeline": (128, 1),
}


@pytest.mark.long
@pytest.mark.parametrize("pipeline", LIMITS)
def test_tokens_that_a_prompt_loses_are_counted(pipeline: str, model: Any, draw: Any, requests: Any) -> None:
    from dataclasses import replace

    limit, special = LIMITS[pipeline]
    short, long = requests[0], requests[3]
    text = "ab " * 100
    long = replace(long, prompt=replace(long.prompt, text=text.strip()))
    first, second = draw(model(pipeline, batch_size=2, steps=2), [short, long])
    assert first.record == {"tokens_lost": 0}
    assert second.record["tokens_lost"] == 200 + special - limit
    assert max(second.record["tokens_lost_by"].values()) == second.record["tokens_lost"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("pipeline", "in_stage"),
    [("StableDiffusionPipeline", None), ("IFPipeline", None), ("KandinskyPipeline", "prior")],
)
@pytest.mark.parametrize("images", [1, 2])
def test_tokens_lost_by_a_negative_prompt_are_not_counted_for_the_prompt(
    pipeline: str, in_stage: str | None, images: int, model: Any, checkpoint: Any, draw: Any, requests: Any
) -> None:
    from dataclasses import replace

    negative = {"negative_prompt": "Ugly, blurred; a photo of a cat. " * 20}  # it holds the prompt as well
    _, options = checkpoint(pipeline)
    changes = negative if in_stage is None else {in_stage: {**options[in_stage], **negative}}
    loaded = model(pipeline, batch_size=images, steps=2, **changes)
    assert all(a.record == {"tokens_lost": 0} for a in draw(loaded, [requests[0], requests[6]][:images]))
    long = replace(requests[0], prompt=replace(requests[0].prompt, text="ab " * 100))
    limit, special = LIMITS[pipeline]
    assert draw(loaded, [long])[0].record["tokens_lost"] == 200 + special - limit
