"""Components in their own environments, described to a process that cannot import them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.environment import Environment, EnvironmentRequest
from t2i_core.api.errors import BadOption, BrokenPlugin, MissingDependency, T2IError, UnknownName
from t2i_core.api.executor import ComponentSettings, ExecutorInfo
from t2i_core.api.prices import refuse_unknown_price
from t2i_core.engine.component import Component
from t2i_core.engine.isolation import Isolation, fetch_isolated
from t2i_core.engine.lifecycle import open_component
from t2i_core.testing.fake_dists import fake_dist
from t2i_ray.sent_component import SentComponent, send_component
from t2i_registry import Registry

PLUGIN = """
    from pathlib import Path
    import pluggy
    import private_library
    from pydantic import SecretStr
    from t2i_core.api.errors import BadModel
    from t2i_core.api.generator import Generated
    from t2i_core.api.hookspecs import hookimpl
    from t2i_core.api.options import Options
    from t2i_core.api.plugin_info import About, Domain, Defaults, GeneratorInfo, JudgeInfo, Loading, Price
    from t2i_core.api.prompt import ObjectClass

    TOYS = Domain("toys", "Toys.", {"detect": "eye"}, {"tiam": Defaults(seeds=3)})

    class ToyOptions(Options):
        size: int = 8
        place: Path = Path("there")
        password: SecretStr | None = None
        threshold: float = 0.2

    def check(setup):
        print("a plugin that prints")
        if setup.options.size > 99:
            raise BadModel("too large for this model")
        if setup.options.size == 13:
            raise RuntimeError("unlucky")

    def resolve(setup):
        return setup.options.model_copy(update={"size": setup.options.size * 2})

    def fetch(setup):
        setup.options.place.write_text("weights")

    def list_weights(argument, options):
        return ["org/pencil@" + "a" * 40]

    LOADING = Loading(check=check, resolve=resolve, prefetch=fetch, weights=list_weights)

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="pencil", summary="Draws.", options=ToyOptions, create=lambda setup: None,
            domain=TOYS, loading=LOADING, about=About(citation="Toy 1999"), argument="a colour")]

    @hookimpl
    def t2i_judges():
        return [JudgeInfo(name="eye", summary="Looks.", options=ToyOptions, create=lambda setup: None, domain=TOYS,
            capabilities={"detect": frozenset({"class_probs"})}, floor="threshold",
            price=lambda options: Price(lambda query, capability: 0.5),
            labels=lambda argument, options: (ObjectClass("cat", "cat.n.01"), ObjectClass("robot")))]
"""
ENTRIES = {
    "t2i.generators": {"pencil": "secluded_plugin"},
    "t2i.judges": {"eye": "secluded_plugin"},
    "t2i.judges.detect": {"eye": "secluded_plugin"},
}


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Find a component of a plugin that only an environment has: a Python with one folder more on its path."""
    folder = tmp_path_factory.mktemp("isolation")
    site = folder / "site"
    modules = {"secluded_plugin": PLUGIN, "private_library": "VERSION = '1.0'"}
    fake_dist(site, "t2i-secluded", ENTRIES, modules, version="1.2")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    requests: list[EnvironmentRequest] = []

    def build(request: EnvironmentRequest) -> Environment:
        requests.append(request)
        return Environment(python, ("private-library==1.0",), {"private-library": "1.0"})

    isolation = Isolation(ExecutorInfo("toy", "For tests.", None, build), None, offline=False)  # type: ignore[arg-type]
    registry = Registry().with_environments(isolation)

    def look_up(kind: Any, spec: str, **options: Any) -> Component[Any]:
        given = {"environment": "private-library==1.0", **options}
        return registry.component(kind, spec, {spec.partition(":")[0]: given})

    look_up.requests = requests  # type: ignore[attr-defined]
    look_up.registry = registry  # type: ignore[attr-defined]
    return look_up


def test_a_generator_is_described_without_its_module(find: Any) -> None:
    found = find("generator", "pencil:red", size=5, password="a-secret-1234567")
    assert (found.dist, found.version, found.module) == ("t2i-secluded", "1.2", "secluded_plugin")
    assert (found.name, found.spec, found.argument) == ("pencil", "pencil:red", "red")
    assert found.info.summary == "Draws."
    assert found.info.about.citation == "Toy 1999"
    assert found.info.domain.judges == {"detect": "eye"}
    assert found.info.domain.metrics["tiam"].seeds == 3
    record = found.manifest()
    assert record["options"] == {
        "size": 10,  # settled there
        "place": "there",
        "password": "**********",
        "threshold": 0.2,
        "environment": ["private-library==1.0"],
    }
    assert found.options.model_dump()["password"].get_secret_value() == "a-secret-1234567"
    assert record["environment"] == {"private-library": "1.0"}
    assert "secluded_plugin" not in sys.modules
    with pytest.raises(MissingDependency, match="--executor ray"), open_component(found, ComponentSettings()):
        pass


def test_a_judge_is_described_with_its_capabilities_classes_and_floor(find: Any) -> None:
    found = find("judge", "eye")
    assert found.info.capabilities == {"detect": frozenset({"class_probs"})}
    assert [each.name for each in found.info.labels(None, found.options)] == ["cat", "robot"]
    assert found.info.floor == "threshold"
    assert found.options.threshold == 0.2
    assert found.options.model_fields_set == set()
    with pytest.raises(BadOption, match="leave its option environment out"):
        refuse_unknown_price(found)
    lowered = replace(found, options=found.options.model_copy(update={"threshold": 0.1}))
    assert lowered.fingerprint != found.fingerprint
    assert lowered.environment == found.environment


def test_each_component_is_described_once(find: Any) -> None:
    found = find("judge", "eye", threshold=0.3)
    before = len(find.requests)
    assert find("judge", "eye", threshold=0.3) is found
    assert len(find.requests) == before


def test_the_fingerprint_holds_the_versions_that_were_asked_for(find: Any) -> None:
    found = find("judge", "eye")
    again = replace(found, environment=replace(found.environment, requirements=("private-library<2",)))
    other = replace(found, environment=replace(found.environment, versions={"private-library": "2.0"}))
    assert found.fingerprint == again.fingerprint != other.fingerprint
    assert found.judge_fingerprint == found.fingerprint


def resolve_there(found: Component[Any], sent: SentComponent) -> str:
    assert found.environment is not None
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).resolve('there').options.threshold)"
    command = [found.environment.python, "-c", code]
    done = subprocess.run(command, input=pickle.dumps(sent), capture_output=True, check=False)
    return (done.stdout + done.stderr).decode().strip()


def test_a_worker_compares_its_fingerprint_with_that_of_the_environment(find: Any) -> None:
    found = find("judge", "eye")
    lowered = replace(found, options=found.options.model_copy(update={"threshold": 0.1}))
    sent = send_component(lowered)
    assert resolve_there(found, sent) == "0.1"
    other = replace(sent, identity=sent.identity._replace(fingerprint="0" * 64))
    assert "BadModel: judge 'eye' on there is not the one of this machine" in resolve_there(found, other)


def test_an_environment_is_built_once_for_all_its_components(find: Any) -> None:
    find("judge", "eye")
    before = len(find.requests)
    find("judge", "eye", threshold=0.4)
    assert len(find.requests) == before


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"size": 60}, T2IError, "too large for this model"),
        ({"size": "many"}, BadOption, "option 'size' of generator 'pencil' must be"),
        ({"sise": 3}, BadOption, "did you mean 'size'"),
    ],
)
def test_errors_of_the_environment_come_back_as_themselves(
    find: Any, options: Any, error: type[T2IError], words: str
) -> None:
    with pytest.raises(error, match=words):
        find("generator", "pencil", **options)


def test_an_unknown_name_is_unknown_there(find: Any) -> None:
    with pytest.raises(UnknownName, match="unknown generator 'pencel': did you mean 'pencil'"):
        find("generator", "pencel")


def test_an_environment_whose_python_does_not_run_is_one_line(find: Any) -> None:
    registry = find.registry
    python = Path(os.devnull)

    def build(request: EnvironmentRequest) -> Environment:
        return Environment(python, ("x",), {})

    broken = Isolation(ExecutorInfo("toy", "For tests.", None, build), None, offline=False)  # type: ignore[arg-type]
    with pytest.raises(BrokenPlugin, match="judge 'eye' cannot be described by its environment"):
        registry.with_environments(broken).component("judge", "eye", {"eye": {"environment": "x"}})


def test_a_judge_of_an_environment_can_be_chosen(find: Any) -> None:
    table = {"eye": {"environment": "private-library==1.0"}}
    domain = find("generator", "pencil").info.domain
    named = find.registry.choose_judge("detect", frozenset(), ("eye",), (), domain, table)
    preferred = find.registry.choose_judge(
        "detect", frozenset(), (), [("eye", "the domain names it")], domain, table
    )
    assert named.judge.spec == preferred.judge.spec == "eye"
    assert named.judge.environment is not None


def test_without_workers_an_environment_is_refused() -> None:
    with pytest.raises(BadOption, match="only workers can have an environment; add --executor ray"):
        Registry().component("generator", "simulator", {"simulator": {"environment": "x"}})


def test_an_executor_without_environments_refuses_them() -> None:
    isolation = Isolation(ExecutorInfo("toy", "For tests.", None), None, offline=False)  # type: ignore[arg-type]
    with pytest.raises(BadOption, match="executor 'toy' cannot build"):
        Registry().with_environments(isolation).component("judge", "eye", {"eye": {"environment": "x"}})


@pytest.mark.parametrize(("kind", "name"), [("metric", "tiam"), ("prompt_source", "coco")])
def test_other_kinds_have_no_environment(kind: Any, name: str) -> None:
    with pytest.raises(BadOption, match="only generators and judges can have an environment"):
        Registry().component(kind, name, {f"{kind}:{name}": {"environment": "x"}})


@pytest.mark.parametrize("wanted", [3, ["a", 3], {"a": "b"}])
def test_requirements_must_be_texts(find: Any, wanted: Any) -> None:
    with pytest.raises(BadOption, match="must be a list of requirements"):
        find("judge", "eye", environment=wanted)


@pytest.mark.parametrize(
    ("kind", "spec", "does"), [("generator", "folder:x", "existing images"), ("judge", "people:x", "people")]
)
def test_existing_images_and_people_need_no_environment(find: Any, kind: Any, spec: str, does: str) -> None:
    with pytest.raises(BadOption, match=f"{does}.* needs no environment"):
        find(kind, spec)


def test_its_weights_are_fetched_in_the_environment(find: Any, tmp_path: Path) -> None:
    found = find("generator", "pencil", place=str(tmp_path / "weights"))
    assert not (tmp_path / "weights").exists()
    assert fetch_isolated(found) == ["org/pencil@" + "a" * 40]
    assert (tmp_path / "weights").read_text() == "weights"
    assert fetch_isolated(find("judge", "eye")) is None
