"""The benchmark of models on a GPU: it runs on tiny models anywhere, and writes the table of the docs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "cluster.md"
HEADER = "| model | batch | bare, 1/s |"


def run_benchmark(page: Path, *arguments: str, **environ: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "benchmarks" / "gpu.py", *arguments, "--page", page],
        capture_output=True, text=True, timeout=600,
        env={**os.environ, **environ, "T2I_CACHE_DIR": str(page.parent / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def read_rows(page: Path) -> list[list[str]]:
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(HEADER))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    return rows[: next(number for number, row in enumerate(rows) if len(row) < 2)]


@pytest.mark.long
def test_without_a_gpu_the_page_says_not_measured(tmp_path: Path) -> None:
    page = Path(shutil.copy(PAGE, tmp_path))
    run_benchmark(page, CUDA_VISIBLE_DEVICES="")
    (header, _, *rows), (committed, _, *others) = read_rows(page), read_rows(PAGE)
    assert (header, [row[:2] for row in rows]) == (committed, [row[:2] for row in others])
    assert {cell for row in rows for cell in row[2:]} == {"not measured"}
    if "No GPU was at hand yet" in PAGE.read_text(encoding="utf-8"):
        assert page.read_bytes() == PAGE.read_bytes()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_models_are_measured_when_they_are_tiny(tmp_path: Path) -> None:
    page = Path(shutil.copy(PAGE, tmp_path))
    run_benchmark(page, "--small", "--one-process", CUDA_VISIBLE_DEVICES="")
    header, _, *rows = read_rows(page)
    assert len(rows) == 7
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        assert float(cells["bare, 1/s"]) > 0, cells
        assert float(cells["t2i, 1/s"]) > 0, cells
        assert cells["precision"].startswith(("bfloat16: ", "float16: ")), cells
        assert cells["memory, GB"] == cells["halving"] == "not measured"  # there is no GPU memory


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_workers_are_measured(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    page = Path(shutil.copy(PAGE, tmp_path))
    run_benchmark(page, "--small", "--only", "CLIP", CUDA_VISIBLE_DEVICES="")
    header, _, *rows = read_rows(page)
    (cells,) = (dict(zip(header, row, strict=True)) for row in rows if row[0].startswith("CLIP"))
    assert float(cells["two workers, 1/s"]) > 0
    run_benchmark(page, "--small", "--one-process", "--only", "ViT-B", CUDA_VISIBLE_DEVICES="")
    assert [row for row in read_rows(page) if row[0].startswith("CLIP")] == [list(cells.values())]  # it stays
