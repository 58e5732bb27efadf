"""A slow model that says what it draws: for tests that kill the process while it makes a data set.

python drawing_world.py CACHE RUN PROMPTS SEEDS PAUSE [SHARD]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.api import Generated, GeneratorInfo, Instance, ObjectClass, Prompt, PromptSourceInfo, Truth
from t2i_core.api.mask import PackedMask
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.testing import StaticResolver

SIZE = 64
LABELS = (ObjectClass("disc", None), ObjectClass("box", None))


class Drawing:
    """Draws two things where prompt and seed say."""

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            time.sleep(float(os.environ["DRAWING_PAUSE"]))  # a value in the code would make it another model
            yield request, drawn(int(request.prompt.id), request.seed)


def drawn(prompt: int, seed: int) -> Generated:
    """A disc and a box on noise."""
    rng = np.random.default_rng([prompt, seed])
    pixels = rng.integers(1, 100, (SIZE, SIZE, 3), dtype=np.uint8)
    y, x = np.mgrid[:SIZE, :SIZE]
    (cx, cy), radius = rng.integers(12, 30, 2), rng.integers(5, 12)
    disc = (x - cx) ** 2 + (y - cy) ** 2 <= radius**2
    box = (abs(x - cx - 25) < radius) & (abs(y - cy) < 8) & ~disc
    instances = []
    for cls, mask, colour in zip(LABELS, (disc, box), (220, 160), strict=True):
        pixels[mask] = colour
        packed = PackedMask.pack(mask)
        instances.append(Instance(cls, "grey", packed.box, packed))
    return Generated(pixels, truth=Truth((SIZE, SIZE), tuple(instances)))


def main(cache: str, run: str, prompts: str, seeds: str, pause: str, shard: str | None = None) -> None:
    """Make the data set of so many prompts and seeds; seconds of rest before each image."""
    os.environ |= {"T2I_CACHE_DIR": cache, "DRAWING_PAUSE": pause}
    listed = [Prompt(str(n), f"a disc and a box, number {n}") for n in range(int(prompts))]
    request = Request(
        metrics=(),
        models=(
            ModelRequest(
                GeneratorInfo(
                    name="drawing",
                    summary="Draws.",
                    create=lambda setup: Drawing(),
                    labels=lambda argument, options: LABELS,
                )
            ),
        ),
        prompts=("numbers",),
        seeds=tuple(range(int(seeds))),
        out=Path(run),
        shard=shard,
    )
    source = PromptSourceInfo(name="numbers", summary="Numbers.", prompts=lambda setup: listed)
    done = run_plan(make_plan(request, StaticResolver(source)))
    print(done.made.images)


if __name__ == "__main__":
    main(*sys.argv[1:])
