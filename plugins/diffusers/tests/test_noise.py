"""The starting noise depends on seed and shape alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from t2i_diffusers.noise import generators, stage_seed, watch_global_draws

CPU = torch.device("cpu")


def test_the_main_stage_keeps_the_seed_and_others_have_their_own() -> None:
    assert stage_seed(7, "main") == 7
    others = {stage_seed(seed, stage) for seed in (7, 8) for stage in ("prior", "upscaler", "decoder")}
    assert len(others) == 6
    assert all(0 <= seed < 2**63 for seed in others)
    assert stage_seed(7, "prior") == 4_589_318_578_072_811_607, "seeds of stages must last"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_starts_from_the_same_noise(dtype: torch.dtype) -> None:
    from diffusers.utils.torch_utils import randn_tensor

    for shape in ((2, 4, 64, 64), (2, 768), (2, 16, 2048), (2, 1, 4, 4)):
        whole = randn_tensor(shape, generators([3, 4]), CPU, torch.float32)
        half = randn_tensor(shape, generators([3, 4]), CPU, dtype)
        assert torch.equal(half, whole.to(dtype))


def test_draws_without_a_generator_are_noticed_and_undone() -> None:
    before = torch.get_rng_state()
    with watch_global_draws(5, CPU) as quiet:
        torch.randn(4, generator=torch.Generator().manual_seed(1))
    with watch_global_draws(5, CPU) as loud:
        first = torch.randn(4)
    with watch_global_draws(5, CPU):
        second = torch.randn(4)
    assert not quiet.happened
    assert loud.happened
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_image_is_the_pipelines_own_under_this_seed(model: Any, draw: Any, requests: Any) -> None:
    loaded = model()
    request = replace(requests[0], seed=1, noise_seed=11)
    (answer,) = draw(loaded, [request])
    plain = loaded.loaded.main.pipe(
        request.prompt.text, num_inference_steps=2, generator=torch.Generator().manual_seed(11), output_type="np"
    ).images[0]
    assert np.array_equal(answer.image, (plain * 255).round().astype(np.uint8))


def _starting_noise(loaded: Any, draw: Any, request: Any, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The latents that each part of a chain begins with."""
    seen: list[torch.Tensor] = []

    def listen(pipe: Any) -> None:
        for name in ("decoder", "super_res_first", "unet"):
            part = getattr(pipe, name, None)
            if part is not None:
                forward = part.forward
                first: list[bool] = []

                def call(*args: Any, _forward: Any = forward, _first: list[bool] = first, **kwargs: Any) -> Any:
                    if not _first:
                        _first.append(True)
                        sample = kwargs["sample"] if "sample" in kwargs else args[0]
                        seen.append(sample[:1, :3].detach().clone())
                    return _forward(*args, **kwargs)

                monkeypatch.setattr(part, "forward", call)

    for stage in loaded.loaded.stages:
        listen(stage.pipe)
    draw(loaded, [request])
    return seen


@pytest.mark.long
@pytest.mark.parametrize(
    ("pipeline", "changes"),
    [
        ("UnCLIPPipeline", {"call": {"prior_num_inference_steps": 5, "super_res_num_inference_steps": 2}}),
        ("KandinskyPipeline", {"prior": {"steps": 5}}),
        ("IFPipeline", {"steps": 5}),
    ],
)
def test_steps_of_one_stage_leave_the_next_ones_noise_alone(
    pipeline: str, changes: Any, model: Any, draw: Any, requests: Any, checkpoint: Any, monkeypatch: Any
) -> None:
    _, options = checkpoint(pipeline)
    for name, stage in options.items():
        if name in changes and isinstance(stage, dict):
            changes[name] = {**stage, **changes[name]}
    few = _starting_noise(model(pipeline), draw, requests[0], monkeypatch)
    many = _starting_noise(model(pipeline, **changes), draw, requests[0], monkeypatch)
    assert len(few) == len(many) == {"UnCLIPPipeline": 2, "KandinskyPipeline": 1, "IFPipeline": 2}[pipeline]
    for a, b in zip(few, many, strict=True):
        assert torch.equal(a, b)
