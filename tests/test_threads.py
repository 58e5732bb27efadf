"""Images do not depend on the number of threads beyond rounding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from t2i_core import load_run

LEVELS = 2
"""Largest allowed difference of a pixel value, of 255. Measured: 1."""


def generate(folder: Path, threads: int) -> dict[str, np.ndarray]:
    """Return the images of `mini` that a process with this many threads generates, by prompt and seed."""
    done = subprocess.run(
        [sys.executable, "-m", "t2i_cli", "eval", "--metric", "tiam", "--model", "mini", "--prompts", "tiam-5-2",
         "--limit", "4", "--seeds", "2", "--out", folder / "run"],
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "T2I_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = load_run(folder / "run")
    assert run.manifest.device.threads == str(threads)
    return {
        f"{sample.prompt} {sample.seed}": np.asarray(Image.open(folder / "run" / sample.image), dtype=int)
        for sample in run.samples().itertuples()
    }


@pytest.mark.slow
def test_images_depend_on_the_number_of_threads_by_rounding_alone(tmp_path: Path) -> None:
    alone = generate(tmp_path / "1", 1)
    assert len(alone) == 8
    for threads in (2, 4):
        for sample, pixels in generate(tmp_path / str(threads), threads).items():
            assert abs(pixels - alone[sample]).max() <= LEVELS
