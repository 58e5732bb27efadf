"""Environments that hold nothing but what is installed into them, from wheels alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent

Command = Callable[..., str]


def run(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command; returns its standard output."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, cwd=cwd, env=env)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheels(packages: Iterable[Path], folder: Path) -> list[Path]:
    """Build a wheel of each package's folder; returns all that are in the folder then."""
    for package in packages:
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, package)
    return sorted(folder.glob("*.whl"))


def fresh_environment(place: Path, wheels: Iterable[Path], *others: str) -> Command:
    """Install wheels, what they need in the versions tested here, and others, into a new environment in a folder.

    Returns what runs a command of it there (`make_command`).
    """
    venv, constraints = place / "venv", place / "constraints.txt"
    tested = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    constraints.write_text("\n".join(tested["constraint-dependencies"]), encoding="utf-8")
    wanted = [*wheels, *others, "-c", constraints]
    bin_folder = venv / ("Scripts" if os.name == "nt" else "bin")
    if shutil.which("uv"):
        run("uv", "venv", "--quiet", "--python", sys.executable, venv, cwd=place)
        run("uv", "pip", "install", "--quiet", "--python", bin_folder / "python", *wanted, cwd=place)
    else:
        run(sys.executable, "-m", "venv", venv)
        run(bin_folder / "python", "-m", "pip", "install", "--quiet", *wanted, cwd=place)
    return make_command(place)


def make_command(place: Path) -> Command:
    """Return a function that runs a command of the environment in a folder, with a new cache: its output."""
    bin_folder = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("T2I_", "PYTHON", "VIRTUAL_ENV", "PYTEST"))}
    env |= {"T2I_CACHE_DIR": str(place / "cache")}

    def command(name: str, *words: object, cwd: Path = place) -> str:
        found = shutil.which(name, path=str(bin_folder))
        assert found, f"{name} is not installed"
        return run(found, *words, cwd=cwd, env=env)

    return command
