"""Distances between the reference colours (paper: Figure 12)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from t2i_core.api.study import Analysis

from ..references import Lab
from .drawing import draw_heat_map


def reference_distances(references: Mapping[str, Lab]) -> Analysis:
    """Return the Euclidean distances in CIELAB between the reference colours."""
    points = np.array(list(references.values()))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    grid = pd.DataFrame(distances, index=list(references), columns=list(references))
    table = grid.rename_axis("reference").reset_index()
    most = float(distances.max()) or 1.0
    figure = partial(draw_heat_map, grid, "distance", high=most, text="{:.0f}")
    return Analysis("reference colours", "Distances between the reference colours in CIELAB.", table, figure)
