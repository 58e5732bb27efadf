"""A run on a cluster gives what the same run gives in one process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_core import Request, evaluate
from t2i_core.api.progress import Silent
from t2i_core.api.resolver import installed_resolver
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.plan import make_plan
from t2i_core.engine.run import run_plan
from t2i_ray.shared_folder import Probe

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any, workers: int = 3, **request: Any
) -> tuple[Path, Path]:
    """Run with each executor, each with its own cache; return both folders."""
    folders = []
    for name, further in (("local", {}), ("ray", {"address": cluster.address, "workers": workers})):
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / f"cache-{name}"))
        run = evaluate(**request, out=tmp_path / name, executor=name, progress=False, **further)
        folders.append(run.folder)
    return folders[0], folders[1]


def assert_equal(local: Path, other: Path, drawn: bool = True) -> None:
    for name in ("samples.csv", "measurements.csv"):
        assert (other / name).read_bytes() == (local / name).read_bytes()
    images = {f.relative_to(local): f.read_bytes() for f in local.glob("images/**/*.png")}
    assert bool(images) == drawn
    assert {f.relative_to(other): f.read_bytes() for f in other.glob("images/**/*.png")} == images


@pytest.fixture(params=[True, False], ids=["shared", "not-shared"])
def sharing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether workers see the cache folder."""
    if not request.param:
        monkeypatch.setattr(Probe, "write", lambda self: None)
    return request.param


def test_simulator_and_oracle(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharing: bool
) -> None:
    measured = {"metric": "tiam", "model": "simulator", "judge": "oracle", "seeds": 1}
    assert_equal(*run_twice(tmp_path, monkeypatch, cluster, workers=2, **measured))


def test_toy_model_and_judge(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharing: bool) -> None:
    found = run_twice(
        tmp_path,
        monkeypatch,
        cluster,
        metric="toy-metric",
        model="toy",
        judge="toy-judge",
        prompts="toy-prompts",
        seeds=10,
    )
    assert_equal(*found)


def test_existing_images(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharing: bool) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    request = Request(models=("toy",), prompts=("toy-prompts",), seeds=2, out=tmp_path / "drawn")
    drawn = run_plan(make_plan(request))
    model = f"folder:{drawn.folder}"
    found = run_twice(
        tmp_path,
        monkeypatch,
        cluster,
        metric="toy-metric",
        model=model,
        judge="toy-judge",
        prompts="toy-prompts",
        seeds=2,
    )
    assert_equal(*found, drawn=False)


def test_a_model_of_torch_with_equal_threads_and_batches(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run_twice(
        tmp_path,
        monkeypatch,
        cluster,
        metric="tiam",
        model="mini-tiny",
        judge="mini-segmenter",
        workers=2,
        seeds=2,
        batch_size=2,
    )
    assert_equal(*found)


def test_failures_of_items(cluster: Any, tmp_path: Path, sharing: bool) -> None:
    prompts = [*(f"picture {i}" for i in range(6)), "raise a flag", "unsafe work", "exit the building"]
    local, other = [
        evaluate(
            "toy-metric",
            "toy",
            judge="toy-judge",
            prompts=prompts if executor == "ray" else prompts[:-1],
            seeds=2,
            out=tmp_path / executor,
            executor=executor,
            progress=False,
            fresh=True,
            max_failed=1,
            **further,
        )
        for executor, further in (("local", {}), ("ray", {"address": cluster.address, "workers": 2}))
    ]
    said = {row["text"]: (row["status"], row["reason"]) for row in other.samples().astype(str).to_dict("records")}
    before = {
        row["text"]: (row["status"], row["reason"]) for row in local.samples().astype(str).to_dict("records")
    }
    status, reason = said.pop("exit the building")
    assert said == before
    assert status == "failed"
    assert reason.startswith("its worker died 3 times: ")


def test_estimates_count_seconds_of_one_worker(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    options = {"toy": {"sleep": 0.1}}
    asked: dict[str, Any] = {"models": ("toy",), "prompts": ("toy-prompts",), "options": options}
    ray: dict[str, Any] = {"executor": "ray", "address": cluster.address, "workers": 4}
    run_plan(make_plan(Request(**asked, **ray, seeds=2, out=tmp_path / "run")))
    images = forecast_request(Request(**asked, seeds=3), installed_resolver(), Silent())["images"]
    assert images["to_make"] == 20
    assert 0.1 <= images["seconds"] / 20 < 0.4


def test_a_run_by_rays_client(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = ["--metric", "toy-metric", "--model", "toy", "--judge", "toy-judge", "--prompts", "toy-prompts"]
    command = [sys.executable, "-m", "t2i_cli", "eval", *measured, "--seeds", "2"]
    folders = []
    for name, placed in (("local", []), ("ray", ["--executor", "ray", "--address", cluster.client_address])):
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / f"cache-{name}"))
        folders.append(tmp_path / name)
        done = subprocess.run(
            [*command, *placed, "--out", str(folders[-1])], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    # not their number: on a busy machine, a machine of the cluster may be late and count as gone
    assert re.search(r"executor: ray, \d+ workers", done.stdout), done.stdout
    assert_equal(*folders)
