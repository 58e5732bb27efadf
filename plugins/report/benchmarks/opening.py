"""Open a report of 10,000 images with four scores each in headless Chromium (Linux): the seconds from asking for
the file to a first picture that is drawn, and the memory of the page's process.

python plugins/report/benchmarks/opening.py

Ends with one line and status 1 where the page takes longer or more than it may.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright
from t2i_core.api.image import Image, encode_png
from t2i_core.results.thumbnails import Thumbnails
from t2i_report.page import write_page
from t2i_report.pictures.gallery import Gallery, GalleryColumn
from t2i_report.pictures.shown_image import ShownImage

IMAGES, SEEDS, SIDE, SCORES = 10_000, 20, 128, 4
SECONDS, MEMORY = 3.0, 300.0
"""The bars: seconds, and MB."""
ROUNDS = 3
"""Number of times that the page is opened, each in its own browser; the quickest counts, and the most memory."""
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def picture(folder: Path, number: int) -> Image:
    """A scene: a disc before a rough wall. It takes some kilobytes as WebP, as rendered scenes do."""
    rng = np.random.default_rng(number)
    y, x = np.mgrid[:SIDE, :SIDE]
    wall = rng.uniform(60, 200, 3) + 40 * (y / SIDE - 0.5)[..., None] + rng.normal(0, 9, (SIDE, SIDE, 1))
    across, down, radius = rng.uniform((30, 30, 12), (98, 98, 40))
    disc = (x - across) ** 2 + (y - down) ** 2 < radius**2
    wall[disc] = rng.uniform(0, 255, 3) * (0.7 + 0.3 * (x - y)[disc] / SIDE)[:, None]
    data = encode_png(wall.clip(0, 255).astype(np.uint8))
    path = folder / f"{number}.png"
    path.write_bytes(data)
    return Image(hashlib.sha256(data).hexdigest(), path)


def write(folder: Path) -> Path:
    """Write the page."""
    places = [divmod(number, SEEDS) for number in range(IMAGES)]
    images = [
        ShownImage("model", f"p{prompt}", f"a photo of thing {prompt}", seed, picture(folder, number))
        for number, (prompt, seed) in enumerate(places)
    ]
    rng = np.random.default_rng(0)
    wall = Gallery(
        images, [GalleryColumn(f"score {n}", True, rng.random(IMAGES).tolist()) for n in range(SCORES)],
        {"kind": [f"kind {prompt % 9}" for prompt, _ in places]},
    )  # fmt: skip
    page = folder / "report.html"
    pictures = Thumbnails(wall.pictures, 160)
    about = {"id": "many", "side": 160, **wall.plain({})}
    nothing: list[Any] = []
    write_page(
        page,
        "report.html",
        title="Many",
        reports=nothing,
        summaries=nothing,
        records=nothing,
        example=None,
        pictures=pictures,
        n_images=IMAGES,
        most_rows=1,
        mistakes={},
        overlays={},
        templates=tuple,
        gallery=lambda: about,
    )
    return page


@dataclass(frozen=True)
class Opened:
    """seconds: until a picture is drawn; memory: proportional share of the page's process, in MB."""

    seconds: float
    memory: float


def opened(browser: Browser, file: Path) -> Opened:
    """Open the page as a reader would, and look for its worst picture."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.monotonic()
    page.goto(file.as_uri(), wait_until="commit")
    first = page.locator("#grid img").first
    first.wait_for()
    assert first.evaluate("image => image.decode().then(() => image.naturalWidth)") == SIDE
    seconds = time.monotonic() - start
    page.wait_for_load_state("load")
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    memory = max(share(process["id"]) for process in processes if process["type"] == "renderer")
    page.close()
    return Opened(seconds, memory)


def share(process: int) -> float:
    """A process's memory in MB, what it shares with others counted in part."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


def main() -> None:
    """Print the numbers; say which bars are missed."""
    if CHROMIUM is None:
        raise SystemExit("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        start = time.monotonic()
        file = write(Path(folder))
        wrote = time.monotonic() - start
        rounds = []
        for _ in range(ROUNDS):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            rounds.append(opened(browser, file))
            browser.close()
        size = file.stat().st_size / 1e6
    seconds, memory = min(one.seconds for one in rounds), max(one.memory for one in rounds)
    print(f"{IMAGES:,} images, {size:.0f} MB of page: pictures and page made in {wrote:.0f} s")
    print(f"opened in {', '.join(f'{one.seconds:.2f}' for one in rounds)} s; {memory:.0f} MB at most")
    if seconds > SECONDS or memory > MEMORY:
        said = f"{seconds:.1f} s (at most {SECONDS:g}), {memory:.0f} MB (at most {MEMORY:g})"
        raise SystemExit(f"too slow or too large: {said}")


if __name__ == "__main__":
    main()
