"""Executors by name, and what is said if one is not there."""

from __future__ import annotations

import pytest
from t2i_core.api.errors import AmbiguousName, BadOption, BrokenPlugin, MissingDependency, UnknownName
from t2i_core.api.extension import Extension
from t2i_core.engine.executors import find_executor
from t2i_core.engine.request import Request
from t2i_core.testing import StaticResolver


class Offering(StaticResolver):
    def __init__(self, *targets: str) -> None:
        super().__init__()
        self._targets = targets

    def list_extensions(self, group):
        return [Extension(group, "cloud", f"t2i-{i}", "1.0", target) for i, target in enumerate(self._targets)]


@pytest.mark.parametrize(("name", "value"), [("address", "auto"), ("workers", 2), ("gpus_per_worker", 0.5)])
def test_one_process_has_no_workers(name, value):
    assert find_executor(Request(), StaticResolver()) is None
    with pytest.raises(BadOption, match=f"^--{name.replace('_', '-')} needs an executor with workers"):
        find_executor(Request(**{name: value}), StaticResolver())


def test_an_executor_that_is_not_installed(monkeypatch):
    resolver = StaticResolver()
    monkeypatch.setattr(resolver, "find_missing_dist", {"ray": "t2i-ray"}.get)
    with pytest.raises(MissingDependency, match=r"^executor 'ray' is not installed; install t2i-ray$"):
        find_executor(Request(executor="ray"), resolver)


def test_an_unknown_executor_names_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown executor 'clout': did you mean 'cloud'\?"):
        find_executor(Request(executor="clout"), Offering("x:Y"))


def test_an_executor_that_two_plugins_offer():
    with pytest.raises(AmbiguousName, match="'cloud' is offered by t2i-0 and t2i-1"):
        find_executor(Request(executor="cloud"), Offering("x:Y", "z:Y"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("no_such_module:X", "ModuleNotFoundError"),
        ("t2i_core.api.executor:NONE", "AttributeError"),
        ("os:sep", "is str, not ExecutorInfo"),
    ],
)
def test_a_broken_executor(target, said):
    with pytest.raises(BrokenPlugin, match=said):
        find_executor(Request(executor="cloud"), Offering(target))
