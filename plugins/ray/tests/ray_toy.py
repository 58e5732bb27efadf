"""The plugin of `toy_world.py`, installed in a folder for the tests and for the workers that they start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from t2i_core.testing.fake_dists import fake_dist

SOURCE = Path(__file__).with_name("toy_world.py")


def install_toy(folder: Path, version: str = "1.0") -> None:
    """Write the plugin into a folder. `add_to_path` lets processes import it from there."""
    fake_dist(
        folder,
        "toy-world",
        {
            "t2i.generators": {"toy": "toy_world"},
            "t2i.judges": {"toy-judge": "toy_world"},
            "t2i.metrics": {"toy-metric": "toy_world"},
            "t2i.prompt_sources": {"toy-prompts": "toy_world"},
        },
        {"toy_world": SOURCE.read_text(encoding="utf-8")},
        version=version,
    )


def add_to_path(folder: Path) -> None:
    """Have this process and those that it starts import from a folder."""
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
