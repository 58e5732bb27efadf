"""Everything in the mini world on one page: ``python -m t2i_miniworld.contact_sheet docs/contact-sheet.png``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import MOST, lay_out
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Thing
from t2i_miniworld.streams import stream
from t2i_miniworld.workers import map_ordered

_TILE, _GAP, _LEFT, _TOP = 128, 4, 96, 26
#: More light paths than pictures to be judged have: less grain, and a smaller file.
_SAMPLES = 144
_COLUMNS: tuple[str | None, ...] = (None, None, *PAINTS)
_INK, _PAPER = (70, 72, 76), (255, 255, 255)


@dataclass(frozen=True)
class Tile:
    """One picture of the sheet: what it shows, and its column, which varies the layout."""

    things: tuple[Thing, ...]
    column: int


def tiles() -> Iterator[Tile]:
    """Each kind natural twice and in every paint; then a row each of scenes with two, three and four things."""
    for kind in KINDS:
        for column, paint in enumerate(_COLUMNS):
            yield Tile((Thing(kind, paint),), column)
    for count in range(2, MOST + 1):
        for column in range(len(_COLUMNS)):
            rng = stream("contact-sheet", count, column)
            kinds = rng.choice(list(KINDS), size=count, replace=False)
            paints = [str(paint) for paint in rng.permutation(list(PAINTS))] if column % 2 else [None] * count
            yield Tile(tuple(Thing(str(kind), paint) for kind, paint in zip(kinds, paints, strict=False)), column)


def draw_tile(tile: Tile) -> NDArray[np.uint8]:
    """Draw one picture of the sheet (S, S, 3)."""
    from t2i_miniworld.render import draw

    kinds = [thing.kind for thing in tile.things]
    return draw(lay_out(tile.things, "contact-sheet", *kinds, tile.column), _TILE, _SAMPLES).image


def sheet() -> Image.Image:
    """Draw the whole page."""
    columns, rows = len(_COLUMNS), len(KINDS) + MOST - 1
    step = _TILE + _GAP
    page = Image.new("RGB", (_LEFT + columns * step, _TOP + rows * step), _PAPER)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    for column, paint in enumerate(_COLUMNS):
        middle = _LEFT + column * step + _TILE // 2
        pen.text((middle, _TOP // 2), paint or "natural", _INK, font, anchor="mm")
    names = [*KINDS, *(f"{count} things" for count in range(2, MOST + 1))]
    for row, name in enumerate(names):
        pen.text((_LEFT - 8, _TOP + row * step + _TILE // 2), name, _INK, font, anchor="rm")
    for number, (_, image) in enumerate(map_ordered(draw_tile, tiles())):
        corner = (_LEFT + number % columns * step, _TOP + number // columns * step)
        page.paste(Image.fromarray(image), corner)
    return page


def main() -> None:
    """Draw the page and write it as PNG."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    # Six bits a channel: nobody sees the difference, and the file is half as large.
    page = np.asarray(sheet())
    Image.fromarray(page & 0xFC | page >> 6).save(path, optimize=True)


if __name__ == "__main__":
    main()
