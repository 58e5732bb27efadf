"""Comparisons that runs store, as those who compare models read them."""

from __future__ import annotations

from collections.abc import Iterator

from .looks import Decision, StoppedComparison
from .number_format import format_number
from .result import Comparison
from .run import Run

DRAWN_BY_DIFFERENCE = "the number of samples of a run with --until verdict or best depends on its differences"
"""Why such a run is not compared with other runs without a remark."""

_TURNED: dict[Decision, Decision] = {"higher": "lower", "lower": "higher", "close": "close"}


def find_run_comparison(run: Run, labels: tuple[str, str], metric: str, by: str | None) -> Comparison | None:
    """Return a run's own comparison of two of its models, the first minus the second; None if it has none."""
    own = list_run_comparisons(run, labels)
    return next((each for each in own if (each.metric, each.by) == (metric, by)), None)


def list_run_comparisons(run: Run, labels: tuple[str, str]) -> Iterator[Comparison]:
    """Yield a run's own comparisons of two of its models, the first minus the second, under all metrics."""
    for each in run.comparisons:
        if each.diff is None:
            continue
        if (each.a, each.b) == labels:
            yield each
        elif (each.b, each.a) == labels:
            yield _turn(each)


def draws_by_difference(run: Run) -> bool:
    """Return whether the number of a run's samples depends on the differences between its models."""
    return run.manifest.stopping is not None and run.manifest.stopping.margin is not None


def describe_stop(comparison: Comparison) -> str | None:
    """Return what the comparison of a run that stopped early counts; None for any other."""
    stopped = comparison.stopped
    if stopped is None:
        return None
    return (
        "the run stopped early: its own difference counts all looks; the mean difference, which stopping early "
        f"exaggerates, is {format_number(stopped.plain_diff)}"
    )


def _turn(found: Comparison) -> Comparison:
    """Return a comparison with its models in the other order."""
    low, high = found.ci
    return found.model_copy(
        update={
            "a": found.b,
            "b": found.a,
            "diff": _negate(found.diff),
            "ci": [_negate(high), _negate(low)],
            "stopped": None if found.stopped is None else _turn_stop(found.stopped),
        }
    )


def _turn_stop(stopped: StoppedComparison) -> StoppedComparison:
    decision = None if stopped.decision is None else _TURNED[stopped.decision]
    return stopped.model_copy(update={"decision": decision, "plain_diff": _negate(stopped.plain_diff)})


def _negate(value: float | None) -> float | None:
    return None if value is None else -value
