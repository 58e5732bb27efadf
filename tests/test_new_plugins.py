"""What `t2i new-plugin` makes works: untouched, by its own checks and (slow) from a wheel and nothing else, and as
the tutorials in docs/write-a-plugin.md change it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from fresh_environment import (
    ROOT,
    Command,
    build_wheels,
    fresh_environment,
    installed_wheels,
    make_command,
)
from t2i_cli.app import app
from t2i_cli.new_plugin import EXAMPLES, LONGEST, render
from t2i_core.testing.fake_dists import fake_dist
from t2i_registry import scan
from t2i_registry.plugin_check import check_plugins
from typer.testing import CliRunner

#: a tutorial begins with the command, writes whole files, and replaces single lines
BEGUN = re.compile(r"^    t2i new-plugin (\S+) (\S+)$", re.MULTILINE)
LINE = re.compile(r"<!-- line: (\S+) -->\n```toml\n((\S+) = .*)\n```$", re.MULTILINE)
WRITTEN = re.compile(r"<!-- write: (\S+) -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

#: a word of Python's and a module's do no harm: what is imported begins with t2i_
NAMES = {
    "generator": "class",
    "judge": "numpy",
    "metric": "found-share",
    "prompt_source": "w" * LONGEST,
    "sink": "markdown",
}
ALSO_INSTALLED = (
    "core",
    "registry",
    "cli",
    *(f"plugins/{p}" for p in ("arena-elo", "diffusers", "miniworld", "tiam", "torch-support")),
)
ALSO_LISTED = {f"t2i-{Path(part).name}" for part in ALSO_INSTALLED}


def make(kind: str, name: str, folder: Path) -> Path:
    """Make a new plugin in a folder, as a user does; returns its own folder."""
    plugin = folder / f"t2i-{name}"
    said = CliRunner().invoke(app, ["new-plugin", kind, name, "--out", str(plugin)])
    assert said.exit_code == 0, said.output
    return plugin


def follow_tutorials(folder: Path) -> list[Path]:
    """Do what the tutorials say; returns the plugins' folders."""
    text = (ROOT / "docs" / "write-a-plugin.md").read_text(encoding="utf-8")
    plugins = [make(kind, name, folder) for kind, name in BEGUN.findall(text)]
    written = WRITTEN.findall(text)
    assert {folder / place.partition("/")[0] for place, _ in written} == set(plugins)
    for place, content in written:
        assert (folder / place).is_file(), f"{place} is no file that `t2i new-plugin` writes"
        (folder / place).write_text(content, encoding="utf-8")
    for place, line, key in LINE.findall(text):
        before = (folder / place).read_text(encoding="utf-8")
        after, count = re.subn(rf"^{key} = .*$", line, before, flags=re.MULTILINE)
        assert count == 1, f"{place} has not one line of {key}"
        (folder / place).write_text(after, encoding="utf-8")
    return plugins


@dataclass(frozen=True)
class Made:
    """Plugins of all kinds, and what a process needs in order to have them installed."""

    folder: Path
    plugins: tuple[Path, ...]
    path: tuple[Path, ...]

    def run(self, *words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a module of Python beside them."""
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self.path))}
        command = [sys.executable, "-m", *map(str, words)]
        return subprocess.run(
            command, cwd=cwd or self.folder, env=env, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Plugins of all kinds, and those of the tutorials, with the metadata that an installer would write."""
    folder = tmp_path_factory.mktemp("new")
    plugins = (*(make(kind, name, folder) for kind, name in NAMES.items()), *follow_tutorials(folder))
    for plugin in plugins:
        project = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        fake_dist(folder / "site", project["name"], project["entry-points"], summary=project["description"])
    return Made(folder, plugins, (folder / "site", *plugins))


@pytest.fixture
def installed(made: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """The same, installed for this process."""
    for place in made.path:
        monkeypatch.syspath_prepend(place)
    return made


def test_ruff_has_nothing_to_say_whatever_the_name(made: Made, tmp_path: Path) -> None:
    for kind in EXAMPLES:
        for name in ("a", "w" * LONGEST):
            for place, content in render(kind, name).items():
                (tmp_path / kind / name / place).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / kind / name / place).write_text(content, encoding="utf-8")
    for words in (["check"], ["format", "--check"]):
        done = made.run("ruff", *words, "--no-cache", *made.plugins, tmp_path)
        assert done.returncode == 0, done.stdout


def test_imported_packages_are_declared_as_dependencies(made: Made) -> None:
    for plugin in made.plugins:
        project = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))
        needs = {_module(need) for need in project["project"]["dependencies"]}
        dev = {_module(need) for need in project["dependency-groups"]["dev"]}
        own = plugin.name.replace("-", "_")
        for file in plugin.rglob("*.py"):
            known = needs | {own} | (dev if "tests" in file.parts else set())
            assert _imported(file) - sys.stdlib_module_names <= known, file


def _module(requirement: str) -> str:
    """The module of a requirement on one of the distributions that templates need."""
    name = re.split(r"[\[>~]", requirement)[0].replace("-", "_")
    return {"pillow": "PIL"}.get(name, name)


def _imported(file: Path) -> set[str]:
    """The top-level modules that a file imports, its own package's left out where it says so with a dot."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.long
def test_types_hold_strictly(made: Made, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    if (ROOT / ".mypy_cache").is_dir():  # what numpy's and pandas' types are is known there
        shutil.copytree(ROOT / ".mypy_cache", cache)
    for plugin in made.plugins:
        done = made.run("mypy", "--cache-dir", cache, cwd=plugin)
        assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_their_own_tests_pass(made: Made) -> None:
    untouched = made.plugins[: len(NAMES)]  # those of the tutorials are tested from wheels
    done = made.run("pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *untouched)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
    assert "xfailed" not in done.stdout


def test_they_are_listed_and_load(installed: Made) -> None:
    mine = [e for e in scan().entries if e.dist in {plugin.name for plugin in installed.plugins}]
    assert {(e.kind, e.name) for e in mine} >= set(NAMES.items())
    assert {c.entry.dist: c.error for c in check_plugins(mine)} == {
        plugin.name: "" for plugin in installed.plugins
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of what plugins are evaluated with: one for all, because Python compiles what it holds."""
    folder = tmp_path_factory.mktemp("environment")
    fresh_environment(folder, build_wheels((ROOT / part for part in ALSO_INSTALLED), folder / "wheels"), "pytest")
    return folder


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_plugins_of_the_tutorials_work_from_wheels(place: Path, tmp_path: Path) -> None:
    plugins = follow_tutorials(tmp_path)
    inside = make_command(place)
    with installed_wheels(place, build_wheels(plugins, tmp_path / "wheels")):
        for plugin in plugins:
            shutil.rmtree(plugin / plugin.name.replace("-", "_"))  # only the wheel is left
        listed = json.loads(inside("t2i", "list-plugins", "--check", "--json"))
        own = {row["dist"]: row["status"] for row in listed if row["dist"] not in ALSO_LISTED}
        assert own == dict.fromkeys((plugin.name for plugin in plugins), "ok")
        tests = "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"
        said = inside(*tests, *plugins)
        assert "passed" in said
        assert "skipped" not in said
        assert "xfailed" not in said
        evaluate_example("metric", "extras", inside, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_from_a_wheel_it_is_checked_tested_and_evaluated(kind: str, place: Path, tmp_path: Path) -> None:
    name = NAMES[kind]
    plugin = make(kind, name, tmp_path)
    inside = make_command(place)
    with installed_wheels(place, build_wheels([plugin], tmp_path / "wheels")):
        shutil.rmtree(plugin / f"t2i_{name.replace('-', '_')}")  # only the wheel is left

        listed = json.loads(inside("t2i", "list-plugins", "--check", "--json"))
        (found,) = (row for row in listed if row["dist"] not in ALSO_LISTED)
        assert (found["dist"], found["kind"], found["name"], found["status"]) == (plugin.name, kind, name, "ok")
        assert "passed" in inside("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=plugin)
        evaluate_example(kind, name, inside, tmp_path)


def evaluate_example(kind: str, name: str, inside: Command, folder: Path) -> None:
    """Evaluate with a new plugin as `t2i new-plugin` says, in an environment that has it."""
    words = shlex.split(EXAMPLES[kind].evaluate.format(name=name))
    answer = json.loads(inside(*words, "--device", "cpu", "--json", cwd=folder))
    (result,) = answer["results"]
    print(f"{kind}: {result['score']}, {result['ci']}, {result['n_ok']} ok")
    assert result["score"] is not None
    assert result["n_ok"] > 0
    assert (result["n_failed"], result["n_missing"]) == (0, 0)
