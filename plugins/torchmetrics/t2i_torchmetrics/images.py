"""What is known of image files beside their vectors: formats and sizes, on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Derive
from t2i_core.files.image_file import read_header

from t2i_torchmetrics.reference import RULES, format_of


def _size(pixels: NDArray[np.uint8], _: Any) -> Mapping[str, NDArray[np.int32]]:
    return {"size": np.array(pixels.shape[1::-1], np.int32)}


SIZE = Derive("size", _size)
"""Width and height, kept beside the features of a generated image."""


@dataclass
class Seen:
    """How many files there are of each format, and images of each width and height."""

    formats: Counter[str] = field(default_factory=Counter)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, path: Path, size: tuple[int, int]) -> None:
        """Count one image."""
        self.formats[format_of(path)] += 1
        self.sizes[size] += 1


def seen_in(files: list[Path]) -> Seen:
    """Count files of a folder, which are images: only their heads are read."""
    seen = Seen()
    for path in files:
        seen.add(path, read_header(path, RULES).size)
    return seen
