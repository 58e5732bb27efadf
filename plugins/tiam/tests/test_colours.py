import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_tiam.colours import nearest
from t2i_tiam.references import REFERENCES
from t2i_tiam.table import compute_table, count_colours, load_table

PAPER = tuple(REFERENCES.values())


def plain_nearest(r: int, g: int, b: int) -> int:
    """The definition, one pixel at a time in plain Python."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (r / 255, g / 255, b / 255))
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / (0.3127 / 0.3290)
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / ((1 - 0.3127 - 0.3290) / 0.3290)
    fx, fy, fz = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, y, z))
    lab = (116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz))
    distances = [sum((p - q) ** 2 for p, q in zip(lab, ref, strict=True)) for ref in PAPER]
    return distances.index(min(distances))


byte = st.integers(0, 255)


@given(byte, byte, byte)
def test_the_shipped_table_is_the_definition(r, g, b):
    assert load_table(PAPER)[r << 16 | g << 8 | b] == plain_nearest(r, g, b)


@pytest.mark.long
def test_the_shipped_table_equals_the_exact_conversion():
    rgb = np.random.default_rng(0).integers(0, 256, (1_000_000, 3))
    code = rgb[:, 0] << 16 | rgb[:, 1] << 8 | rgb[:, 2]
    np.testing.assert_array_equal(load_table(PAPER)[code], nearest(rgb, PAPER))


@pytest.mark.slow
def test_the_shipped_table_is_what_the_script_makes():
    np.testing.assert_array_equal(load_table(PAPER), compute_table(PAPER))


@pytest.mark.long
def test_a_table_for_other_references_is_computed_with_ties_to_the_first():
    references = ((50.0, 0.0, 0.0), (0.0, 0.0, 0.0), (50.0, 0.0, 0.0))
    table = load_table(references)
    assert table[0] == 1
    assert table[-1] == 0
    assert 2 not in table
    assert load_table(references) is table


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(0, 12))
def test_counting_by_table_equals_counting_by_brute_force(seed, height, width):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
    mask = rng.random((height, width)) < 0.5
    counts = count_colours(pixels, mask, load_table(PAPER), len(PAPER))
    expected = np.bincount(nearest(pixels[mask], PAPER), minlength=len(PAPER))
    assert counts.sum() == mask.sum()
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize(
    ("rgb", "read"), [((128, 128, 128), "blue"), ((0, 0, 255), "purple"), ((0, 255, 255), "white")]
)
def test_the_traps_of_the_papers_references(rgb, read):
    assert list(REFERENCES)[int(nearest(rgb, PAPER))] == read
