"""The command of a run, as a user gives it again."""

from __future__ import annotations

import pytest
from t2i_core.results.command_line import write_command_line


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["/home/ann/.venv/bin/t2i", "eval", "--out", "my run"], "t2i eval --out 'my run'"),
        (["/lib/python3/site-packages/t2i_cli/__main__.py", "eval"], "t2i eval"),
        (["/home/ann/measure.py"], "measure.py"),
        ([], ""),
    ],
)
def test_the_program_is_named_without_its_folder(words: list[str], line: str) -> None:
    assert write_command_line(words) == line
