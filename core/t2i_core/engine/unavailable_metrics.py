"""Metrics of a run that cannot run here: all of them are refused together, or left out if the user allows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..api.errors import (
    BadModel,
    BadOption,
    BadPrompts,
    MissingDependency,
    MissingOption,
    NoJudge,
    NotHere,
    T2IError,
    did_you_mean,
    join_clauses,
)
from ..api.plugin_info import MetricInfo
from .request_values import split_prompts

ALL = "all"
"""Stands for all metrics in `--skip-unavailable`."""

CAUSES = (MissingDependency, MissingOption, NoJudge, BadModel, BadPrompts)
"""Errors that say what a metric lacks here, and not that the user made a mistake."""


class UnavailableMetrics:
    """Collects the metrics of a run that cannot run here, so that one message names them all.

    Args:
        metrics: The metrics of the run.
        allowed: Metrics that may be left out, as `Request.skip_unavailable` has them.

    Attributes:
        left_out: Why each metric that is left out cannot run, by its name.

    Raises:
        BadOption: If `allowed` names a metric that the run does not have.
    """

    def __init__(self, metrics: Sequence[str | MetricInfo], allowed: Sequence[str]) -> None:
        self._names = [_name(metric) for metric in metrics]
        self._allowed = set(allowed)
        self._errors: dict[tuple[str, str], T2IError] = {}
        self.left_out: dict[str, str] = {}
        known = {*self._names, *(name.partition(":")[0] for name in self._names)}
        if metrics and (odd := next((name for name in allowed if name not in {ALL, *known}), None)):
            raise BadOption(f"--skip-unavailable {odd}: {explain_unknown_metric(odd, known)}")

    @contextmanager
    def collect(self, metric: str | MetricInfo, judges: str = "") -> Iterator[None]:
        """Run a part of the plan of one metric; keep the error if the metric cannot run here.

        Args:
            metric: The metric.
            judges: The judges that the user names for it, if it has several panels of them.
        """
        try:
            yield
        except CAUSES as error:
            if len(self._names) == 1 and not (judges and self._may_skip(_name(metric))):
                raise
            self._errors[_name(metric), judges] = error

    def settle(self, measured: int) -> list[str]:
        """Return a note on each metric that is left out.

        Args:
            measured: Number of metrics, each with one panel of judges, that can run.

        Raises:
            T2IError: If a metric that may not be left out cannot run, or none can.
        """
        refused = {key: error for key, error in self._errors.items() if not (measured and self._may_skip(key[0]))}
        if refused:
            raise self._refuse(refused)
        self.left_out = {_title(*key): str(error) for key, error in self._errors.items()}
        return [f"left out: {title}: {why}" for title, why in self.left_out.items()]

    def _may_skip(self, name: str) -> bool:
        return not self._allowed.isdisjoint({ALL, name, name.partition(":")[0]})

    def _refuse(self, refused: Mapping[tuple[str, str], T2IError]) -> T2IError:
        """Return one error for several metrics, of the class of theirs if they have the same."""
        kinds = {BadModel if isinstance(error, NotHere) else type(error) for error in refused.values()}
        kind = kinds.pop() if len(kinds) == 1 else MissingDependency
        names = list(dict.fromkeys(name for name, _ in refused))
        reasons = [f"{_title(*key)}: {error}" for key, error in refused.items()]
        first = f"{len(names)} of {len(self._names)} metrics cannot run here: {reasons[0]}"
        options = " ".join(f"--skip-unavailable {name}" for name in names)
        skip = f"give them what they need, or leave them out with {options}"
        return kind(join_clauses([first, *reasons[1:], skip if len(names) < len(self._names) else ""]))


def explain_unknown_metric(name: str, known: Collection[str]) -> str:
    """Return why a metric that an option names is not one of the run's."""
    hint = did_you_mean(name, known) or f"; they are {', '.join(sorted(known))}"
    return f"the run has no metric of this name{hint}"


def refuse_unused_prompts(default_prompts: Sequence[str], metrics: Sequence[str | MetricInfo]) -> None:
    """Refuse default prompts of a metric that the run does not have.

    Raises:
        BadOption: If there are some.
    """
    known = {name.partition(":")[0].rpartition("/")[2] for name in map(_name, metrics)}
    for metric, prompts in map(split_prompts, default_prompts):
        if metric and metrics and metric not in known:
            raise BadOption(f"--default-prompts {metric}={prompts}: {explain_unknown_metric(metric, known)}")


def _title(name: str, judges: str) -> str:
    return f"{name} by {judges}" if judges else name


def _name(metric: str | MetricInfo) -> str:
    return metric if isinstance(metric, str) else metric.name
