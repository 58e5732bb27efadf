"""Formats and sizes of image files on both sides of a distance."""

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

from t2i_torchmetrics.reference import RULES, find_format


def _size(pixels: NDArray[np.uint8], _: Any) -> Mapping[str, NDArray[np.int32]]:
    return {"size": np.array(pixels.shape[1::-1], np.int32)}


SIZE = Derive("size", _size)
"""Width and height, stored with the features of a generated image."""


@dataclass
class Seen:
    """Number of files by format, and of images by width and height."""

    formats: Counter[str] = field(default_factory=Counter)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, path: Path, size: tuple[int, int]) -> None:
        """Count one image."""
        self.formats[find_format(path)] += 1
        self.sizes[size] += 1


def count_files(files: list[Path]) -> Seen:
    """Count the image files of a folder; read only their headers."""
    seen = Seen()
    for path in files:
        seen.add(path, read_header(path, RULES).size)
    return seen
