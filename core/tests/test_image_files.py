"""Image files of other people: which are decoded, and to which pixels."""

from __future__ import annotations

import io
import os
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as PILImage
from PIL import ImageOps
from t2i_core.api.image import load_image
from t2i_core.files.decoding_rules import DecodingRules
from t2i_core.files.image_file import (
    ANIMATED,
    CMYK,
    COLOUR_16,
    GREY_16,
    ROTATED,
    DamagedImage,
    decode,
    parse_header,
    read_header,
)
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import Store

RNG = np.random.default_rng(7)
PICTURE = RNG.integers(0, 256, (12, 20, 3), np.uint8)


def encoded(image: PILImage.Image, kind: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def oriented(kind: str, orientation: int) -> bytes:
    exif = PILImage.Exif()
    exif[0x0112] = orientation
    return encoded(PILImage.fromarray(PICTURE), kind, exif=exif)


def png_16(pixels: NDArray[np.uint16], colour_type: int, before: bytes = b"") -> bytes:
    """A PNG with 16 bits a channel, which Pillow does not write in colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in pixels)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + before + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


ORDINARY = {
    "png": encoded(PILImage.fromarray(PICTURE), "PNG"),
    "grey png": encoded(PILImage.fromarray(PICTURE[:, :, 0]), "PNG"),
    "palette png": encoded(PILImage.fromarray(PICTURE).quantize(16), "PNG"),
    "black and white png": encoded(PILImage.fromarray(PICTURE[:, :, 0]).convert("1"), "PNG"),
    "jpeg": encoded(PILImage.fromarray(PICTURE), "JPEG"),
    "grey jpeg": encoded(PILImage.fromarray(PICTURE[:, :, 0]), "JPEG"),
    "webp": encoded(PILImage.fromarray(PICTURE), "WEBP", lossless=True),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_images_are_decoded_as_pillow_does(name: str) -> None:
    data = ORDINARY[name]
    with PILImage.open(io.BytesIO(data)) as image:
        expected = np.asarray(image.convert("RGB"))
    assert np.array_equal(decode(data, "x"), expected)
    header = parse_header(data, "x")
    assert (header.size, header.conversions, header.identity) == ((20, 12), (), "")


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_transparency_is_laid_on_white(kind: str) -> None:
    alpha = np.dstack([PICTURE, np.zeros((12, 20), np.uint8)])
    alpha[:, :10, 3] = 255
    pixels = decode(encoded(PILImage.fromarray(alpha), kind, lossless=True), "x")
    assert np.array_equal(pixels[:, :10], PICTURE[:, :10])
    assert (pixels[:, 10:] == 255).all()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_exif_orientation_is_applied_and_said(kind: str, orientation: int, tmp_path: Path) -> None:
    data = oriented(kind, orientation)
    with PILImage.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    pixels = decode(data, "x")
    assert np.array_equal(pixels, expected)
    header = parse_header(data, "x")
    assert header.size == pixels.shape[1::-1]
    assert header.conversions == (() if orientation == 1 else (ROTATED,))
    file = tmp_path / "a"
    file.write_bytes(data)
    assert read_header(file) == header
    # what was kept of the image before it was rotated is about other pixels
    assert (load_image(file).identity == load_image(file).digest) == (orientation == 1)


def test_exif_data_that_is_nonsense_changes_nothing() -> None:
    data = encoded(PILImage.fromarray(PICTURE), "JPEG", exif=b"Exif\0\0" + bytes(range(200)))
    assert np.array_equal(decode(data, "x"), decode(ORDINARY["jpeg"], "x"))
    assert np.array_equal(decode(oriented("JPEG", 99), "x"), decode(ORDINARY["jpeg"], "x"))


def test_16_bit_grey_keeps_its_shades() -> None:
    """Every shade was white before, but for the darkest 256 of 65,536."""
    shades = np.arange(256, dtype=np.uint16).reshape(16, 16) * 257
    pixels = decode(png_16(shades, 0), "x")
    assert np.array_equal(pixels, np.repeat((shades // 257).astype(np.uint8)[..., None], 3, 2))
    header = parse_header(png_16(shades, 0), "x")
    assert header.conversions == (GREY_16,)
    assert header.identity


def test_16_bit_colours_are_said_and_the_same_picture_has_the_same_pixels_in_grey() -> None:
    shades = RNG.integers(0, 1 << 16, (9, 7), np.uint16)
    colours = png_16(np.repeat(shades[..., None], 3, 2), 2)
    assert np.array_equal(decode(colours, "x"), decode(png_16(shades, 0), "x"))
    header = parse_header(colours, "x")
    assert (header.conversions, header.identity) == ((COLOUR_16,), "")


def test_one_transparent_shade_of_16_bits_is_laid_on_white() -> None:
    shades = np.array([[0, 5000], [5000, 65535]], np.uint16)
    key = struct.pack(">I", 2) + b"tRNS" + struct.pack(">H", 5000)
    data = png_16(shades, 0, before=key + struct.pack(">I", zlib.crc32(key[4:])))
    assert decode(data, "x")[..., 0].tolist() == [[0, 255], [255, 255]]


def test_cmyk_is_converted_and_said() -> None:
    data = encoded(PILImage.fromarray(PICTURE).convert("CMYK"), "JPEG", quality=100)
    with PILImage.open(io.BytesIO(data)) as image:
        assert image.mode == "CMYK"
        expected = np.asarray(image.convert("RGB"))
    assert np.array_equal(decode(data, "x"), expected)
    assert np.abs(decode(data, "x").astype(int) - PICTURE).mean() < 40  # not inverted
    header = parse_header(data, "x")
    assert (header.conversions, header.identity) == ((CMYK,), "")


@pytest.mark.parametrize("kind", ["WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_taken_and_said(kind: str) -> None:
    frames = [PILImage.fromarray(PICTURE), PILImage.fromarray(255 - PICTURE)]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)
    assert np.array_equal(decode(data, "x"), PICTURE)
    assert parse_header(data, "x").conversions == (ANIMATED,)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "PPM"])
def test_other_formats_are_refused_unless_they_are_allowed(kind: str) -> None:
    data = encoded(PILImage.fromarray(PICTURE).convert("P" if kind == "GIF" else "RGB"), kind)
    with pytest.raises(DamagedImage, match="must be one of PNG, JPEG, WebP"):
        decode(data, "x")
    allowed = DecodingRules(formats=("PNG", kind))
    assert decode(data, "x", allowed).shape == (12, 20, 3)
    assert parse_header(data, "x", allowed).format == kind


def test_floats_are_taken_from_0_to_1_and_others_refused() -> None:
    allowed = DecodingRules(formats=("TIFF",))
    ramp = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    data = encoded(PILImage.fromarray(ramp), "TIFF")
    assert np.array_equal(decode(data, "x", allowed)[..., 0], np.round(ramp * 255).astype(np.uint8))
    for wrong in (ramp * 2, ramp - 1, ramp * np.nan):
        with pytest.raises(DamagedImage, match="convert"):
            decode(encoded(PILImage.fromarray(wrong), "TIFF"), "x", allowed)


EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 20 12
%%EndComments
showpage
%%EOF
"""


@pytest.fixture
def ghostscript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program on the path that is called as Ghostscript is; returns the file that it writes."""
    mark, folder = tmp_path / "it ran", tmp_path / "bin"
    folder.mkdir()
    for name in ("gs", "gswin32c", "gswin64c"):
        (folder / name).write_text(f"#!/bin/sh\n: > '{mark}'\n")
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)  # it is looked for once
    return mark


def test_ghostscript_is_never_started(ghostscript: Path, tmp_path: Path) -> None:
    file = tmp_path / "innocent.png"
    file.write_bytes(EPS)
    with pytest.raises(OSError), PILImage.open(file) as image:  # noqa: PT011 - Pillow, left alone, does start it
        image.load()
    assert ghostscript.exists()
    ghostscript.unlink()
    with pytest.raises(DamagedImage, match="PostScript"):
        _ = load_image(file).pixels
    with pytest.raises(DamagedImage, match="PostScript"):
        read_header(file)
    assert not ghostscript.exists()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that says it is large; its pixels are not there."""
    small = png_16(np.zeros((1, 1), np.uint16), 0)
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return small[:12] + head + struct.pack(">I", zlib.crc32(head)) + small[33:]


@pytest.mark.parametrize(("width", "height"), [(10_001, 10_000), (100_000, 100_000), (2**31 - 1, 2**31 - 1)])
def test_too_many_pixels_are_refused_before_they_are_decoded(
    width: int, height: int, recwarn: pytest.WarningsRecorder
) -> None:
    limit = PILImage.MAX_IMAGE_PIXELS
    with pytest.raises(DamagedImage, match="100 megapixels"):
        decode(bomb(width, height), "x")
    with pytest.raises(DamagedImage, match="100 megapixels"):
        parse_header(bomb(width, height), "x")
    assert parse_header(bomb(10_000, 10_000), "x").size == (10_000, 10_000)  # with no warning of Pillow's
    assert parse_header(bomb(20_000, 20_000), "x", DecodingRules(megapixels=400)).size == (20_000, 20_000)
    assert not recwarn.list
    assert limit == PILImage.MAX_IMAGE_PIXELS


@pytest.mark.parametrize(
    "data", [b"", b"no image", ORDINARY["png"][:-40], ORDINARY["jpeg"][:200], EPS, b"%PDF-1.4"]
)
def test_unreadable_images_are_one_line(data: bytes) -> None:
    with pytest.raises(DamagedImage) as error:
        decode(data, "folder/a.png")
    assert str(error.value).startswith("folder/a.png: ")
    assert "\n" not in str(error.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    for read in (read_header, load_image):
        with pytest.raises(DamagedImage, match="named pipe"):
            read(tmp_path / "a.png")


def test_only_images_that_are_decoded_otherwise_now_are_asked_about_anew(tmp_path: Path) -> None:
    with Store(tmp_path / "cache") as store:
        for number, data in enumerate(
            (ORDINARY["jpeg"], oriented("JPEG", 6), png_16(np.zeros((2, 2), np.uint16), 0))
        ):
            (tmp_path / f"{number}").write_bytes(data)
            store.put_image(f"{number:064x}", encode_image(tmp_path / f"{number}"))
        keys = [f"{number:064x}" for number in range(3)]
        images = [store.image(key) for key in keys]
        assert [image is not None and image.identity == image.digest for image in images] == [True, False, False]
        assert store.identities(keys) == [image and image.identity for image in images]
        assert [kept and kept.size for kept in store.details(keys)] == [(20, 12), (12, 20), (2, 2)]
        assert images[1] is not None
        assert images[1].pixels.shape == (20, 12, 3)


def test_the_field_that_says_how_a_file_is_decoded_is_cores_own(tmp_path: Path) -> None:
    with Store(tmp_path / "cache") as store, pytest.raises(ValueError, match="decoded"):
        store.put_image("0" * 64, encode_image(PICTURE, {"decoded": {"format": "EPS"}}))
