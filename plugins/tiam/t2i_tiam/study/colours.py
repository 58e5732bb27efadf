"""Distances between the reference colours (paper: Figure 12)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from t2i_core.api.figure import HeatMap
from t2i_core.api.study import Analysis

from ..references import Lab


def reference_distances(references: Mapping[str, Lab]) -> Analysis:
    """Return the Euclidean distances in CIELAB between the reference colours."""
    points = np.array(list(references.values()))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    grid = pd.DataFrame(distances, index=list(references), columns=list(references))
    table = grid.rename_axis("reference").reset_index()
    long = table.melt("reference", var_name="to", value_name="distance")
    most = float(distances.max()) or 1.0
    figure = HeatMap(x="to", y="reference", value="distance", range=(0, most), digits=0, data=long)
    return Analysis("reference colours", "Distances between the reference colours in CIELAB.", table, figure)
