"""A stand-in for torch that cannot be imported: it notes which test imported it, in this process or a child."""

import os
from pathlib import Path

with Path(os.environ["TORCH_USERS"]).open("a", encoding="utf-8") as _file:
    _file.write(os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0] + "\n")

raise ImportError("torch is replaced by a stand-in, to find the tests that import it")
