"""Variance of the Laplacian, the focus measure of Pech-Pacheco et al. (2000)."""

import numpy as np
from t2i_core.api import Derive, Metric, Need, Row


def variance_of_laplacian(pixels, _):
    """Return the variance of the Laplacian of an image's luminance, mirrored at the edges."""
    y = np.pad(pixels @ np.array([0.299, 0.587, 0.114]), 1, "symmetric")
    laplacian = y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:] - 4 * y[1:-1, 1:-1]
    return {"variance": np.array([laplacian.var()])}


class Sharpness(Metric):
    """Gives the sharpness of each image."""

    needs = (Need("edges", "pixels", derive=Derive("variance", variance_of_laplacian)),)

    def measure(self, unit):
        """Turn one image into one row."""
        yield Row("sharpness", float(unit.one().derived("edges")["variance"][0]))
