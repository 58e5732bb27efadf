"""Tests that compute with torch pass with every instruction set of this processor and with 1, 2 and 4 threads.

Which tests these are is found out, not listed: one pass over all tests that are not slow replaces torch by a
stand-in (instruction_sets/torch.py) that notes every test whose process, or a process that it starts, imports
torch. The files of these tests then run once for each instruction set and number of threads.

Each instruction set is set for all libraries that choose their code by the processor: torch's own kernels, oneDNN,
MKL (on Intel's processors), and the OpenBLAS of numpy and scipy. ``default`` is torch's name for code without AVX.

Run it alone, because it fills the machine: ``uv run pytest -n0 -m slow tests/test_instruction_sets.py``.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STAND_IN = Path(__file__).parent / "instruction_sets"

THREADS = (1, 2, 4)
MARKS = "not slow and not weights"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

#: By torch's name, from the oldest: the processor's flags that it needs, and the variables that select it.
INSTRUCTION_SETS: dict[str, tuple[frozenset[str], dict[str, str]]] = {
    "default": (
        frozenset(),
        {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "OPENBLAS_CORETYPE": "Nehalem"},
    ),
    "avx2": (
        frozenset({"avx2", "fma"}),
        {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"},
    ),
    "avx512": (
        frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"}),
        {},  # nothing is limited: what libraries choose by themselves
    ),
}


def supported() -> list[str]:
    """Return the instruction sets that this processor has; elsewhere than on Linux's x86-64, ``default`` alone."""
    file = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not file.exists():
        return ["default"]
    (flags, *_) = (line for line in file.read_text().splitlines() if line.startswith("flags"))
    return [name for name, (needed, _) in INSTRUCTION_SETS.items() if needed <= set(flags.split())]


def environment(name: str, threads: int) -> dict[str, str]:
    """Return the environment in which libraries use an instruction set and a number of threads."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    # threads that wait must not spin: there may be more of them than cores
    fixed = {"ATEN_CPU_CAPABILITY": name, "OMP_WAIT_POLICY": "PASSIVE"}
    counts = {variable: str(threads) for variable in THREAD_VARIABLES}
    limits = INSTRUCTION_SETS[name][1] if platform.machine() == "x86_64" else {}
    return {**inherited, **fixed, **counts, **limits}


def run_pytest(arguments: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the tests among the arguments, except the slow ones, in a separate process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", MARKS, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


def find_torch_users(notes: Path, *arguments: str) -> list[str]:
    """Run tests without torch and return the files, or folders, of those that asked for it."""
    paths = [str(STAND_IN), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "TORCH_USERS": str(notes)}
    options = ["-p", "torch_users", "--continue-on-collection-errors", "--tb=no", "-r", "N"]
    done = run_pytest([*options, *arguments], {**environment("default", 1), **variables})
    assert done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), done.stdout[-3000:] + done.stderr
    return sorted({line for line in notes.read_text().splitlines() if line}) if notes.exists() else []


@pytest.fixture(scope="module")
def torch_users(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of all tests that import torch, without the slow ones."""
    found = find_torch_users(tmp_path_factory.mktemp("torch") / "users")
    assert found
    return found


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", supported())
def test_tests_that_compute_with_torch_pass(torch_users: list[str], name: str, threads: int) -> None:
    done = run_pytest(torch_users, environment(name, threads))
    print(done.stdout[-3000:])
    assert done.returncode == pytest.ExitCode.OK, done.stdout[-10_000:] + done.stderr


@pytest.mark.long
def test_users_of_torch_are_found_wherever_they_import_it(tmp_path: Path) -> None:
    ini = tmp_path / "pytest.ini"
    ini.write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for name, body in {
        "collected": "import torch\ndef test_it(): pass",
        "called": "def test_it(): import torch",
        "swallowed": "def test_it():\n    try: import torch\n    except ImportError: pass",
        "child": "import subprocess, sys\ndef test_it(): subprocess.run([sys.executable, '-c', 'import torch'])",
        "free": "import numpy\ndef test_it(): pass",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(body + "\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "conftest.py").write_text("import torch\n")
    (folder / "test_in_folder.py").write_text("def test_it(): pass\n")
    found = find_torch_users(tmp_path / "users", "-n0", f"--rootdir={tmp_path}", "-c", str(ini), str(tmp_path))
    assert found == ["folder", "test_called.py", "test_child.py", "test_collected.py", "test_swallowed.py"]


@pytest.mark.slow
@pytest.mark.parametrize("name", supported())
def test_torch_uses_the_instruction_set_and_threads_that_are_set(name: str) -> None:
    program = "import torch; print(torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(name, 2), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [name.upper(), "2"]
