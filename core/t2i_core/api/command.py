"""Evaluations that a plugin's command runs, as `t2i eval` runs its own.

The command line lends an `Evaluator` to each command function that is marked with `runs_evaluations`: it adds the
options of an evaluation to the command (`--seeds`, `--limit`, `--option`, `--device`, ...) and puts the evaluator,
which knows their values, into the context's `obj`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from ..engine.request import Request
    from ..results.run import Run
    from .resolver import Resolver

_MARK = "__t2i_runs_evaluations__"

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def runs_evaluations(function: FunctionT) -> FunctionT:
    """Mark the function of a command that runs evaluations; it finds an `Evaluator` in its context's `obj`.

    Example:
        >>> import typer
        >>> app = typer.Typer()
        >>> @app.command()
        ... @runs_evaluations
        ... def check(context: typer.Context, name: str) -> None:
        ...     evaluator: Evaluator = context.obj
        ...     request = evaluator.make_request({"metrics": "tiam", "models": name}, "t2i check")
        ...     evaluator.run(request, as_json=False)
    """
    setattr(function, _MARK, True)
    return function


def is_marked(function: object) -> bool:
    """Return whether `runs_evaluations` marks a function."""
    return getattr(function, _MARK, False) is True


def write_examples(*lines: str) -> str:
    """Return the examples at the end of a command's help, for Typer's argument `epilog`.

    Args:
        lines: Command lines, each of at most 76 characters.

    Example:
        >>> print(write_examples("t2i check my-images"))
        Examples:
        t2i check my-images
    """
    return "\n".join(["Examples:", *lines])


class Evaluator(Protocol):
    """Evaluations as `t2i eval` runs them: options, messages, plan, progress, interrupts and exit codes."""

    @property
    def resolver(self) -> Resolver[Any]:
        """Finds components by name."""
        ...

    @property
    def given(self) -> Mapping[str, Any]:
        """Values that the command line sets, by the request's fields; None or empty where it sets nothing."""
        ...

    def make_request(self, recipe: Mapping[str, Any], name: str, out: Path | None = None) -> Request:
        """Return the request of a recipe, overridden by the command line's options; load nothing.

        Args:
            recipe: A recipe's keys, as plain data.
            name: What messages call the recipe.
            out: The run's folder. Default: one under t2i-runs.

        Raises:
            BadRecipe: The recipe is not valid.
            T2IError: A component or an option of it is unknown, ambiguous or broken.
        """
        ...

    def forecast(self, request: Request) -> dict[str, Any]:
        """Return the plan of a request, as `t2i eval --dry-run --json` prints it; generate and write nothing."""
        ...

    def print_plan(self, request: Request) -> None:
        """Print the plan of a request, as `t2i eval --dry-run` does; generate and write nothing."""
        ...

    def run(self, request: Request, as_json: bool) -> Run:
        """Print the plan of a request and run it.

        Args:
            request: The request.
            as_json: Whether the command prints JSON; the plan then goes to standard error.

        Raises:
            T2IError: The evaluation cannot run.
        """
        ...
