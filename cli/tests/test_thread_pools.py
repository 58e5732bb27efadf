"""The command line settles thread pools before anything that has one is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

from t2i_core.engine.thread_pools import THREADS, WAITING


def test_the_command_line_sets_thread_pools_before_any_library_is_loaded() -> None:
    code = """
import sys
from t2i_core.engine import thread_pools
limit = thread_pools.limit_threads
def check():
    assert not {"numpy", "torch"} & set(sys.modules), "loaded too early"
    limit()
thread_pools.limit_threads = check
sys.argv = ["t2i", "--version"]
from t2i_cli import main
try:
    main()
finally:
    import os
    print(*(name for name in [*thread_pools.WAITING, thread_pools.THREADS] if name in os.environ))
"""
    environ = {name: value for name, value in os.environ.items() if name not in {*WAITING, THREADS}}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = [*WAITING, THREADS] if hasattr(os, "sched_getaffinity") else list(WAITING)
    assert done.stdout.splitlines()[-1].split() == expected
