"""Summaries of plugins' commands from their source: of each form a Typer application has, and without imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from t2i_cli.command_summary import read_summary

SOURCE = '''
import typer

raise RuntimeError("the module is imported")
one = typer.Typer(add_completion=False)
group = typer.Typer(help="Ask people.")
called: typer.Typer = typer.Typer()
several = typer.Typer()


@one.command(epilog="Examples")
def run(name: str) -> None:
    """Count captions.

    Slowly.
    """


@group.command()
def serve() -> None:
    """Serve a page."""


@called.callback(help="Rate models.")
def rate() -> None: ...


@several.command()
def first() -> None:
    """Do one thing."""


@several.command()
def second() -> None:
    """Do another."""
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "summarised"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('the package is imported')")
    (folder / "command.py").write_text(SOURCE)
    (folder / "broken.py").write_text("def (")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("target", "summary"),
    [
        ("summarised.command:one", "Count captions."),
        ("summarised.command:group", "Ask people."),
        ("summarised.command:called", "Rate models."),
        ("summarised.command:several", None),
        ("summarised.command:gone", None),
        ("summarised.broken:app", None),
        ("summarised.gone:app", None),
        ("no_such_package.command:app", None),
    ],
)
@pytest.mark.usefixtures("package")
def test_summary_is_read_from_the_source(target: str, summary: str | None) -> None:
    assert read_summary(target) == summary


def test_help_lists_a_line_for_each_command_and_imports_no_plugin() -> None:
    script = (
        "import sys\nfrom t2i_cli.app import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "found = [name for name in sys.modules if name in ('t2i_report', 't2i_people', 'pydantic')]\n"
        "print('IMPORTED', found)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, env={"COLUMNS": "200"}
    )
    assert "IMPORTED []" in shown.stdout
    assert (
        "Compare two models, paired, on the prompts and seeds that their runs share. (t2i-report)" in shown.stdout
    )
