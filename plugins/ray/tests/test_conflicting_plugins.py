"""Two plugins that pin different versions of one library, in one run: wheels that are built here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from t2i_core.testing.fake_dists import fake_dist

PLUGIN = """
    import numpy as np
    import tiny_library
    from t2i_core.api.capabilities.reward import Reward
    from t2i_core.api.generator import Generated
    from t2i_core.api.hookspecs import hookimpl
    from t2i_core.api.options import Options
    from t2i_core.api.plugin_info import GeneratorInfo, JudgeInfo

    class ToyOptions(Options):
        factor: float = 1.0

    class Pencil:
        settings = {"library": tiny_library.VERSION}

        def generate(self, requests):
            for request in requests:
                yield request, Generated(np.full((8, 8, 3), 10 + request.seed, np.uint8))

    class Eye:
        settings = {"library": tiny_library.VERSION}

        def __init__(self, factor):
            self.factor = factor

        def observe(self, capability, queries):
            for query in queries:
                value = self.factor * int(tiny_library.VERSION) * float(query.images[0].pixels.mean())
                yield query, Reward(value)

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="pencil-NUMBER", summary="Draws.", create=lambda setup: Pencil())]

    @hookimpl
    def t2i_judges():
        return [JudgeInfo(name="eye-NUMBER", summary="Looks.", capabilities={"reward": frozenset()},
            options=ToyOptions, create=lambda setup: Eye(setup.options.factor))]
"""
EVALUATION = """
import json, sys
from t2i_core import evaluate
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row

class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit):
        yield Row("brightness", unit.one().one("reward").value)

if __name__ == "__main__":
    run = evaluate(
        MetricInfo(name="brightness", summary="B.", create=Brightness, measures=(Measure("brightness", "x"),)),
        "pencil-1",
        prompts=["a cat", "a dog"],
        seeds=3,
        judge=["eye-1", "eye-2"],
        executor="ray",
        workers=1,
        options={
            "pencil-1": {"environment": "t2i-eye-1==1.0"},
            "eye-1": {"environment": ["t2i-eye-1==1.0"]},
            "eye-2": {"environment": "t2i-eye-2, tiny-library", "factor": 0.5},
        },
        out=sys.argv[1],
    )
    print(json.dumps({result.by: result.score for result in run.results}))
"""


def build_wheel(folder: Path, name: str, version: str, *rest: object, **more: object) -> None:
    """Build a wheel of a distribution that `fake_dist` writes."""
    place = folder / f"{name}-{version}"
    fake_dist(place, name, *rest, version=version, **more)  # type: ignore[arg-type]
    (info,) = place.glob("*.dist-info")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: t2i\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    files = [each.relative_to(place).as_posix() for each in sorted(place.rglob("*")) if each.is_file()]
    record = f"{info.name}/RECORD"
    (place / record).write_text("".join(f"{each},,\n" for each in [*files, record]))
    with zipfile.ZipFile(folder / f"{info.name.removesuffix('.dist-info')}-py3-none-any.whl", "w") as wheel:
        for each in [*files, record]:
            wheel.write(place / each, each)
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two plugins with the versions of the library that they pin."""
    folder = tmp_path_factory.mktemp("wheels")
    for number in "12":
        build_wheel(folder, "tiny-library", f"{number}.0", "", {"tiny_library": f"VERSION = '{number}'"})
        groups = {"generators": "pencil", "judges": "eye", "judges.reward": "eye"}
        entries = {f"t2i.{group}": {f"{name}-{number}": f"eye_{number}"} for group, name in groups.items()}
        modules = {f"eye_{number}": PLUGIN.replace("NUMBER", number)}
        requires = ("t2i-core~=0.1.0", f"tiny-library=={number}.0")
        build_wheel(folder, f"t2i-eye-{number}", "1.0", entries, modules, requires=requires)
    return folder


def run(*command: str | Path, wheels: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    settings = {"T2I_CACHE_DIR": str(cache), "UV_FIND_LINKS": str(wheels), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **settings},
        cwd=cache.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.timeout(900)  # a busy machine takes minutes to start its processes
def test_plugins_with_conflicting_requirements_share_a_run(wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "evaluation.py").write_text(EVALUATION)
    cache = tmp_path / "cache"
    done = run("evaluation.py", "run", wheels=wheels, cache=cache)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "eye-1": 11.0,
        "eye-2": 11.0,
    }  # twice the library's version, half the factor
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    parts = {
        each["name"]: each for each in [*manifest["models"], *manifest["components"]] if "environment" in each
    }
    assert {name: part["environment"] for name, part in parts.items()} == {
        "pencil-1": {"t2i-eye-1": "1.0"},
        "eye-1": {"t2i-eye-1": "1.0"},
        "eye-2": {"t2i-eye-2": "1.0", "tiny-library": "2.0"},
    }
    assert {name: part["reported"]["library"] for name, part in parts.items()} == {
        "pencil-1": "1",
        "eye-1": "1",
        "eye-2": "2",
    }
    assert len(list((cache / "environments").glob("[!.]*"))) == 2  # the first two share one
    listed = json.loads(run("-m", "t2i_cli", "doctor", "--json", wheels=wheels, cache=cache).stdout)[
        "environments"
    ]
    assert [each["requirements"] for each in listed] == [["t2i-eye-1==1.0"], ["t2i-eye-2", "tiny-library"]]
    assert all(each["bytes"] > 1_000_000 for each in listed)
    cleaned = run("-m", "t2i_cli", "cache", "clean", "--limit", "0", "--yes", "--json", wheels=wheels, cache=cache)
    assert json.loads(cleaned.stdout)["environments"] == 2
    assert not list((cache / "environments").glob("[!.]*"))


@pytest.mark.slow
def test_plugins_that_conflict_in_one_environment_are_one_clear_line(wheels: Path, tmp_path: Path) -> None:
    option = "pencil-1.environment=t2i-eye-1, t2i-eye-2"
    words = ["generate", "--model", "pencil-1", "-o", option, "--executor", "ray", "--prompts", "prompts.txt"]
    (tmp_path / "prompts.txt").write_text("a cat\n")
    done = run("-m", "t2i_cli", *words, wheels=wheels, cache=tmp_path / "cache")
    assert done.returncode == 6
    assert "generator 'pencil-1': its environment (t2i-eye-1, t2i-eye-2) cannot be built: Because" in done.stderr
    assert "tiny-library" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "cache" / "environments").glob("[!.]*"))


@pytest.mark.slow
def test_a_recipe_runs_a_plugin_that_is_installed_nowhere_else(wheels: Path, tmp_path: Path) -> None:
    recipe = "models: [pencil-2]\nprompts: [prompts.txt]\nexecutor: ray\nworkers: 1\noptions:\n"
    recipe += "  pencil-2:\n    environment: [t2i-eye-2==1.0]\n"
    (tmp_path / "recipe.yaml").write_text(recipe)
    (tmp_path / "prompts.txt").write_text("a cat\n")
    cache = tmp_path / "cache"
    words = ["generate", "--recipe", "recipe.yaml", "--out", "images"]
    offline = run("-m", "t2i_cli", *words, "--offline", wheels=wheels, cache=cache)
    assert offline.returncode == 7
    assert "its environment (t2i-eye-2==1.0) is not built, and nothing may be fetched" in offline.stderr
    fetched = run("-m", "t2i_cli", "prefetch", "recipe.yaml", wheels=wheels, cache=cache)
    assert fetched.returncode == 0, fetched.stderr
    assert "generator pencil-2: needs no download" in fetched.stdout
    assert "building the environment of generator 'pencil-2' (t2i-eye-2==1.0)" in fetched.stderr
    done = run("-m", "t2i_cli", *words, "--seeds", "2", wheels=wheels, cache=cache)
    assert done.returncode == 0, done.stderr
    again = run("-m", "t2i_cli", *words[:-1], "more", "--seeds", "4", "--offline", wheels=wheels, cache=cache)
    assert again.returncode == 0, again.stderr
    assert len(list((tmp_path / "more").rglob("*.png"))) == 4
