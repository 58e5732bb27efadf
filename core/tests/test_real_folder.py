"""Folders whose links are not followed, where the system resolves names relative to them and where it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from t2i_core.files import real_folder
from t2i_core.files.atomic_write import parse_unfinished_name, replace_file, write_whole
from t2i_core.files.real_folder import is_link, open_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="only administrators can make links on Windows")


@pytest.fixture(params=["by descriptor", "by path"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `here` of files, folders and links, beside a folder `away`."""
    if request.param == "by path":
        monkeypatch.setattr(real_folder, "_RELATIVE", False)
    for folder in ("here/inner/empty", "away/empty"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("here/file", "here/inner/file", "away/file"):
        (tmp_path / file).write_text("text")
    (tmp_path / "here" / "link").symlink_to(tmp_path / "away")
    (tmp_path / "here" / "file-link").symlink_to(tmp_path / "away" / "file")
    (tmp_path / "here" / "dangling").symlink_to(tmp_path / "nowhere")
    return tmp_path


def test_only_regular_files_that_no_link_leads_to_are_removed(place: Path) -> None:
    with open_folder(place / "here") as here:
        assert sorted(here.names()) == ["dangling", "file", "file-link", "inner", "link"]
        refused = (
            "link/file",
            "file-link",
            "dangling",
            "inner",
            "link",
            "gone",
            "gone/file",
            "file/file",
            "link/x/y",
        )
        assert [name for name in refused if here.remove(name)] == []
        for name in ("link", "link/empty", "file", "inner", "gone"):
            here.remove_empty(name)
        with here.folder("link") as link, here.folder("gone") as gone:
            assert (link.names(), gone.names(), link.file("file"), gone.file("file")) == ([], [], None, None)
        assert here.remove("file")
        assert here.remove("inner/file")
        here.remove_empty("inner/empty")
        here.remove_empty("inner")
    assert sorted(path.name for path in (place / "here").iterdir()) == ["dangling", "file-link", "link"]
    assert sorted(path.name for path in (place / "away").iterdir()) == ["empty", "file"]


def test_a_folder_that_the_user_names_may_be_a_link(place: Path) -> None:
    assert [is_link(place / name) for name in ("here", "here/link", "here/dangling", "gone")] == [
        False, True, True, False,
    ]  # fmt: skip
    with open_folder(place / "here" / "link") as away:
        assert away.remove("file")
    with pytest.raises(NotADirectoryError), open_folder(place / "here" / "file"):
        pass
    with (
        pytest.raises(OSError, match=r"Not a directory|symbolic links"),
        open_folder(place / "here" / "link", follow=False),
    ):
        pass


def test_a_link_that_takes_a_folders_place_meanwhile_leads_nowhere(tmp_path: Path) -> None:
    for folder in ("here/inner", "away"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text("text")
    with open_folder(tmp_path / "here") as here, here.folder("inner") as inner:
        (tmp_path / "here" / "inner").rename(tmp_path / "moved")
        (tmp_path / "here" / "inner").symlink_to(tmp_path / "away")
        assert inner.remove("file")
    assert (tmp_path / "away" / "file").exists()
    assert not (tmp_path / "moved" / "file").exists()


def test_a_file_is_written_through_no_link(tmp_path: Path) -> None:
    victim, target = tmp_path / "victim", tmp_path / "target"
    victim.write_text("a user's file")
    target.symlink_to(victim)
    write_whole(target, b"data")
    assert (victim.read_text(), target.read_bytes(), is_link(target)) == ("a user's file", b"data", False)


def test_a_link_under_the_name_of_an_unfinished_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    victim = tmp_path / "victim"
    victim.write_text("a user's file")
    (tmp_path / ".target.00000000.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "target", b"data")
    assert victim.read_text() == "a user's file"


def test_a_file_stays_as_it_was_if_writing_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("before")

    def fail(part: Path) -> None:
        part.write_text("half")
        assert parse_unfinished_name(part.name) == "target"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replace_file(target) as part:
        fail(part)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("target", "before")]
