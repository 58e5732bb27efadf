"""Environments that hold nothing but what is installed into them, from wheels alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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
    tested = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    (place / "constraints.txt").write_text("\n".join(tested["constraint-dependencies"]), encoding="utf-8")
    if shutil.which("uv"):
        run("uv", "venv", "--quiet", "--python", sys.executable, place / "venv", cwd=place)
    else:
        run(sys.executable, "-m", "venv", place / "venv")
    install(place, wheels, *others)
    return make_command(place)


def install(place: Path, wheels: Iterable[Path], *others: str) -> None:
    """Install wheels, and others, into the environment of a folder.

    The bytecode of this environment is copied into it, because compiling torch takes half a minute. Python
    compiles a file anew if its time or size differs.
    """
    run(*_pip(place, "install"), *wheels, *others, "-c", place / "constraints.txt", cwd=place)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    here, there = (Path(run(python, "-c", where).strip()) for python in (sys.executable, _find_python(place)))
    for folder in (Path(found) for found, _, _ in os.walk(here) if found.endswith("__pycache__")):
        copy = there / folder.relative_to(here)
        if copy.parent.is_dir() and not copy.exists():
            shutil.copytree(folder, copy)


@contextmanager
def installed_wheels(place: Path, wheels: Iterable[Path]) -> Iterator[None]:
    """Install wheels, and what they need, into the environment of a folder, and remove it all at the end."""
    before = _list_packages(place)
    install(place, wheels)
    yield
    run(*_pip(place, "uninstall"), *sorted(_list_packages(place) - before), cwd=place)


def _list_packages(place: Path) -> set[str]:
    """Return the names of all packages in the environment of a folder."""
    return {package["name"] for package in json.loads(run(*_pip(place, "list"), "--format", "json", cwd=place))}


def _pip(place: Path, verb: str) -> tuple[object, ...]:
    """Return the beginning of a command of uv, or of pip where uv is not installed."""
    python = _find_python(place)
    if shutil.which("uv"):
        return "uv", "pip", verb, "--python", python
    return python, "-m", "pip", verb, *(["--yes"] if verb == "uninstall" else [])


def _find_python(place: Path) -> Path:
    return _find_programs(place) / "python"


def _find_programs(place: Path) -> Path:
    return place / "venv" / ("Scripts" if os.name == "nt" else "bin")


def make_command(place: Path) -> Command:
    """Return a function that runs a command of the environment in a folder, with a new cache: its output."""
    bin_folder = _find_programs(place)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("T2I_", "PYTHON", "VIRTUAL_ENV", "PYTEST"))}
    env |= {"T2I_CACHE_DIR": str(place / "cache")}

    def command(name: str, *words: object, cwd: Path = place) -> str:
        found = shutil.which(name, path=str(bin_folder))
        assert found, f"{name} is not installed"
        return run(found, *words, cwd=cwd, env=env)

    return command
