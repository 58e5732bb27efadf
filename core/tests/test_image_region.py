"""Parts of images: their pixels, and their keys."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from t2i_core.api.image import Image
from t2i_core.api.mask import PackedMask
from t2i_core.testing.parts import sample_images

SHAPE = np.zeros((32, 32), bool)
SHAPE[4:9, 10:20] = True
SHAPE[6, 12] = False
MASK = PackedMask.pack(SHAPE)


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return sample_images(tmp_path, 1)[0]


def test_a_box_is_cut_out(image: Image) -> None:
    part = image.crop((3, 5, 10, 7))
    np.testing.assert_array_equal(part.pixels, image.pixels[5:7, 3:10])
    assert part.pil().size == (7, 2)
    assert part.path == image.path
    assert not part.pixels.flags.writeable


def test_pixels_outside_the_mask_are_painted_over(image: Image) -> None:
    part = image.crop(MASK.box, MASK, (153, 153, 153)).pixels
    inside = SHAPE[4:9, 10:20]
    np.testing.assert_array_equal(part[inside], image.pixels[4:9, 10:20][inside])
    assert (part[~inside] == 153).all()
    assert part[2, 2].tolist() == [153, 153, 153]


def test_sides_are_rounded_as_pillow_rounds_them(image: Image) -> None:
    part = image.crop((0.5, 1.5, 10.6, 12.4))
    np.testing.assert_array_equal(part.pixels, np.asarray(image.pil().crop((0.5, 1.5, 10.6, 12.4))))


@pytest.mark.parametrize(
    ("box", "size"),
    [
        ((-1, -1, 4, 4), (4, 4)),
        ((30, 30, 33, 40), (2, 2)),
        ((5.1, 5.1, 5.4, 9), (1, 4)),
        ((32, 32, 33, 33), (1, 1)),
    ],
)
def test_a_part_lies_within_the_image_and_has_a_pixel(image: Image, box: tuple[float, ...], size: object) -> None:
    assert image.crop(box).pil().size == size


def test_each_part_has_its_own_key(image: Image) -> None:
    parts = [
        image,
        image.crop((0, 0, 9, 9)),
        image.crop((0, 0, 9, 8)),
        image.crop((0, 0, 9, 9), MASK),
        image.crop((0, 0, 9, 9), MASK, (153, 153, 153)),
        image.crop((0, 0, 9, 9), PackedMask.pack(~SHAPE)),
    ]
    assert len({part.identity for part in parts}) == len(parts)
    assert len(set(parts)) == len(parts)
    assert image.crop((0, 0, 9, 9), MASK).identity == image.crop((0.2, 0, 9, 9.4), MASK).identity


def test_a_part_can_be_sent_to_another_process(image: Image) -> None:
    part = image.crop(MASK.box, MASK)
    there = pickle.loads(pickle.dumps(part))
    assert there == part
    np.testing.assert_array_equal(there.pixels, part.pixels)


def test_a_part_is_not_cropped_again(image: Image) -> None:
    with pytest.raises(ValueError, match="cropped again"):
        image.crop((0, 0, 9, 9)).crop((0, 0, 3, 3))


def test_a_mask_of_another_size_fits_no_image(image: Image) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        _ = image.crop((0, 0, 9, 9), PackedMask.pack(np.ones((8, 8), bool))).pixels
