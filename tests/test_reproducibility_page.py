"""docs/reproducibility.md: a line for each item of the papers; every command and test that it names exists."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_registry import Registry
from t2i_reproduce.paper_list import list_papers
from typer.testing import CliRunner

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reproducibility.md").read_text(encoding="utf-8")
LINES = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| item ")
]
COMMANDS = [shlex.split(text) for line in LINES for text in re.findall(r"`((?:t2i|pytest) [^`]+)`", line[2])]


@cache
def list_tests(file: str) -> frozenset[str]:
    """Return the names of the tests of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_each_item_has_a_line_with_a_command() -> None:
    items = [line[0] for line in LINES]
    assert len(items) == len(set(items))
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    counts = {part.partition("\n")[0]: len(re.findall(r"^\| (?!item )", part, re.MULTILINE)) for part in sections}
    assert (counts["Hypernymy"], counts["Taxonomy benchmark"], counts["TIAM"]) == (35, 39, 43)
    assert (counts["DALL-Eval"], counts["SelfEval"]) == (58, 26)
    assert min(counts.values()) > 0
    for line in LINES:
        assert len(line) == 4, line
        assert "`t2i " in line[2] or "`pytest " in line[2], line[0]
        assert line[3] in ("mini", "test", "data"), line[0]


def test_each_test_exists() -> None:
    places = [place for command in COMMANDS if command[0] == "pytest" for place in command[1:]]
    assert places
    for place in places:
        file, _, name = place.partition("::")
        assert name in list_tests(file), place


def test_each_table_and_figure_exists() -> None:
    names = {entry.name for paper in list_papers(Registry()).files for entry in paper.entries}
    shown = set()
    for command in COMMANDS:
        if command[:2] == ["t2i", "reproduce"]:
            shown |= {
                word
                for word in command[2:]
                if re.fullmatch(r"(hypernymy|taxonomy|dalleval|tiam|selfeval)-[a-z0-9-]+", word)
            }
    assert shown <= names
    tables = {name for name in names if re.fullmatch(r"(hypernymy|taxonomy|tiam|selfeval)-\d+", name)}
    assert tables <= shown


@pytest.mark.parametrize("name", sorted({command[1] for command in COMMANDS if command[0] == "t2i"}))
def test_each_command_exists(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0, done.output
