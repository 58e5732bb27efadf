import numpy as np
import pytest
from colour_rule import REFERENCES, paints_read, shares, to_lab
from t2i_miniworld.palette import PAINTS, to_linear, to_srgb


def test_srgb_survives_the_way_to_light_and_back():
    values = np.arange(256)
    np.testing.assert_array_equal(to_srgb(to_linear(values)), values)


def test_lab_of_known_colours():
    lab = to_lab(np.array([[255, 255, 255], [0, 0, 0], [255, 0, 0]], np.uint8))
    np.testing.assert_allclose(lab, [[100, 0, 0], [0, 0, 0], [53.24, 80.09, 67.20]], atol=0.05)


@pytest.mark.parametrize("paint", PAINTS)
@pytest.mark.parametrize("light", [0.31, 0.5, 1.0, 1.6, 2.5])
def test_paints_are_read_rightly_in_shade_and_in_sun(paint, light):
    lit = to_srgb(to_linear(PAINTS[paint]) * light)
    assert paints_read(lit[None]) == {paint}


def test_shares_of_no_pixels_are_zero():
    assert shares(np.zeros((0, 3), np.uint8)) == dict.fromkeys(REFERENCES, 0.0)
