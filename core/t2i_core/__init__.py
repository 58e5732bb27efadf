"""t2i: evaluate text-to-image models.

`evaluate` runs an evaluation, `load_run` reads a finished one, and `CheckpointScorer` follows a training;
`t2i_core.api` holds all that a plugin author needs. Each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers: the same names as in `_HOME`
    from .engine.checkpoints import CheckpointScorer as CheckpointScorer
    from .engine.evaluation import evaluate as evaluate
    from .engine.request import ModelRequest as ModelRequest
    from .engine.request import Request as Request
    from .results.run import Run as Run
    from .results.run import load_run as load_run

_HOME = {
    "CheckpointScorer": "engine.checkpoints",
    "ModelRequest": "engine.request",
    "Request": "engine.request",
    "evaluate": "engine.evaluation",
    "Run": "results.run",
    "load_run": "results.run",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
