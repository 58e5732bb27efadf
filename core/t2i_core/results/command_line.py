"""The command of a run, as a user gives it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath


def write_command_line(words: Sequence[str]) -> str:
    """Return a command line for a shell; the program by its name, not by the place where it is installed.

    Args:
        words: The words of the command; none for a run from Python without a program.
    """
    if not words:
        return ""
    place = PurePath(words[0])
    program = "t2i" if place.parent.name == "t2i_cli" else place.name  # python -m t2i_cli
    return shlex.join([program, *words[1:]])
