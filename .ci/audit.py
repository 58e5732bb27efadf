"""Look up known vulnerabilities of the packages in this environment with pip-audit.

Fails if a package has a known vulnerability that IGNORED does not list. If no index is reachable, or the index has
no data on vulnerabilities (many mirrors have none), it prints one line that says so, and does not fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from typing import Any

IGNORED: dict[str, str] = {}
"""Why a known vulnerability does not concern this project, by its id (or an alias)."""

TOOL = "pip-audit>=2.10,<3"
SECONDS = 300
UNREACHABLE = re.compile("connect|timed? ?out|failed to (fetch|resolve)|name resolution", re.IGNORECASE)


class NotAudited(Exception):
    """Why nothing was audited."""


def run(*arguments: str) -> str:
    """Return what pip-audit prints. Raises NotAudited if no index is reachable."""
    environment = os.environ | {"UV_HTTP_TIMEOUT": "10", "UV_HTTP_RETRIES": "1"}
    command = ["uv", "tool", "run", "--quiet", "--from", TOOL, "pip-audit", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        raise NotAudited(f"no answer within {SECONDS} seconds") from None
    if done.stdout.strip():  # pip-audit also fails where it has found something
        return done.stdout
    *_, last = done.stderr.strip().splitlines() or [f"pip-audit printed nothing (exit code {done.returncode})"]
    if UNREACHABLE.search(done.stderr):
        raise NotAudited(f"no index is reachable ({last.strip()})")
    sys.exit(f"pip-audit failed: {last.strip()}")


def audit() -> tuple[list[dict[str, Any]], int]:
    """Return the packages that were audited, with their `vulns`, and how many others could not be.

    Raises NotAudited if none could be.
    """
    run("--version")
    here = sysconfig.get_path("purelib")
    text = run(
        "--path", here, "--skip-editable", "--progress-spinner=off", "--timeout=5", "--format=json", "--desc=off"
    )
    packages = json.loads(text)["dependencies"]
    packages = [each for each in packages if "editable" not in each.get("skip_reason", "")]
    audited = [each for each in packages if "vulns" in each]
    if not audited:
        raise NotAudited(f"the index has no data on vulnerabilities ({len(packages)} packages looked up)")
    return audited, len(packages) - len(audited)


def main() -> None:
    """Print what was found; exit 1 for a known vulnerability."""
    try:
        audited, others = audit()
    except NotAudited as reason:
        print(f"pip-audit: not run, because {reason}")
        return
    found = []
    for package in audited:
        for each in package["vulns"]:
            if not {each["id"], *each.get("aliases", ())} & IGNORED.keys():
                fixed = ", ".join(each.get("fix_versions", ())) or "no version yet"
                found.append(f"{package['name']} {package['version']}: {each['id']}, fixed in {fixed}")
    if found:
        sys.exit(
            "\n".join(["pip-audit: update these packages, or add a reason to IGNORED in .ci/audit.py:", *found])
        )
    print(f"pip-audit: no known vulnerability in {len(audited)} packages; {others} others are not in the index")


if __name__ == "__main__":
    main()
