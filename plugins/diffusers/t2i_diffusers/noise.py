"""Random numbers: the starting noise depends only on the seed and the image's shape.

Each image has its own generator on the CPU, which the pipeline and its scheduler draw from. Therefore neither
batch nor order nor device changes an image. Each stage of a chain has its own generators, so that the number of
steps of one stage does not change the noise of the next. An image of the stage `main` starts from the same noise
as `pipeline(..., generator=torch.Generator().manual_seed(seed))`. On the CPU, torch draws the same numbers in
every precision, up to rounding, if their count is a multiple of 16, as in the latents of all usual sizes. unCLIP
is one pipeline with three stages; it draws the noise of the first, and this module passes it the noise of the
others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

MAIN = "main"
"""The stage whose noise uses the seed itself."""


def stage_seed(seed: int, stage: str) -> int:
    """Return the seed of one stage's noise, 0 to 2**63 - 1 except for the main stage, which keeps the seed."""
    if stage == MAIN:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {stage}".encode()).digest()[:8], "big") >> 1


def generators(seeds: Sequence[int], stage: str = MAIN) -> list[torch.Generator]:
    """Return one generator per image, on the CPU."""
    return [torch.Generator("cpu").manual_seed(stage_seed(seed, stage)) for seed in seeds]


def for_call(own: list[torch.Generator]) -> torch.Generator | list[torch.Generator]:
    """Return the generators as a pipeline takes them; some pipelines take no list, but all take one generator."""
    return own[0] if len(own) == 1 else own


def karlo_noise(pipe: Any, seeds: Sequence[int]) -> dict[str, torch.Tensor]:
    """Return the starting noise of the second and third stage of an unCLIP pipeline."""
    shapes = {
        "decoder": (pipe.decoder.config.in_channels, pipe.decoder.config.sample_size, pipe.decoder.dtype),
        "super_res": (
            pipe.super_res_first.config.in_channels // 2,
            pipe.super_res_first.config.sample_size,
            pipe.super_res_first.dtype,
        ),
    }
    return {
        f"{stage}_latents": torch.cat(
            [torch.randn((1, channels, side, side), generator=g) for g in generators(seeds, stage)]
        ).to(dtype)
        for stage, (channels, side, dtype) in shapes.items()
    }


@contextmanager
def watch_global_draws(seed: int, device: torch.device) -> Iterator[UnseededDraws]:
    """Seed the global generators, detect whether they are used, and restore them afterwards.

    Numbers drawn without a generator would depend on the batch. A pipeline that does so must draw one image at a
    time.
    """
    accelerated = device.type in ("cuda", "mps")
    devices = [device] if accelerated else []
    with torch.random.fork_rng(devices, device_type=device.type if accelerated else "cuda"):
        torch.manual_seed(seed)
        draws = UnseededDraws(device)
        yield draws
        draws.check()


class UnseededDraws:
    """Whether the global generators were used: `happened`, after `look` was called."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = self._state()
        self.happened = False

    def check(self) -> None:
        """Compare the generators with their state at the beginning."""
        self.happened = any(not torch.equal(a, b) for a, b in zip(self._before, self._state(), strict=True))

    def _state(self) -> list[torch.Tensor]:
        states = [torch.get_rng_state()]
        if self._device.type == "cuda":
            states.append(torch.cuda.get_rng_state(self._device))
        elif self._device.type == "mps":
            states.append(torch.mps.get_rng_state())
        return states
