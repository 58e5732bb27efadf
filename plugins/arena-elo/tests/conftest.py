"""Runs to vote on, and a page over them."""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core import Generated, GeneratorInfo, Prompt, PromptSourceInfo
from t2i_core.evaluation import ModelRequest, Request, make_plan, run_plan
from t2i_core.testing import StaticResolver

MakeRun = Callable[..., Path]

PROMPTS = {"p1": "a red dog", "p2": "two blue cars", "p3": "an owl at night", "p4": "seven chairs"}


class Painter:
    """Paints a ring whose colour says the model and whose place says prompt and seed."""

    def __init__(self, hue: float, size: int) -> None:
        self.hue, self.size = hue, size

    def generate(self, requests: Any) -> Iterator[tuple[Any, Generated]]:
        for request in requests:
            rng = np.random.default_rng([request.noise_seed, zlib.crc32(request.prompt.text.encode())])
            x, y = rng.uniform(0.3, 0.7, 2) * self.size
            rows, columns = np.mgrid[: self.size, : self.size]
            far = np.hypot(rows - y, columns - x) / self.size
            colour = np.array(colorsys.hsv_to_rgb(self.hue, 0.7, 0.9)) * 255
            pixels = np.where((np.abs(far - 0.2) < 0.06)[..., None], colour, 235 - 60 * far[..., None])
            yield request, Generated(pixels.astype(np.uint8))


def write_run(
    folder: Path,
    models: Sequence[str] = ("apple", "pear"),
    prompts: Mapping[str, str] = PROMPTS,
    seeds: Sequence[int] = (0, 1),
    size: int = 48,
    hue: float = 0.0,
) -> Path:
    """Have core write a run of images: each model's are of one hue."""
    source = PromptSourceInfo(
        name="listed",
        summary="Listed prompts.",
        prompts=lambda setup: (Prompt(id=id, text=text) for id, text in prompts.items()),
    )
    requests = []
    for number, label in enumerate(models):
        shade = (hue + number / max(len(models), 1)) % 1
        info = GeneratorInfo(
            name=f"painter-{shade:.2f}-{size}",
            summary="Rings.",
            create=lambda setup, shade=shade: Painter(shade, size),
        )
        requests.append(ModelRequest(info, label))
    request = Request(metrics=(), models=tuple(requests), prompts=("listed",), seeds=tuple(seeds), out=folder)
    assert run_plan(make_plan(request, StaticResolver(source))).failed is None
    return folder


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """Make runs in the test's folder."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def make(name: str = "run", **how: Any) -> Path:
        return write_run(tmp_path / name, **how)

    return make
