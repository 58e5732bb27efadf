"""Files of repositories on the hub: the commits that are known, and one clear line without a network."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.errors import BadModel, BadOption, NotHere
from t2i_torch_support import hub_files

SPEC = "judge:weights"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_local_folders_have_no_revisions(tmp_path: Path) -> None:
    hub_files.refuse_revision(None, tmp_path, SPEC)
    with pytest.raises(BadOption, match=rf"{SPEC}: {tmp_path} .* no revisions: leave out the option revision=v2"):
        hub_files.refuse_revision("v2", tmp_path, SPEC)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache, as its client lays it out, with one repository."""
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--some--thing"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT)
    (place / "snapshots" / COMMIT).mkdir(parents=True)
    (place / "snapshots" / COMMIT / "config.json").write_text("{}")
    return place


def test_the_commit_that_is_known_here_counts(cache: Path) -> None:
    assert hub_files.find_commit("some/thing", None) == COMMIT
    assert hub_files.find_commit("some/thing", "v2") is None
    assert hub_files.find_commit("some/other", None) is None
    assert hub_files.find_commit("some/other", COMMIT) == COMMIT  # it needs no cache
    assert hub_files.resolve_commit("some/thing", "config.json", None, True, SPEC) == COMMIT


@pytest.mark.parametrize("name", ["./some/thing", "some/thing/else", "../thing", "some/th--ing", "some/thing.git"])
def test_names_that_the_hub_rejects_are_reported_by_t2i(cache: Path, name: str) -> None:
    assert not hub_files.is_repository(name)
    for ask in (
        lambda: hub_files.resolve_commit(name, "config.json", None, True, SPEC),
        lambda: hub_files.fetch_from_hub(name, ("config.json",), None, True, SPEC),
    ):
        with pytest.raises(BadModel) as error:
            ask()
        assert str(error.value) == f"{SPEC}: {name!r} is not the name of a repository on the hub (ORG/NAME)"


def test_names_of_repositories() -> None:
    assert all(map(hub_files.is_repository, ("some/thing", "timm/resnet50.a1_in1k", "a/b-c_d.e", "_o/_n")))
    assert not any(map(hub_files.is_repository, ("gpt2", "/a/b", "a/-b", "a b/c")))


@pytest.mark.parametrize(
    "name",
    ["gpt2", "some/thing", "b\xfccher/thing", "./some/thing", "a/b/c", "a--b", "a..b", "a/b.git", "-a", "a b"],
)
def test_names_are_accepted_as_by_the_hubs_client(cache: Path, name: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.file_download import repo_folder_name

    try:
        repo_folder_name(repo_id=name, repo_type="model")
    except HFValidationError:
        message = "is not the name of a repository"
    else:
        message = "is not on this machine"
    with pytest.raises(BadModel, match=message):
        hub_files.fetch_from_hub(name, ("absent.json",), None, True, SPEC)


def test_a_commit_that_is_not_known_is_asked_of_the_hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a file that the repository has, so that the cache remembers what the name meant."""
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.utils import EntryNotFoundError

    other = "f" * 40
    asked = []

    def download(repository: str, file: str, revision: str | None = None, local_files_only: bool = False) -> str:
        if local_files_only:
            raise LocalEntryNotFoundError("not here")
        asked.append((file, revision))
        if file == "config.json":
            raise EntryNotFoundError("no such file")
        return str(cache.parent / "models--some--other" / "snapshots" / other / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr(hub_files, "find_outage", lambda: None)
    with pytest.raises(BadModel, match=f"config.json of some/other at v2 .*run `t2i prefetch {SPEC}`"):
        hub_files.resolve_commit("some/other", "config.json", "v2", True, SPEC)
    assert asked == []
    assert hub_files.resolve_commit("some/other", "config.json", "v2", False, SPEC) == other
    assert asked == [("config.json", "v2"), ("README.md", "v2")]


def test_without_a_network_it_is_said_at_once(
    cache: Path, server: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The hub's client would try again for half a minute, with a line for each time."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    assert hub_files.find_outage() is None, "any answer will do"
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it waits"))
    with pytest.raises(NotHere) as error:
        hub_files.resolve_commit("some/other", "config.json", None, False, SPEC)
    assert re.fullmatch(
        rf"no network, and {SPEC} \(config.json of some/other on the .* hub\) is not on this machine: Connect.*",
        str(error.value),
    )
    assert caplog.records == []
    assert hub_files.resolve_commit("some/thing", "config.json", None, False, SPEC) == COMMIT


def test_missing_weights_are_reported_by_the_users_name() -> None:
    error = NotHere("org/model", "plugin:org/model", missing="no unet")
    assert pickle.loads(pickle.dumps(error)).args == error.args
    assert str(error.rename("sd2 -o sd2.revision=v2")) == (
        "sd2: org/model is not whole on this machine (no unet), and nothing may be fetched: "
        "run `t2i prefetch sd2 -o sd2.revision=v2` with a network"
    )
