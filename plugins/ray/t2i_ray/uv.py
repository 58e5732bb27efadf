"""Calls of uv, which builds environments."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from t2i_core.api.errors import MissingDependency
from t2i_core.api.redaction import redact


class BuildError(Exception):
    """uv could not build an environment. The message is uv's reason in one line."""


def find_uv(whose: str) -> str:
    """Return the path of uv.

    Args:
        whose: The component that needs it, for the message.

    Raises:
        MissingDependency: If it is not installed.
    """
    found = shutil.which("uv")
    if found is None:
        try:
            from uv import find_uv_bin  # type: ignore[import-not-found, unused-ignore]

            found = str(find_uv_bin())
        except (ImportError, FileNotFoundError):
            raise MissingDependency(
                f"{whose}: its environment is built by uv, which is not installed: pip install uv"
            ) from None
    return found


def run_uv(uv: str, arguments: Sequence[str], folder: Path) -> None:
    """Run uv in a folder.

    Raises:
        BuildError: If it fails.
    """
    done = subprocess.run(
        [uv, "--no-progress", "--color", "never", *arguments], cwd=folder, capture_output=True, check=False
    )
    if done.returncode:
        text = done.stderr.decode(errors="replace") or done.stdout.decode(errors="replace")
        raise BuildError(describe_failure(text) or f"uv ended with code {done.returncode}")


def describe_failure(output: str) -> str:
    """Return what uv says about a failure in one line, without its drawing and without credentials."""
    lines = [re.sub(r"^[\s×╰─▶│├┬]*", "", line).strip() for line in output.splitlines()]
    lines = [
        line for line in lines if line and not re.match(r"(?i)(using|resolved|creating|warning|hint)\b", line)
    ]
    text = " ".join(" ".join(lines).split()).removeprefix("error: ").rstrip(".")
    text = re.sub(r"^No solution found when resolving dependencies:?( cause:)?\s*", "", text)
    return redact(text[:600])
