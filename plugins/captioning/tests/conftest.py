"""Programs that stand in for Java."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: stands in for METEOR's jar: answers each line with statistics, and leaves a file when its input ends
FAKE_METEOR = """import sys
print("a warning", file=sys.stderr, flush=True)
for line in sys.stdin:
    if "die" in line:
        sys.exit("out of memory")
    words = len(line.split("|||")[-1].split())
    print(f"{{words}} 3.0 0.0 0.0 1.0 1.0" + " 0.0" * 14 + " 1.0 1.0 1.0", flush=True)
open("{done}", "w").close()
"""


@pytest.fixture
def write_java(tmp_path: Path) -> Callable[[str], Path]:
    """Write the code of a program, which is called as Java is."""

    def write(code: str) -> Path:
        program = tmp_path / "java"
        program.write_text(f"#!{sys.executable}\n{code}")
        program.chmod(0o755)
        return program

    return write


@pytest.fixture
def meteor_java(tmp_path: Path, write_java: Callable[[str], Path]) -> Path:
    """Stand in for METEOR's jar: answer each line with statistics, and leave the file `done` at the end."""
    return write_java(FAKE_METEOR.format(done=tmp_path / "done"))
