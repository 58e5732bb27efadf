"""How far the reference colours lie from each other (paper: Figure 12)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from t2i_core.api.study import Analysis

from ..references import Lab
from .drawing import heat_map


def reference_distances(references: Mapping[str, Lab]) -> Analysis:
    """The Euclidean distances in CIELAB by which pixels are given to references."""
    points = np.array(list(references.values()))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    grid = pd.DataFrame(distances, index=list(references), columns=list(references))
    table = grid.rename_axis("reference").reset_index()
    most = float(distances.max()) or 1.0
    figure = partial(heat_map, grid, "distance", high=most, text="{:.0f}")
    return Analysis("reference colours", "Distances of the reference colours in CIELAB.", table, figure)
