"""Environments of components, built by uv in t2i's cache: one for each set of requirements."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name
from t2i_core.api.digest import digest_data
from t2i_core.api.environment import (
    ENVIRONMENTS,
    Environment,
    EnvironmentRecord,
    EnvironmentRequest,
    lock_environments,
    read_environment,
)
from t2i_core.api.errors import BadFolder, BadOption, MissingDependency
from t2i_core.api.redaction import redact

from .requirements import PARTS, list_constraints, list_names, pin_installed, read_requirements
from .uv import BuildError, find_uv, run_uv


def build_environment(request: EnvironmentRequest) -> Environment:
    """Return an environment with a component's requirements, t2i and Ray; build it if the cache has none.

    Two processes that need the same one build it once. A build that fails or is killed leaves nothing that counts
    as an environment.

    Raises:
        BadOption: If the requirements are not valid or cannot be installed together.
        MissingDependency: If uv is not installed, or the environment is not built and nothing may be downloaded.
        BadFolder: If the cache cannot be written.
    """
    wanted = read_requirements(request.requirements, request.whose)
    names = list_names(wanted)
    own = {canonicalize_name(request.own)} if request.own else set()
    parts = [pin_installed(name) for name in (*PARTS, *sorted(own - names - set(PARTS)))]
    constraints = list_constraints(names | own | set(PARTS))
    key = digest_data([wanted, parts, platform.python_version(), platform.machine(), sys.platform])[:32]
    place = request.cache / ENVIRONMENTS
    folder = place / key
    try:
        record = read_environment(folder)
        if record is None:
            if request.offline:
                raise MissingDependency(
                    f"{request.whose}: its environment ({_list(wanted)}) is not built, and nothing may be "
                    "fetched; run once without --offline and --dry-run"
                )
            uv = find_uv(request.whose)
            request.note(f"building the environment of {request.whose} ({_list(wanted)}); the cache keeps it")
            place.mkdir(parents=True, exist_ok=True)
            with lock_environments(place):
                record = read_environment(folder) or _build(
                    uv, folder, wanted, [*wanted, *parts], constraints, names | own, request.whose
                )
        record.mark_used(folder)
    except OSError as error:
        raise BadFolder(f"cache folder {request.cache}: cannot be written ({error.strerror or error})") from error
    versions = {name: record.versions[name] for name in sorted(names | own) if name in record.versions}
    return Environment(_find_python(folder), wanted, versions)


def _build(
    uv: str,
    folder: Path,
    wanted: tuple[str, ...],
    lines: Iterable[str],
    constraints: Iterable[str],
    names: set[str],
    whose: str,
) -> EnvironmentRecord:
    """Build an environment beside its place, and move it there when it is complete. The caller holds its lock."""
    building = folder.with_name(f".building-{folder.name}")
    shutil.rmtree(building, ignore_errors=True)  # left by a killed process
    shutil.rmtree(folder, ignore_errors=True)  # without a valid record
    try:
        building.mkdir()
        # `--relocatable`, because it moves to its place; the project of the working folder has no say
        run_uv(
            uv,
            ["venv", "--no-project", "--relocatable", "--allow-existing", "--python", sys.executable, "."],
            building,
        )
        (building / "requirements.txt").write_text("\n".join(lines), encoding="utf-8")
        (building / "constraints.txt").write_text("\n".join(constraints), encoding="utf-8")
        files = ["-r", "requirements.txt", "-c", "constraints.txt"]
        python = str(_find_python(building))
        run_uv(uv, ["pip", "install", "--no-sources", "--python", python, *files], building)
        versions = _read_versions(building, {*names, *PARTS})
        for name in ("requirements.txt", "constraints.txt"):  # URLs may hold passwords
            (building / name).write_text(redact((building / name).read_text("utf-8")), encoding="utf-8")
        record = EnvironmentRecord(tuple(map(redact, wanted)), versions, _measure(building), time.time())
        record.write(building)
        building.rename(folder)
        return record
    except BuildError as error:
        raise BadOption(f"{whose}: its environment ({_list(wanted)}) cannot be built: {error}") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _list(requirements: Iterable[str]) -> str:
    return ", ".join(map(redact, requirements))


def _find_python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _read_versions(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of distributions in an environment, and of Python."""
    code = "import importlib.metadata as m, sys; print(*(f'{n}=={m.version(n)}' for n in sys.argv[1:]), sep='\\n')"
    python = str(_find_python(folder))
    listed = subprocess.run(
        [python, "-I", "-c", code, *sorted(names)], capture_output=True, text=True, check=False
    )
    if listed.returncode:
        raise BuildError(f"its Python does not run ({listed.stderr.strip().splitlines()[-1:]})")
    found = dict(line.split("==", 1) for line in listed.stdout.split())
    return {**found, "python": platform.python_version()}


def _measure(folder: Path) -> int:
    """Return the size in bytes of all files of a folder. Files that uv links to its own cache count too."""
    return sum(Path(place, name).lstat().st_size for place, _, names in os.walk(folder) for name in names)
