"""The audit of `.ci/run`: it fails for a known vulnerability, and says so where it could not look."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[1] / ".ci" / "audit.py"
FOUND = {"id": "PYSEC-0-1", "aliases": ["CVE-0-1"], "fix_versions": ["2.0"]}
SKIPPED = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (1)"}
OWN = {"name": "t2i", "skip_reason": "distribution marked as editable"}


def packages(*found: dict[str, object]) -> str:
    return json.dumps({"dependencies": [*found, SKIPPED, OWN]})


@pytest.mark.parametrize(
    ("out", "err", "code", "said"),
    [
        (packages({"name": "a", "version": "1", "vulns": []}), "", 0, "in 1 packages; 1 others"),
        (packages({"name": "a", "version": "1", "vulns": [FOUND]}), "Found 1", 1, "a 1: PYSEC-0-1, fixed in 2.0"),
        (packages(), "", 0, "not run, because the index has no data on vulnerabilities (1 packages"),
        ("", "Traceback\ncause: tcp connect error\n", 0, "not run, because no index is reachable"),
        ("", "error: invalid choice", 1, "pip-audit failed: error: invalid choice"),
    ],
    ids=["clean", "vulnerable", "mirror", "unreachable", "broken"],
)
def test_results_of_an_audit(tmp_path: Path, out: str, err: str, code: int, said: str) -> None:
    (tmp_path / "out").write_text(out)
    (tmp_path / "err").write_text(err)
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\ncat {tmp_path}/out\ncat {tmp_path}/err >&2\ntest -s {tmp_path}/out\n")
    uv.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, AUDIT], capture_output=True, text=True, env=environment)
    assert done.returncode == code
    assert said in done.stdout + done.stderr
