import numpy as np
import pytest
from scipy.ndimage import laplace
from t2i_core.testing import MetricContract, sample_images
from t2i_sharpness.metric import variance_of_laplacian


class TestSharpness(MetricContract):
    module = "t2i_sharpness.plugin"
    name = "sharpness"


def test_golden_value(tmp_path):
    for image in sample_images(tmp_path):
        luminance = image.pixels @ [0.299, 0.587, 0.114]
        kept = variance_of_laplacian(image.pixels, None)
        assert kept["variance"][0] == pytest.approx(laplace(luminance).var())


def test_a_flat_image_has_no_edges():
    assert variance_of_laplacian(np.full((1, 5, 3), 200, np.uint8), None)["variance"][0] == 0
