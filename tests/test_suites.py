"""Every plugin of this repository is held to the contracts of the kinds that it offers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

LIBRARIES = {"torch-support", "web-support"}
"""Folders of libraries: they offer no component, and have no hooks."""
PLUGINS = sorted(
    path.parent
    for path in (Path(__file__).parent.parent / "plugins").glob("*/pyproject.toml")
    if path.parent.name not in LIBRARIES
)
SUITES = {
    "t2i.generators": "GeneratorContract",
    "t2i.judges": "JudgeContract",
    "t2i.metrics": "MetricContract",
    "t2i.prompt_sources": "PromptSourceContract",
    "t2i.sinks": "SinkContract",
}


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_plugin_runs_the_suite_of_each_kind_that_it_offers(plugin: Path) -> None:
    offered = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    tests = "\n".join(file.read_text(encoding="utf-8") for file in (plugin / "tests").rglob("test_*.py"))
    wanted = {suite for group, suite in SUITES.items() if group in offered}
    assert wanted or offered.keys() & {
        "t2i.commands",
        "t2i.executors",
        "t2i.suites",
    }  # these have no contract suite
    assert {suite for suite in wanted if f"({suite})" not in tests and f"({suite}," not in tests} == set()
