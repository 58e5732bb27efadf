"""A data set whose making was killed, at whatever moment, ends byte for byte like one that was made at once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from pycocotools.coco import COCO

SCRIPT = Path(__file__).with_name("drawing_world.py")
PROMPTS, SEEDS = 30, 4


def start(folder: Path, *shard: str, pause: float = 0.0) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    words = (folder / "cache", folder / "run", PROMPTS, SEEDS, pause, *shard)
    return subprocess.Popen(
        [sys.executable, SCRIPT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> int:
    """Wait for the end; how many images it made."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return int(out)


def dataset(folder: Path) -> dict[str, bytes]:
    """Every file of a run's data set by its name, and the list of its images."""
    run = folder / "run"
    files = [p for part in ("images", "annotations") for p in (run / part).rglob("*") if p.is_file()]
    return {str(p.relative_to(run)): p.read_bytes() for p in (*files, run / "samples.csv")}


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def nothing_is_half(folder: Path) -> None:
    """Whatever has its name already is whole."""
    drawing = folder / "run" / "images" / "drawing"
    if (drawing / "metadata.jsonl").exists():
        lines = (drawing / "metadata.jsonl").read_text().splitlines()
        assert len(lines) == PROMPTS * SEEDS
        assert all((drawing / json.loads(line)["file_name"]).is_file() for line in lines)
    if (folder / "run" / "annotations" / "drawing.json").exists():
        coco = COCO(folder / "run" / "annotations" / "drawing.json")
        assert len(coco.getImgIds()) == PROMPTS * SEEDS


def test_a_data_set_killed_while_images_are_made_is_the_same_in_the_end(tmp_path: Path) -> None:
    assert finish(start(tmp_path / "a")) == PROMPTS * SEEDS
    process = start(tmp_path / "b", pause=0.01)
    while sum(1 for _ in (tmp_path / "b").glob("cache/images/*/*.png")) < 20:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    kill(process)
    assert not (tmp_path / "b" / "run" / "images").exists()
    assert 0 < finish(start(tmp_path / "b")) <= PROMPTS * SEEDS - 19
    assert dataset(tmp_path / "b") == dataset(tmp_path / "a")
    # and once more: nothing is made, nothing is changed
    assert finish(start(tmp_path / "b")) == 0
    assert dataset(tmp_path / "b") == dataset(tmp_path / "a")


def test_a_data_set_killed_while_it_is_written_is_the_same_in_the_end(tmp_path: Path) -> None:
    assert finish(start(tmp_path / "a")) == PROMPTS * SEEDS
    rng = random.Random(3)
    killed = 0
    for _ in range(6):
        process = start(tmp_path / "b")
        while not list((tmp_path / "b").glob("run/images/drawing/.metadata.jsonl.*.part")):
            if process.poll() is not None:
                break  # it was quicker than we could see
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.15))
        killed += process.poll() is None
        kill(process)
        nothing_is_half(tmp_path / "b")
    assert killed
    assert finish(start(tmp_path / "b")) == 0
    assert dataset(tmp_path / "b") == dataset(tmp_path / "a")


def test_a_data_set_made_in_parts_is_the_same(tmp_path: Path) -> None:
    assert finish(start(tmp_path / "a")) == PROMPTS * SEEDS
    parts = [start(tmp_path / "b", f"{n}/3") for n in (1, 2, 3)]
    assert [finish(part) for part in parts] == [PROMPTS * SEEDS // 3] * 3
    assert not (tmp_path / "b" / "run" / "images").exists()
    assert finish(start(tmp_path / "b")) == 0
    assert dataset(tmp_path / "b") == dataset(tmp_path / "a")
