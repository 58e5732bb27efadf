"""Folders of runs: one that core wrote, many made from it, one under way, and hostile ones."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from starlette.testclient import TestClient
from t2i_core import ModelRequest, evaluate
from t2i_core.api import Generated, GeneratorInfo, Measure, Metric, MetricInfo, Need, Options, Row
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import IMAGES, make_image_name
from t2i_core.testing import TEST_JUDGE, TEST_PROMPTS, StaticResolver
from t2i_view.access import ViewAccess
from t2i_view.app import make_app
from t2i_view.made_pages import MadePages

LOCAL = "http://127.0.0.1:8766"

#: a command that stands for t2i: it writes its words, or fails where a run is named so
WRITER = """
import json, sys
words = sys.argv[1:]
if any("broken" in word for word in words):
    sys.exit("error: the run is <b>broken</b>")
if any("unlike" in word for word in words):
    print("error: the runs have nothing to compare", file=sys.stderr)
    sys.exit(11)
target = words[words.index("--out") + 1]
with open(target, "w") as file:
    if "json" in words:
        numbers = {"diff": 0.25, "low": 0.1, "high": 0.4, "p_unadjusted": 0.01, "n": 8, "interval": "t"}
        file.write(json.dumps([
            {"metric": "bright", **numbers, "note": "4 <b>prompts</b>"},
            {"metric": "tiam", **dict.fromkeys(numbers), "note": "only one of the runs has it"},
        ]))
    else:
        file.write("<title>made</title>" + " ".join(words))
"""


class PaintOptions(Options):
    level: int = 120


class Painter:
    """Paints squares, brighter with each seed."""

    def __init__(self, setup: Any) -> None:
        self.level = setup.options.level

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            noise = zlib.crc32(request.prompt.text.encode()) % 20
            pixels = np.full((16, 16, 3), self.level + 30 * (request.seed % 4) + noise, np.uint8)
            yield request, Generated(pixels)


class Bright(Metric):
    """Whether an image is bright."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("bright", float(unit.one().one("reward").value > 150))


RESOLVER = StaticResolver(
    GeneratorInfo(name="paint", summary="Squares.", options=PaintOptions, create=Painter),
    MetricInfo(
        name="bright", summary="Bright?", create=Bright, measures=(Measure("bright", "Share.", low=0, high=1),)
    ),
    TEST_JUDGE,
    TEST_PROMPTS,
)


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models that no test changes."""
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        evaluate(
            "bright",
            [ModelRequest("paint", "dark", {"level": 60}), ModelRequest("paint", "light", {"level": 110})],
            prompts="test-prompts",
            seeds=4,
            out=folder / "run",
            resolver=RESOLVER,
        )
    return folder / "run"


def change_manifest(run: Path, **fields: Any) -> None:
    """Change fields of a run.json."""
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**manifest, **fields}), encoding="utf-8")


@pytest.fixture
def runs(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the runs `first` and `second`, the second a day later."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    for name, started in (("first", "2026-11-20T10:00:00+00:00"), ("second", "2026-11-21T10:00:00+00:00")):
        shutil.copytree(original, tmp_path / "runs" / name)
        change_manifest(tmp_path / "runs" / name, started=started, finished=started.replace("10:00", "10:03"))
    return tmp_path / "runs"


def draw_picture(shade: int) -> str:
    """Keep a picture in the user's cache; return its digest."""
    encoded = encode_image(np.full((16, 16, 3), shade, np.uint8))
    encoded.write(Path(os.environ["T2I_CACHE_DIR"]) / IMAGES / make_image_name(encoded.digest))
    return encoded.digest


def describe_stage(
    title: str, total: int, done: int, failed: int, seconds: float, is_open: bool
) -> dict[str, object]:
    """Return a stage as `.progress` has it."""
    counts = {"total": total, "done": done, "failed": failed}
    return {"title": title, "unit": "images", **counts, "seconds": seconds, "is_open": is_open}


def begin_run(runs: Path, name: str = "under-way") -> Path:
    """Write the folder of a run that has begun, as core does; nobody holds its lock yet."""
    run = runs / name
    shutil.copytree(runs / "first", run)
    change_manifest(
        run, status="running", finished=None, results=[], comparisons=[], files={},
        started="2026-11-22T10:00:00+00:00",
    )  # fmt: skip
    stages = [
        describe_stage("checking images", 40, 40, 0, 2.0, False),
        describe_stage("images of dark", 40, 10, 1, 20.0, True),
    ]
    images = [
        {"model": "dark", "text": f"a red dog, number {n}", "seed": n, "digest": draw_picture(80 + 20 * n)}
        for n in range(4)
    ]
    failures = {"the filter <b>blanked</b> it": 1}
    progress = {"written": 0.0, "stages": stages, "images": images, "failures": failures}
    (run / ".progress").write_text(json.dumps(progress), encoding="utf-8")
    return run


@pytest.fixture
def under_way(runs: Path) -> Iterator[Path]:
    """A run on which a process works: this one."""
    run = begin_run(runs)
    with FileLock(run / ".lock"):
        yield run


@pytest.fixture
def pages() -> Iterator[MadePages]:
    """Makes pages with the command that stands for t2i."""
    with MadePages([sys.executable, "-c", WRITER]) as found:
        yield found


@pytest.fixture
def open_view(runs: Path, pages: MadePages) -> Callable[..., TestClient]:
    """Open the page over the runs."""

    def open_it(token: str | None = None) -> TestClient:
        return TestClient(make_app(runs, ViewAccess(token), pages), base_url=LOCAL)

    return open_it


@pytest.fixture
def client(open_view: Callable[..., TestClient]) -> TestClient:
    """The page over the runs, as this machine sees it."""
    return open_view()
