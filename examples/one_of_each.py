"""One picture per installed prompt source and per line of scenes.jsonl: python examples/one_of_each.py OUT.png

Each source's first prompt that the simulator can draw (its classes are 26), with the prompt's text below it.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from t2i_core.api import Failure, Generated, ImageRequest, Prompt
from t2i_core.api.resolver import installed_resolver
from t2i_core.io.prompt_file import read_prompts
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.simulator import simulate
from t2i_registry import scan

TILE, TEXT, COLUMNS = 192, 80, 6
OPTIONS = SimulatorOptions(size=TILE, spp=64)
#: Sources that draw nothing without a user's own template.
NEED_OPTIONS = {"tiam-template"}


def prompts_of(source: str) -> Iterable[Prompt]:
    """The prompts of a source under its own options."""
    component = installed_resolver().component("prompt_source", source, {})
    return component.info.prompts(component.setup())


def first_drawn(prompts: Iterable[Prompt]) -> tuple[Prompt, Generated]:
    """The first prompt that the simulator has a picture for."""
    for prompt in prompts:
        drawn = simulate(OPTIONS, ImageRequest(prompt, seed=0, noise_seed=0))
        if not isinstance(drawn, Failure):
            return prompt, drawn
    raise SystemExit("none of these prompts can be drawn")


def tiles() -> Iterator[tuple[str, Prompt, Generated]]:
    """Name, prompt and picture of each tile."""
    for entry in scan().of_kind("prompt_source"):
        if entry.name not in NEED_OPTIONS:
            yield entry.name, *first_drawn(prompts_of(entry.name))
    for prompt in read_prompts(Path(__file__).with_name("scenes.jsonl")):
        yield f"scenes.jsonl: {prompt.id}", *first_drawn([prompt])


def main(out: str) -> None:
    """Draw the page."""
    shown = list(tiles())
    rows = -(-len(shown) // COLUMNS)
    page = Image.new("RGB", (COLUMNS * (TILE + 8), rows * (TILE + TEXT)), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(12)
    for number, (name, prompt, drawn) in enumerate(shown):
        x, y = number % COLUMNS * (TILE + 8), number // COLUMNS * (TILE + TEXT)
        page.paste(Image.fromarray(drawn.image), (x, y))
        lines = [name, *textwrap.wrap(prompt.text, 32)]
        pen.text((x, y + TILE + 4), "\n".join(lines), fill=(60, 60, 60), font=font)
    page.save(out, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
