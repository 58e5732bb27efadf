"""Draw docs/mini.png, a model's pictures of every kind and template: ``python docs/mini_sheet.py [MODEL] [OUT]``.

One row for each of the mini world's 26 kinds; columns are templates of the papers and of the captions that `mini`
learnt from. All with the first seed: none was chosen.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from t2i_core import evaluate
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import Phrase, Reading, SideRelation
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS
from t2i_miniworld.wording import HYPERNYMY, NEUTRAL, PAINTSKILLS, TIAM, say

TILE, GAP, LEFT, TOP = 96, 4, 90, 40
_INK, _PAPER = (70, 72, 76), (255, 255, 255)


#: What the templates make of a dog and a car.
COLUMNS = (
    "a photo of a dog",
    "An image of a dog.",
    "a photo of\na red dog",
    "a photo of\na dog and a car",
    "a red dog\nwith a green car",
    "a photo of\n2 dog",
    "a photo of\n3 dog",
    "a photo of dog\nand car; dog is\nleft to car",
)


def texts(number: int) -> list[str]:
    """Return the prompt of each column in the row of a kind; the second kind is that of seven rows further on."""
    own, other = (frozenset(leaves_under(LABELS[n % len(LABELS)])) for n in (number, number + 7))
    paint, second = (list(PAINTS)[(number + step) % len(PAINTS)] for step in (0, 3))
    one, two = Phrase(own), Phrase(other)
    return [
        say(Reading((one,)), TIAM),
        say(Reading((one,)), HYPERNYMY),
        say(Reading((Phrase(own, paints=(paint,)),)), TIAM),
        say(Reading((one, two)), TIAM),
        say(Reading((Phrase(own, paints=(paint,)), Phrase(other, paints=(second,)))), NEUTRAL),
        say(Reading((Phrase(own, 2),)), PAINTSKILLS),
        say(Reading((Phrase(own, 3),)), PAINTSKILLS),
        say(Reading((one, two), (SideRelation(own, "left"), SideRelation(other, "right"))), PAINTSKILLS),
    ]


def drawn(model: str) -> dict[str, Path]:
    """The files of all pictures, by text."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "prompts.txt"
    file.write_text("\n".join(dict.fromkeys(text for row in range(len(LABELS)) for text in texts(row))) + "\n")
    run = evaluate((), model, prompts=str(file), seeds=(0,), out=folder / "run")
    made = run.samples()
    return {row.text: run.folder / row.image for row in made[made["status"] == "ok"].itertuples()}


def sheet(model: str) -> Image.Image:
    """Draw the whole page."""
    files, step = drawn(model), TILE + GAP
    page = Image.new("RGB", (LEFT + len(COLUMNS) * step, TOP + len(LABELS) * step), _PAPER)
    pen, font, small = ImageDraw.Draw(page), ImageFont.load_default(13), ImageFont.load_default(10)
    for place, column in enumerate(COLUMNS):
        pen.text((LEFT + place * step + TILE // 2, TOP // 2), column, _INK, small, anchor="mm", align="center")
    for row, label in enumerate(LABELS):
        pen.text((LEFT - 8, TOP + row * step + TILE // 2), label.name, _INK, font, anchor="rm")
    for row, place in product(range(len(LABELS)), range(len(COLUMNS))):
        with Image.open(files[texts(row)[place]]) as image:
            page.paste(image.resize((TILE, TILE)), (LEFT + place * step, TOP + row * step))
    return page


def main() -> None:
    """Read the command line, draw the page, and write it as PNG."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="mini")
    parser.add_argument("out", nargs="?", type=Path, default=Path(__file__).with_name("mini.png"))
    given = parser.parse_args()
    # Six bits a channel: nobody sees the difference, and the file is smaller by half.
    page = np.asarray(sheet(given.model))
    Image.fromarray(page & 0xFC | page >> 6).save(given.out, optimize=True)


if __name__ == "__main__":
    main()
