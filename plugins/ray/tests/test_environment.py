"""Environments of components: their requirements, keys and records, and what uv says if it cannot build one."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from t2i_core.api.environment import ENVIRONMENTS, EnvironmentRequest, read_environment
from t2i_core.api.errors import BadFolder, BadOption, MissingDependency
from t2i_ray import environment, requirements, uv
from t2i_ray.environment import build_environment
from t2i_ray.requirements import pin_installed, read_requirements
from t2i_ray.uv import describe_failure


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("t2i-foo==1.2, transformers<4.40", ("t2i-foo==1.2", "transformers<4.40")),
        ("b , a", ("a", "b")),
        ("a>=1,<2,b", ("a<2,>=1", "b")),
        ("a>=1, <2", ("a<2,>=1",)),
        ("a[x,y]==1,b", ("a[x,y]==1", "b")),
        ('a; python_version in "3.11,3.12", b', ('a; python_version in "3.11,3.12"', "b")),
        (["a==1", "b,c"], ("a==1", "b", "c")),
        ("a==1, a==1", ("a==1",)),
        ("a @ https://example.org/a-1.0-py3-none-any.whl", ("a@ https://example.org/a-1.0-py3-none-any.whl",)),
    ],
)
def test_requirements_are_read_in_one_order(given: str | list[str], read: tuple[str, ...]) -> None:
    assert tuple(each.replace(" @ ", "@ ") for each in read_requirements(given, "judge 'x'")) == read


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "must name at least one requirement"),
        ([], "must name at least one requirement"),
        (" , ", "must name at least one requirement"),
        ("a==", "'a==' is not a requirement"),
        ("a b", "'a b' is not a requirement"),
        ("t2i-core==0.2", "t2i-core always has the version of this installation"),
        ("T2I_Ray", "T2I_Ray always has the version of this installation"),
        ("ray<2", "ray always has the version of this installation"),
    ],
)
def test_an_invalid_requirement_is_one_line(given: str | list[str], words: str) -> None:
    with pytest.raises(BadOption, match=words) as caught:
        read_requirements(given, "judge 'x'")
    assert "\n" not in str(caught.value)
    assert "judge 'x'" in str(caught.value)


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, "t2i-core==0.1.0"),
        ({"url": "file:///a%20b/core", "dir_info": {"editable": True}}, "-e /a b/core"),
        ({"url": "file:///core", "dir_info": {}}, "t2i-core @ file:///core"),
        ({"url": "file:///core-0.1.0.whl", "archive_info": {}}, "t2i-core @ file:///core-0.1.0.whl"),
        (
            {"url": "https://example.org/t2i", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "t2i-core @ git+https://example.org/t2i@abc",
        ),
    ],
)
def test_t2i_comes_from_where_this_process_has_it(
    monkeypatch: pytest.MonkeyPatch, origin: object, line: str
) -> None:
    monkeypatch.setattr(requirements, "_read_origin", lambda name: origin)
    assert pin_installed("t2i-core") == line.replace("0.1.0.whl", "X").replace(
        "0.1.0", version("t2i-core")
    ).replace("X", "0.1.0.whl")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "Using Python 3.11\n  × No solution found when resolving dependencies:\n  ╰─▶ Because there is no\n"
            "      version of a==9 and you require a==9, we can conclude that your\n      requirements are "
            "unsatisfiable.",
            "Because there is no version of a==9 and you require a==9, we can conclude that your requirements are "
            "unsatisfiable",
        ),
        ("error: Distribution not found at: file:///x.whl\n", "Distribution not found at: file:///x.whl"),
        ("error: Failed to fetch: `https://me:secret@host/a`", "Failed to fetch: `https://***@host/a`"),
    ],
)
def test_a_failure_is_told_in_one_line_without_credentials(output: str, line: str) -> None:
    assert describe_failure(output) == line


class FakeUV:
    """Makes an environment of links to this process's Python instead of installing anything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[list[str]] = []
        self.fails = ""
        monkeypatch.setattr(environment, "find_uv", lambda whose: "uv")
        monkeypatch.setattr(environment, "run_uv", self)
        monkeypatch.setattr(environment, "_read_versions", lambda folder, names: dict.fromkeys(names, "1.0"))

    def __call__(self, program: str, arguments: list[str], folder: Path) -> None:
        self.calls.append(list(arguments))
        if arguments[0] == "venv":
            (folder / "bin").mkdir()
            (folder / "bin" / "python").symlink_to(sys.executable)
        elif self.fails:
            raise uv.BuildError(self.fails)


@pytest.fixture
def fake_uv(monkeypatch: pytest.MonkeyPatch) -> FakeUV:
    return FakeUV(monkeypatch)


@pytest.fixture
def request_(tmp_path: Path) -> EnvironmentRequest:
    return EnvironmentRequest("judge 'x'", "some==1, other", None, tmp_path / "cache")


def list_files(request: EnvironmentRequest) -> list[str]:
    return sorted(each.name for each in (request.cache / ENVIRONMENTS).iterdir() if each.name != ".lock")


def test_an_environment_is_built_once(fake_uv: FakeUV, request_: EnvironmentRequest) -> None:
    built = build_environment(request_)
    assert built.requirements == ("other", "some==1")
    assert built.versions == {"other": "1.0", "some": "1.0"}
    assert len(fake_uv.calls) == 2
    folder = built.python.parent.parent
    record = read_environment(folder)
    assert record is not None
    assert record.requirements == built.requirements
    assert build_environment(request_) == built
    assert build_environment(replace(request_, requirements=["other", "some==1"], offline=True)) == built
    assert len(fake_uv.calls) == 2
    again = read_environment(folder)
    assert again is not None
    assert again.used > record.used
    assert (folder / "requirements.txt").read_text().splitlines()[:2] == ["other", "some==1"]


def test_passwords_of_urls_are_not_kept_or_told(fake_uv: FakeUV, request_: EnvironmentRequest) -> None:
    notes: list[str] = []
    url = "https://someone:hunter2hunter2@example.org/some-1.0-py3-none-any.whl"
    asked = replace(request_, requirements=f"some @ {url}", note=notes.append)
    with pytest.raises(MissingDependency) as offline:
        build_environment(replace(asked, offline=True))
    folder = build_environment(asked).python.parent.parent
    kept = [each.read_text() for each in folder.iterdir() if each.is_file()]
    assert len(kept) == 3
    assert not [text for text in [*kept, *notes, str(offline.value)] if "hunter2" in text]
    with pytest.raises(BadOption) as invalid:
        build_environment(replace(request_, requirements=f"some at {url}"))
    assert "hunter2" not in str(invalid.value)


def test_other_requirements_and_another_plugin_are_another_environment(
    fake_uv: FakeUV, request_: EnvironmentRequest
) -> None:
    built = {
        build_environment(each).python
        for each in (
            request_,
            replace(request_, requirements="some==2, other"),
            replace(request_, own="t2i-core"),
            replace(request_, own="pytest"),
        )
    }
    assert len(built) == 3  # t2i-core is in every environment


def test_two_that_need_the_same_build_it_once(fake_uv: FakeUV, request_: EnvironmentRequest) -> None:
    with ThreadPoolExecutor(4) as threads:
        built = list(threads.map(build_environment, [request_] * 4))
    assert len(set(map(str, built))) == 1
    assert len(fake_uv.calls) == 2


def test_a_failed_build_leaves_nothing(fake_uv: FakeUV, request_: EnvironmentRequest) -> None:
    fake_uv.fails = "Because there is no version of some==1"
    with pytest.raises(BadOption) as caught:
        build_environment(request_)
    assert str(caught.value) == (
        "judge 'x': its environment (other, some==1) cannot be built: Because there is no version of some==1"
    )
    assert list_files(request_) == []


def test_leftovers_of_a_killed_build_are_built_anew(fake_uv: FakeUV, request_: EnvironmentRequest) -> None:
    folder = build_environment(request_).python.parent.parent
    (folder / "environment.json").unlink()
    folder.with_name(f".building-{folder.name}").mkdir()
    assert build_environment(request_).python.parent.parent == folder
    assert list_files(request_) == [folder.name]
    assert len(fake_uv.calls) == 4


def test_offline_builds_nothing(fake_uv: FakeUV, request_: EnvironmentRequest) -> None:
    with pytest.raises(MissingDependency, match=r"\(other, some==1\) is not built, and nothing may be fetched"):
        build_environment(replace(request_, offline=True))
    assert not fake_uv.calls
    assert not request_.cache.exists()


def test_a_cache_that_cannot_be_written_is_one_line(
    fake_uv: FakeUV, request_: EnvironmentRequest, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadFolder, match="cannot be written"):
        build_environment(replace(request_, cache=tmp_path / "file"))


def test_without_uv_it_says_what_to_install(request_: EnvironmentRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "uv", None)
    with pytest.raises(MissingDependency, match="built by uv, which is not installed: pip install uv"):
        build_environment(request_)


def test_versions_are_read_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    found = environment._read_versions(tmp_path, ["packaging"])
    assert found["packaging"] == version("packaging")


@pytest.mark.long
def test_uv_itself_says_what_is_wrong(request_: EnvironmentRequest) -> None:
    assert subprocess.run([uv.find_uv("x"), "--version"], check=False, capture_output=True).returncode == 0
    with pytest.raises(BadOption, match="cannot be built: Distribution not found"):
        build_environment(replace(request_, requirements="some @ file:///not/here/some-1.0-py3-none-any.whl"))
    assert list_files(request_) == []
