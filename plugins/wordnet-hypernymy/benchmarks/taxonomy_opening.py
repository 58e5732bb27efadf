"""Open the page of `t2i taxonomy` for a run of 860 synsets and 8 models in headless Chromium (Linux).

python plugins/wordnet-hypernymy/benchmarks/taxonomy_opening.py [FOLDER]

Measures the seconds until the tree and the first synset with its pictures are drawn, and until another synset is
drawn after a search. FOLDER keeps run and page; without it, a temporary folder is used. Exits with one line and
status 1 if the page takes longer than it may.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from t2i_core import ModelRequest, evaluate, load_run
from t2i_core.api import ClassScores, Generated, GeneratorInfo, JudgeInfo, ObjectClass, Options, Setup
from t2i_core.testing import StaticResolver
from t2i_wordnet_hypernymy.plugin import t2i_metrics, t2i_prompt_sources
from t2i_wordnet_hypernymy.taxonomy_page.content import collect_content
from t2i_wordnet_hypernymy.taxonomy_page.page import write_taxonomy
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, nouns

MODELS, SYNSETS, SIDE = 8, 860, 128
SECONDS = 2.0
"""Limit of the time until the first pictures are drawn."""
ROUNDS = 3
"""Number of times that the page is opened, each in its own browser; all must be within the limit."""
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
LABELS = tuple(ObjectClass(name.partition(".")[0], name) for name in imagenet_classes())


class DiscOptions(Options):
    """Options of the model."""

    colour: int = 0


class Discs:
    """Draws a disc before a rough wall, which takes some kilobytes as WebP, as rendered scenes do."""

    def __init__(self, setup: Setup[DiscOptions]) -> None:
        self.colour = setup.options.colour

    def generate(self, requests: Iterable[Any]) -> Iterator[tuple[Any, Generated]]:
        """Yield an image for each request."""
        y, x = np.mgrid[:SIDE, :SIDE]
        for request in requests:
            rng = np.random.default_rng([request.noise_seed % 2**32, self.colour, len(request.prompt.text)])
            wall = rng.uniform(60, 200, 3) + 40 * (y / SIDE - 0.5)[..., None] + rng.normal(0, 9, (SIDE, SIDE, 1))
            across, down, radius = rng.uniform((30, 30, 12), (98, 98, 40))
            wall[(x - across) ** 2 + (y - down) ** 2 < radius**2] = rng.uniform(0, 255, 3)
            yield request, Generated(wall.clip(0, 255).astype(np.uint8))


class Guess:
    """Classifies images by their pixels, without sense."""

    def observe(self, _: str, queries: Iterable[Any]) -> Iterator[tuple[Any, ClassScores]]:
        """Yield scores for each query."""
        for query in queries:
            rng = np.random.default_rng(int(query.images[0].pixels.sum()))
            yield query, ClassScores(3 * rng.standard_normal(len(LABELS), np.float32), LABELS)


RESOLVER = StaticResolver(
    *t2i_metrics(),
    *t2i_prompt_sources(),
    GeneratorInfo(name="discs", summary="Discs.", options=DiscOptions, create=Discs),
    JudgeInfo(
        name="guess",
        summary="Guesses.",
        capabilities={"classify": frozenset()},
        create=lambda setup: Guess(),
        labels=lambda argument, options: LABELS,
    ),
)


def write_page(folder: Path) -> Path:
    """Make the run if the folder has none, and write its page."""
    run, page = folder / "run", folder / "taxonomy.html"
    if not run.exists():
        evaluate(
            ["isp"],
            [ModelRequest("discs", f"model {number}", {"colour": number}) for number in range(MODELS)],
            prompts="wordnet-imagenet",
            judge="guess",
            seeds=1,
            out=run,
            resolver=RESOLVER,
        )
    start = time.monotonic()
    content = collect_content(load_run(run), nouns(), 1)
    assert sum(bool(node.prompts) for node in content.nodes) == SYNSETS
    assert len(content.pictures) == SYNSETS * MODELS
    write_taxonomy(content, page, 160, print)
    print(f"page of {page.stat().st_size / 1e6:.0f} MB written in {time.monotonic() - start:.1f} s")
    return page


def open_page(page: Page, file: Path) -> tuple[float, float]:
    """Return the seconds until the first pictures are drawn, and until those of a synset that is searched."""
    start = time.monotonic()
    page.goto(file.as_uri(), wait_until="commit")
    wait_for_pictures(page, "")
    first = time.monotonic() - start
    page.wait_for_load_state("load")
    start = time.monotonic()
    page.fill("#search", "dog.n.01")
    page.press("#search", "Enter")
    wait_for_pictures(page, "dog.n.01")
    return first, time.monotonic() - start


def wait_for_pictures(page: Page, name: str) -> None:
    """Wait until all pictures of a synset are decoded."""
    if name:
        page.locator("#detail").get_by_text(name, exact=True).wait_for()
    page.wait_for_function(
        "n => { const all = [...document.querySelectorAll('.model img')];"
        " return all.length === n && all.every((image) => image.complete && image.naturalWidth > 0); }",
        arg=MODELS,
        polling=20,
    )


def main(folder: Path) -> None:
    """Print the times, and exit with status 1 if the page exceeds the limit."""
    if CHROMIUM is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    file = write_page(folder)
    times = []
    with sync_playwright() as playwright:
        for _ in range(ROUNDS):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            times.append(open_page(browser.new_page(viewport={"width": 1280, "height": 900}), file))
            browser.close()
    print("opened in " + ", ".join(f"{first:.2f}" for first, _ in times) + " s")
    print("another synset in " + ", ".join(f"{later:.2f}" for _, later in times) + " s")
    if (slowest := max(first for first, _ in times)) > SECONDS:
        raise SystemExit(f"too slow: {slowest:.2f} s (at most {SECONDS:g})")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
