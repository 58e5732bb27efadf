"""The judges of a run, and how far their answers can be trusted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from t2i_core.api.errors import T2IError
from t2i_core.api.plugin_info import JudgeInfo
from t2i_core.api.resolver import Resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.asked_people import list_asked_needs
from t2i_core.results.number_format import format_interval, format_number
from t2i_core.results.result import JudgeAgreement, Result
from t2i_core.results.run import Run
from t2i_core.results.score_difference import make_stored_scoring


@dataclass(frozen=True)
class ReadJudge:
    """A judge of a run.

    Attributes:
        name: Its name.
        metrics: The metrics that ask it.
        why: Why it was chosen.
        quality: How well it agrees with people, with other judges or with the truth, one fact each; the facts that
            were measured in this run come first.
        limits: What it does not see; empty if its plugin does not say it.
        is_measured: True if its quality was measured in this run.
        by_people: True if people answered.
        label_command: Command that measures its agreement with people; empty if they cannot be asked.
    """

    name: str
    metrics: Sequence[str]
    why: str
    quality: Sequence[str]
    limits: str = ""
    is_measured: bool = False
    by_people: bool = False
    label_command: str = ""


def read_judges(run: Run, resolver: Resolver[Any]) -> list[ReadJudge]:
    """Return the judges of a run in the order of its results.

    Args:
        run: The run.
        resolver: Finds the judges that are still installed.
    """
    asked: dict[str, dict[str, None]] = {}
    why: dict[str, str] = {}
    for result in run.results:
        for judge in result.judges:
            asked.setdefault(judge.name, {})[result.metric] = None
            why.setdefault(judge.name, judge.why)
    askable = _list_askable(run, resolver)
    label = shlex.join(["t2i", "label", str(run.path)])
    return [
        replace(
            _read_judge(run, name, list(metrics), why[name], resolver),
            label_command=label if askable & metrics.keys() else "",
        )
        for name, metrics in asked.items()
    ]


def _list_askable(run: Run, resolver: Resolver[Any]) -> set[str]:
    """Return the metrics of a run whose questions people can answer in place of the judge."""
    found = set()
    for name, made in list_metrics(run, resolver).made.items():
        try:
            list_asked_needs(name, make_stored_scoring(made).instance, ("answer", "prefer"))
        except T2IError:  # people cannot be asked, or the metric cannot be made any more
            continue
        found.add(name)
    return found


def _read_judge(run: Run, name: str, metrics: list[str], why: str, resolver: Resolver[Any]) -> ReadJudge:
    info = _find_info(run, name, resolver)
    if info is not None and info.by_people:
        return ReadJudge(name, metrics, why, ("people answered",), info.about.limits, True, True)
    results = [each for each in run.results if any(judge.name == name for judge in each.judges)]
    measured = [*_describe_labels(results), *_describe_agreements(run.agreements, results)]
    stated = [info.about.quality] if info is not None and info.about.quality else []
    limits = info.about.limits if info is not None else ""
    return ReadJudge(name, metrics, why, (*measured, *stated), limits, bool(measured))


def _find_info(run: Run, name: str, resolver: Resolver[Any]) -> JudgeInfo | None:
    """Return the descriptor of a judge; None if it is not installed, or is the model itself."""
    options = next(
        (part.options for part in run.manifest.components if (part.kind, part.name) == ("judge", name)), {}
    )
    try:
        info = resolver.component("judge", name, {f"judge:{name.partition(':')[0]}": options}).info
    except T2IError:
        return None
    return info if isinstance(info, JudgeInfo) else None


def _describe_labels(results: Iterable[Result]) -> Iterator[str]:
    """Yield how the scores of a judge compare with those by people's labels."""
    for result in results:
        fixed = result.correction
        if fixed is not None and fixed.value is not None:
            judged, labelled = format_number(result.score), format_number(fixed.value)
            yield (
                f"{result.label} scores {judged} on {result.title} by this judge, and {labelled} "
                f"{format_interval(fixed.ci)} corrected by {fixed.n_labels} labels of people"
            )


def _describe_agreements(agreements: Iterable[JudgeAgreement], results: Sequence[Result]) -> Iterator[str]:
    """Yield how far a judge agrees with the run's other judges of the same metric."""
    panels = {(result.metric, result.by) for result in results}
    for each in agreements:
        for own, other in ((each.a, each.b), (each.b, each.a)):
            if (each.metric, own) in panels:
                value = f"{each.coefficient} {format_number(each.value)} {format_interval(each.ci)}"
                yield f"agrees with {other} on {each.metric}: {value}, n = {each.n}"
                break
