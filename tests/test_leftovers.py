"""The session fails if a test leaves a file in the working directory (conftest.py of the repository)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def run_pytest(folder: Path, body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one test with the repository's conftest.py in a separate project."""
    (folder / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_it.py").write_text(f"from pathlib import Path\n\ndef test_it(tmp_path):\n    {body}\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize("processes", ["-n0", "-n1"])
@pytest.mark.parametrize("left", ["left.txt", "t2i-runs/left"])
def test_a_file_in_the_working_directory_fails_the_session(tmp_path: Path, left: str, processes: str) -> None:
    (tmp_path / "t2i-runs" / "mine").mkdir(parents=True)  # runs of the user are nobody's leftovers
    done = run_pytest(tmp_path, f"Path({left!r}).touch()", processes)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert str(tmp_path / left) in done.stdout
    assert "mine" not in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_a_file_in_a_temporary_folder_is_fine(tmp_path: Path, processes: str) -> None:
    done = run_pytest(tmp_path, "(tmp_path / 'left.txt').touch()", processes)
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
