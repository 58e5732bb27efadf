"""Bad input gets one clear line (what, where, what to do) and its own exit code; no traceback, nothing begun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

EVAL = ("eval", "--metric", "tiam", "--model", "simulator", "--prompts", "tiam-5-1", "--judge", "oracle")


def t2i(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "T2I_CACHE_DIR": str(folder / "cache"), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "t2i_cli", *args], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )


def refused(folder: Path, *args: str) -> tuple[int, str]:
    done = t2i(folder, *args)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    return done.returncode, line


CASES = {
    "unknown metric": (("eval", "--metric", "tiem", "--model", "simulator"), 3, "did you mean 'tiam'"),
    "unknown model": (("eval", "--metric", "tiam", "--model", "simulater"), 3, "did you mean 'simulator'"),
    "unknown prompts": ((*EVAL[:5], "--prompts", "tiam-5-7"), 3, "did you mean"),
    "unknown option": ((*EVAL, "-o", "simulator.dorp=0.1"), 6, "did you mean 'drop'"),
    "option of nobody": ((*EVAL, "-o", "simulater.drop=0.1"), 3, "did you mean 'simulator'"),
    "wrong type": ((*EVAL, "-o", "simulator.drop=often"), 6, "drop"),
    "out of range": ((*EVAL, "-o", "simulator.drop=1.5"), 6, "drop"),
    "unknown judge": ((*EVAL[:-1], "oracel"), 3, "did you mean 'oracle'"),
    "bad seeds": ((*EVAL, "--seeds", "many"), 6, "--seeds"),
    "bad shard": ((*EVAL, "--shard", "3/2"), 6, "--shard"),
    "missing prompt file": ((*EVAL[:5], "--prompts", "gone.csv"), 10, "gone.csv"),
    "missing template": ((*EVAL[:5], "--prompts", "tiam-template:gone.yaml"), 10, "gone.yaml"),
    "missing recipe": (("eval", "--recipe", "gone.yaml"), 13, "gone.yaml"),
    "no folder": (("eval", "--metric", "tiam", "--model", "folder:gone"), 12, "gone"),
    "prompts without scenes": ((*EVAL[:5], "--prompts", "texts.txt", "--judge", "oracle"), 10, "scene"),
    "malformed prompts": ((*EVAL[:5], "--prompts", "bad.jsonl"), 10, "line 2"),
    "classes nobody knows": ((*EVAL[:5], "--prompts", "tiam-24-1"), 9, "apple"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_each_error_is_one_line_with_its_own_exit_code(case: str, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a photo of a car\n")
    (tmp_path / "bad.jsonl").write_text('{"prompt": "a car"}\n{"prompt": \n')
    args, code, said = CASES[case]
    found, line = refused(tmp_path, *args)
    assert (found, said in line) == (code, True), line
    assert not (tmp_path / "t2i-runs").exists()


@pytest.mark.long
def test_photographs_without_a_judge_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", "t2i-ultralytics,t2i-transformers")
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    (tmp_path / "prompts.csv").write_text("file,prompt\na.png,a photo of a car\n")
    code, line = refused(tmp_path, "eval", "--metric", "tiam", "--model", f"folder:{tmp_path}")
    assert code == 9
    assert "yolov8x-seg" in line
    assert "t2i[ultralytics]" in line
    assert "--judge mask2former-swin-small" in line


@pytest.mark.long
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, line = refused(tmp_path, *EVAL, "--seeds", "1", "--limit", "1", "--out", "file/run", "--json")
    assert code == 11
    assert "--out" in line


@pytest.mark.long
def test_an_image_that_is_none_is_a_failed_sample(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        Image.new("RGB", (64, 64), "red").save(tmp_path / f"{name}.png")
    (tmp_path / "b.png").write_text("this is no image")
    scene = json.dumps({"objects": [{"cls": {"name": "car", "synset": "car.n.01"}}]})
    rows = [{"file": f"{n}.png", "prompt": f"car {n}", "scene": json.loads(scene)} for n in ("a", "b", "c")]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = t2i(
        tmp_path, "eval", "--metric", "tiam", "--model", f"folder:{tmp_path}", "--judge", "mini-segmenter",
        "--out", "run", "--json",
    )  # fmt: skip
    assert done.returncode == 8, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["n_ok"], result["n_failed"]) == (2, 1)
    assert "Traceback" not in done.stderr
    assert "1 of 3 samples failed" in done.stderr
    assert "not an image" in (tmp_path / "run" / "failures.csv").read_text()
