"""Metrics that cannot run here are named together, or left out if the user allows it."""

from __future__ import annotations

import pytest
from t2i_core.api.errors import BadModel, BadOption, MissingDependency, NoJudge, NotHere, T2IError
from t2i_core.engine.unavailable_metrics import UnavailableMetrics


def collect(allowed: tuple[str, ...], **errors: T2IError) -> UnavailableMetrics:
    """Return what is collected of the metrics a, b and c, of which some raise an error."""
    found = UnavailableMetrics(("a", "b:file", "c"), allowed)
    for name, error in errors.items():
        with found.collect({"b": "b:file"}.get(name, name)):
            raise error
    return found


def test_all_are_named_in_one_error() -> None:
    found = collect((), a=NoJudge("no judge"), c=NotHere("weights", "sd2"))
    with pytest.raises(MissingDependency) as error:
        found.settle(1)
    assert str(error.value).startswith("2 of 3 metrics cannot run here: a: no judge; c: sd2: weights is not on")
    assert str(error.value).endswith("leave them out with --skip-unavailable a --skip-unavailable c")


@pytest.mark.parametrize(("raised", "kind"), [(NoJudge("n"), NoJudge), (NotHere("w", "sd2"), BadModel)])
def test_errors_of_one_kind_keep_it(raised: T2IError, kind: type[T2IError]) -> None:
    with pytest.raises(kind, match=r"^1 of 3 metrics cannot run here: a: "):
        collect((), a=raised).settle(2)


@pytest.mark.parametrize("allowed", [("all",), ("a", "b"), ("a", "b:file")])
def test_metrics_that_are_left_out_are_noted(allowed: tuple[str, ...]) -> None:
    found = collect(allowed, a=NoJudge("no judge"), b=MissingDependency("not installed"))
    assert found.settle(1) == ["left out: a: no judge", "left out: b:file: not installed"]
    assert found.left_out == {"a": "no judge", "b:file": "not installed"}


def test_another_metric_is_refused_still() -> None:
    with pytest.raises(MissingDependency, match=r"^1 of 3 metrics cannot run here: b:file: gone"):
        collect(("a",), a=NoJudge("no judge"), b=MissingDependency("gone")).settle(1)


def test_nothing_is_left_to_measure() -> None:
    errors = {name: NoJudge("no judge") for name in "abc"}
    with pytest.raises(
        NoJudge, match=r"^3 of 3 metrics cannot run here: a: no judge; b:file: no judge; c: no judge$"
    ):
        collect(("all",), **errors).settle(0)


def test_a_mistake_does_not_leave_a_metric_out() -> None:
    with pytest.raises(BadOption, match="unknown option"):
        collect(("all",), a=BadOption("unknown option"))


def test_a_single_metric_keeps_its_error() -> None:
    found, error = UnavailableMetrics(("a",), ("all",)), NoJudge("no judge")
    with pytest.raises(NoJudge) as raised, found.collect("a"):
        raise error
    assert raised.value is error


def test_judges_of_a_metric_are_left_out_one_by_one() -> None:
    found = UnavailableMetrics(("a",), ("a",))
    with found.collect("a", "reward=x"):
        raise NoJudge("not here")
    assert found.settle(1) == ["left out: a by reward=x: not here"]


def test_an_unknown_metric_cannot_be_left_out() -> None:
    with pytest.raises(
        BadOption, match="--skip-unavailable tiamm: the run has no metric of this name: did you mean 'tiam'"
    ):
        UnavailableMetrics(("tiam", "fid"), ("tiamm",))
