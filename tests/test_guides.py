"""The guides' commands work in the order in which they stand there, and print what the guides show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from t2i_cli.app import app
from typer.testing import CliRunner

DOCS = Path(__file__).parent.parent / "docs"
GUIDES = ("first-evaluation.md", "compare-checkpoints.md", "evaluate-a-folder.md")

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?<?\d[\d.:e-]*(?:[kMG]?B)?")


def mask(line: str) -> str:
    """Return a line with its numbers and spaces made equal: they differ between processors."""
    return " ".join(NUMBER.sub("#", line).split())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guides evaluate the same images."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("guide", GUIDES)
def test_commands_print_what_a_guide_shows(
    guide: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(cache))
    monkeypatch.setenv("COLUMNS", "200")  # else tables fold where the tests' output is narrow
    blocks = BLOCK.findall((DOCS / guide).read_text(encoding="utf-8"))
    assert blocks
    names: dict[str, Any] = {}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, guide, "exec"), names)
            continue
        command, *expected = block.splitlines()
        assert command.startswith("$ t2i ")
        done = CliRunner().invoke(app, shlex.split(command)[2:])
        assert done.exit_code == 0, f"{command}: {done.output}"
        printed = iter([mask(line) for line in done.output.splitlines()])
        for line in expected:
            if line != "...":
                assert mask(line) in printed, f"{command} does not print {line!r} there:\n{done.output}"
