"""Versions, errors on their way, the probe of the shared folder, threads, reasons of deaths."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import get_type_hints

import pytest
from ray.exceptions import NodeDiedError, OutOfMemoryError, RayActorError
from t2i_core.api.errors import BadModel, BadOption, NotHere
from t2i_core.engine.request import Request
from t2i_core.storage.cache import shrink_cache
from t2i_core.storage.store import Store
from t2i_ray.carried_error import carry_error
from t2i_ray.cluster import connect
from t2i_ray.death import explain_death, failed_to_start, is_death_of_node
from t2i_ray.shared_folder import Probe, answer_probe
from t2i_ray.thread_settings import make_environment
from t2i_ray.versions import find_difference, list_versions


def test_versions_of_t2i_are_listed() -> None:
    found = list_versions(["PyYAML"])
    assert {"t2i-core", "t2i-ray", "t2i-registry", "pyyaml"} <= found.keys()
    assert all(name.startswith("t2i") for name in found.keys() - {"pyyaml"})


def test_differences_are_named() -> None:
    here = {"t2i-core": "1.0", "t2i-tiam": "1.0", "t2i-other": "1.0"}
    assert find_difference(here, here, ["t2i-core"]) is None
    assert find_difference(here, {"t2i-core": "1.0", "t2i-new": "3"}, ["t2i-core", ""]) is None
    assert find_difference(here, {**here, "t2i-tiam": "2.0"}, ()) == "has t2i-tiam 2.0, this machine 1.0"
    assert find_difference(here, {}, ["T2I_core"]) == "lacks t2i-core 1.0"


class _OwnError(BadModel):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first, second)


class _OwnOption(BadOption):
    pass


def test_the_option_describes_the_forms_that_are_accepted() -> None:
    with pytest.raises(BadOption, match="must be auto, HOST:PORT or ray://HOST:PORT"), connect("somewhere"):
        pass
    described = get_type_hints(Request, include_extras=True)["address"].__metadata__
    assert any("(auto, HOST:PORT or ray://HOST:PORT)" in getattr(each, "description", "") for each in described)


@pytest.mark.parametrize("error", [BadOption("--x must be 1"), NotHere("ORG/X", "sd2", None, "a part")])
def test_errors_of_core_cross_as_themselves(error: BadOption) -> None:
    error.add_note("a note")
    found = pickle.loads(pickle.dumps(carry_error(error)))
    assert type(found) is type(error)
    assert found.__dict__ == error.__dict__
    assert str(found) == str(error)


def test_errors_of_plugins_cross_as_cores() -> None:
    assert type(carry_error(_OwnOption("x"))) is BadOption
    assert type(carry_error(_OwnError("x", "y"))) is BadModel


def test_the_probe_tells_a_shared_folder(tmp_path: Path) -> None:
    probe = Probe(tmp_path)
    answer_probe(probe.write())
    assert probe.was_answered()
    assert list(tmp_path.iterdir()) == []


def test_probes_of_killed_runs_are_cleaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path))
    with Store():
        pass
    probe = Probe(tmp_path)
    answer_probe(probe.write())
    assert len(list(tmp_path.glob("shared-*"))) == 2
    assert shrink_cache(10**9).leftovers == 2
    assert list(tmp_path.glob("shared-*")) == []


def test_the_probe_tells_another_folder(tmp_path: Path) -> None:
    probe = Probe(tmp_path)
    file = probe.write()
    assert file is not None
    answer_probe(Path(tmp_path, "elsewhere", file.name))
    assert not probe.was_answered()
    assert list(tmp_path.iterdir()) == []
    assert Probe(tmp_path / "none").write() is None


def test_a_worker_takes_its_share_of_threads() -> None:
    assert make_environment(4, 1, {})["OMP_NUM_THREADS"] == "4"
    assert make_environment(4, 0.5, {"OMP_NUM_THREADS": "2", "KMP_BLOCKTIME": "0"}) == {
        "OMP_NUM_THREADS": "2",
        "LOKY_MAX_CPU_COUNT": "4",
        "KMP_BLOCKTIME": "0",
    }


def test_a_worker_without_gpus_sees_none() -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    assert hidden.items() <= make_environment(4, 0, {"CUDA_VISIBLE_DEVICES": "0,1"}).items()
    assert hidden.keys().isdisjoint(make_environment(4, 1, {}))


def test_reasons_of_deaths_are_one_line() -> None:
    error = RayActorError(
        error_msg="The actor died unexpectedly before finishing this task.\n\tpid: 7\nThe actor is dead because "
        "its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits with "
        "code 9. Some common causes include: (1) the process was killed"
    )
    assert explain_death(error) == "Worker exits with code 9."
    assert not is_death_of_node(error)
    gone = RayActorError(error_msg="The actor died because its node has died. Node Id: 12")
    assert is_death_of_node(gone)
    assert explain_death(gone) == "The actor died because its node has died. Node Id: 12"


def test_deaths_that_are_not_errors_of_actors() -> None:
    killed = OutOfMemoryError(
        "Task was killed due to the node running low on memory.\nMemory on the node (IP: 1.2.3.4"
    )
    assert explain_death(killed) == "Ray killed it because its machine was low on memory"
    assert not is_death_of_node(killed)
    assert not failed_to_start(killed)
    assert is_death_of_node(NodeDiedError("gone"))
