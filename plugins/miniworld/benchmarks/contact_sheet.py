"""Everything in the mini world on one page: ``python contact_sheet.py docs/contact-sheet.png``."""

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
from t2i_miniworld.vocabulary import SUBKINDS
from t2i_miniworld.workers import map_ordered

_TILE, _GAP, _LEFT, _TOP = 96, 4, 100, 26
#: Light paths per pixel, more than in other pictures, for less noise and a smaller file.
_SAMPLES = 144
_COLUMNS: tuple[str | None, ...] = (None, None, *PAINTS)
_INK, _PAPER = (70, 72, 76), (255, 255, 255)


@dataclass(frozen=True)
class Tile:
    """One picture of the sheet: its things, its number, which varies the layout, and its caption."""

    things: tuple[Thing, ...]
    number: int
    words: str = ""


def rows() -> Iterator[tuple[str, tuple[Tile, ...]]]:
    """Yield the rows of the sheet, each with its name.

    They show every kind twice with natural looks and once in every paint, every sub-kind, people, and scenes of
    two, three and four things.
    """
    for kind in KINDS:
        yield kind, tuple(Tile((Thing(kind, paint),), column) for column, paint in enumerate(_COLUMNS))
    leaves = [
        Tile((Thing(kind, form=forms[0]),), 0, leaf.partition(".")[0].replace("_", " "))
        for kind, table in SUBKINDS.items()
        for leaf, forms in table.items()
    ]
    for start in range(0, len(leaves), len(_COLUMNS)):
        yield "sub-kinds", tuple(leaves[start : start + len(_COLUMNS)])
    # separate numbers, so that these poses differ from those of the kind's row
    forms = KINDS["human"].forms
    coats = [None, None, *PAINTS]
    yield (
        "people",
        tuple(
            Tile((Thing("human", form=forms[column % len(forms)], coat=coat),), 13 + column)
            for column, coat in enumerate(coats)
        ),
    )
    for count in range(2, MOST + 1):
        yield f"{count} things", tuple(_several(count, column) for column in range(len(_COLUMNS)))


def _several(count: int, column: int) -> Tile:
    """Return a tile with several things, alternately natural and painted; every fifth has a single kind."""
    rng = stream("contact-sheet", count, column)
    kinds = [str(kind) for kind in rng.choice(list(KINDS), size=count, replace=False)]
    if column % 5 == 4:
        kinds = kinds[:1] * count
    paints = [str(paint) for paint in rng.permutation(list(PAINTS))] if column % 2 else [None] * count
    return Tile(tuple(Thing(kind, paint) for kind, paint in zip(kinds, paints, strict=False)), column)


def draw_tile(tile: Tile) -> NDArray[np.uint8]:
    """Draw one picture of the sheet (S, S, 3)."""
    from t2i_miniworld.render import draw

    kinds = [thing.kind for thing in tile.things]
    return draw(lay_out(tile.things, "contact-sheet", *kinds, tile.number), _TILE, _SAMPLES).image


def sheet() -> Image.Image:
    """Draw the whole page."""
    table = list(rows())
    step = _TILE + _GAP
    page = Image.new("RGB", (_LEFT + len(_COLUMNS) * step, _TOP + len(table) * step), _PAPER)
    pen, font, small = ImageDraw.Draw(page), ImageFont.load_default(14), ImageFont.load_default(10)
    for column, paint in enumerate(_COLUMNS):
        pen.text((_LEFT + column * step + _TILE // 2, _TOP // 2), paint or "natural", _INK, font, anchor="mm")
    where: dict[Tile, tuple[int, int]] = {}
    for row, (name, tiles) in enumerate(table):
        pen.text((_LEFT - 8, _TOP + row * step + _TILE // 2), name, _INK, font, anchor="rm")
        where |= {tile: (_LEFT + column * step, _TOP + row * step) for column, tile in enumerate(tiles)}
    for tile, image in map_ordered(draw_tile, where):
        x, y = where[tile]
        page.paste(Image.fromarray(image), (x, y))
        pen.text((x + 3, y + 2), tile.words, _INK, small)
    return page


def main() -> None:
    """Draw the page and write it as PNG."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    # six bits per channel: no visible difference, and half the file size
    page = np.asarray(sheet())
    Image.fromarray(page & 0xFC | page >> 6).save(path, optimize=True)


if __name__ == "__main__":
    main()
