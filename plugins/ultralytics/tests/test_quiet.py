"""The library keeps to itself: nothing is written where it should not be, sent, looked up, or installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import pytest

WATCHED = """
import json, sys
asked, started = [], []
def watch(event, args):
    if event.startswith(("socket.connect", "socket.get", "socket.send", "urllib.")):
        asked.append(f"{event} {args}")
        raise OSError("no network here")
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        started.append(str(args))
sys.addaudithook(watch)
sys.argv = ["t2i", *sys.argv[1:]]
try:
    DO
finally:
    import os
    from ultralytics import utils, settings
    assert not utils.TESTS_RUNNING  # what would be sent by a user is sent here
    state = {
        "asked": asked, "started": started, "online": utils.ONLINE, "install": utils.AUTOINSTALL,
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }
    open(os.environ["STATE"], "w").write(json.dumps(state))
"""


def watched(do: str, folder: Path, *args: str, **variables: str) -> tuple[dict[str, Any], str, list[str]]:
    """Run in a new home folder. Return the attempts, standard output, and the files in that home."""
    for name in ("home", "work", "temporary"):
        (folder / name).mkdir()
    left_out = ("PYTEST_", "YOLO_", "ULTRALYTICS_", "XDG_", "GITHUB_", "OMP_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    env |= variables | {
        "HOME": str(folder / "home"),
        "USERPROFILE": str(folder / "home"),
        "TMPDIR": str(folder / "temporary"),
        "T2I_CACHE_DIR": str(folder / "cache"),
        "STATE": str(folder / "state.json"),
    }
    code = WATCHED.replace("DO", do)
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=folder / "work",
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    written = [str(p.relative_to(folder)) for name in ("home", "temporary") for p in (folder / name).rglob("*")]
    return json.loads((folder / "state.json").read_text()), done.stdout, written


@pytest.mark.long
def test_a_whole_evaluation_writes_and_sends_nothing(trained: Path, small: Any, tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    lines = []
    for seed in range(5):
        pixels = small.scene(4000 + seed)[0]
        if seed == 4:  # nothing of it is there
            pixels[:] = 120
        cv2.imwrite(str(images / f"{seed}.png"), cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
        objects = [{"cls": {"name": "car", "synset": "car.n.01"}}]
        text = {"file": f"{seed}.png", "prompt": f"a car, {seed}", "seed": 0, "scene": {"objects": objects}}
        lines.append(json.dumps(text))
    (images / "prompts.jsonl").write_text("\n".join(lines))
    state, output, written = watched(
        "import runpy; runpy.run_module('t2i_cli', run_name='__main__')",
        tmp_path,
        *("eval", "--metric", "tiam", "--model", f"folder:{images}", "--judge", f"ultralytics:{trained}"),
        *("-o", "ultralytics.imgsz=96", "--device", "cpu", "--json"),
        OMP_NUM_THREADS="3",
    )
    (result,) = json.loads(output)["results"]
    assert (result["n_ok"], result["n_failed"]) == (5, 0)
    assert result["score"] == 0.8
    started = " ".join(state.pop("started"))
    assert not any(program in started for program in ("pip", "git", "curl", "python", "yolo"))
    assert state == {
        "asked": [],
        "online": False,
        "install": False,
        "threads": "3",
    }
    assert written == []


@pytest.mark.slow
def test_the_library_left_to_itself_does_all_that(tmp_path: Path) -> None:
    state, _, written = watched("import ultralytics", tmp_path)
    assert any("getaddrinfo" in event for event in state["asked"])
    assert any(name.endswith("settings.json") for name in written)
    assert state["threads"] == "1"
