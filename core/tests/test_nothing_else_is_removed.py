"""Cleaning the cache and removing a run remove what t2i wrote there, and nothing else, whatever lies there.

Files, folders and links are planted at random; everything on the disk is compared before and after.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadFolder
from t2i_core.engine.evaluation import evaluate
from t2i_core.storage.cache import shrink_cache, use_cache
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.run_removal import remove_run
from t2i_core.storage.store import Store
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

pytestmark = pytest.mark.skipif(os.name == "nt", reason="only administrators can make links on Windows")

EXAMPLES = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
DIGEST = "ab" + "0123456789" * 6 + "01"
OTHER = "cd" + "0123456789" * 6 + "01"
HEX = "0123456789abcdef" * 2

CACHE_NAMES = {
    # the store's own: images that no row names, half-written files, files of processes that use the cache
    f"images/ab/{DIGEST}.png": True,
    f"images/cd/{OTHER}.png": True,
    f"images/ab/.{DIGEST}.png.4711.part": True,
    f"in-use/4711-{HEX}": True,
    # everything else is a user's
    f"images/ab/{OTHER}.png": False,
    f"images/cd/.{DIGEST}.png.4711.part": False,
    f"images/ab/{DIGEST.upper()}.png": False,
    f"images/AB/{DIGEST}.png": False,
    f"images/ab/{DIGEST}.PNG": False,
    f"images/ab/{DIGEST}.jpg": False,
    f"images/ab/{DIGEST}": False,
    f"images/ab/{DIGEST}.png.bak": False,
    f"images/ab/{DIGEST}0.png": False,
    f"images/ab/{DIGEST[:-1]}.png": False,
    f"images/ab/ {DIGEST}.png": False,
    f"images/ab/{DIGEST}.png\n": False,
    f"images/ab/.{DIGEST}.png.part": False,
    f"images/ab/.{DIGEST}.png.mine.part": False,
    f"images/ab/..{DIGEST}.png.4711.part": False,
    "images/ab/notes.txt": False,
    "images/ab/é.png": False,
    f"images/ab/ab/{DIGEST}.png": False,
    f"images/{DIGEST}.png": False,
    f"images/abc/{DIGEST}.png": False,
    f"images/link/{DIGEST}.png": False,
    "images/mine/photo.png": False,
    f"{DIGEST}.png": False,
    f"ab/{DIGEST}.png": False,
    f"unpacked/ab/{DIGEST}.png": False,
    "notes.part": False,
    "in-use/4711-abc": False,
    "in-use/my-notes.txt": False,
    f"in-use/me-{HEX}": False,
    f"in-use/4711-{HEX}.bak": False,
}
"""Paths in the cache, and whether a regular file there is the store's own."""

RUN_NAMES = {
    ".samples.csv.4711.part": True,
    ".run.json.4711.part": True,
    "..plan.4711.part": True,
    ".lock-1-of-2": True,
    "images/test-noise/00009-3.png": True,
    "images/test-noise/.00009-3.png.4711.part": True,
    "images/test-noise/.metadata.jsonl.4711.part": True,
    "images/another-2/00000-123456.png": True,
    "annotations/test-noise.json": True,
    "annotations/.test-noise.json.4711.part": True,
    "notes.txt": False,
    "samples.csv.bak": False,
    ".download.4711.part": False,
    ".samples.csv.part": False,
    ".lockfile": False,
    ".lock-mine": False,
    "mine/00000-0.png": False,
    "mine/.samples.csv.4711.part": False,
    "images/00000-0.png": False,
    "images/notes.txt": False,
    "images/test-noise/best.png": False,
    "images/test-noise/00009-3.jpg": False,
    "images/test-noise/00009-3.PNG": False,
    "images/test-noise/9-3.png": False,
    "images/test-noise/.best.png.4711.part": False,
    "images/test-noise/inner/00009-3.png": False,
    "images/.hidden/00009-3.png": False,
    "images/with space/00009-3.png": False,
    "annotations/notes.txt": False,
    "annotations/test-noise/00009-3.png": False,
    "annotations/deeper/listed.txt": True,
    "annotations/deeper/.listed.txt.bak": False,
    "listed.txt": True,
}
"""Paths in a run's folder, and whether a regular file there is the run's own."""

LISTED = (
    *("annotations/test-noise.json", "annotations/deeper/listed.txt", "listed.txt"),
    # what a list from somebody else may name
    *(
        "../outside/victim/photo.png",
        "/etc/hosts",
        "images/test-noise/best.png",
        "run.json",
        "",
        "mine/../notes.txt",
    ),
)
"""Lines of the list of files that sinks wrote."""

KINDS = ("file", "file", "file", "hard link", "folder", "fifo", "link out", "link to itself", "dangling link")
LINKS = ("images", "images/ab", "images/test-noise", "images/link", "annotations", "in-use", "mine")
"""Folders in whose place a link to a folder outside may be, in which the same names are planted."""


class Scene(NamedTuple):
    """What is planted: path and kind of each thing; the folder that is a link; whether the whole folder is one."""

    planted: list[tuple[str, str]]
    linked: str | None
    is_link: bool


def scenes(names: Mapping[str, bool]) -> st.SearchStrategy[Scene]:
    planted = st.lists(st.tuples(st.sampled_from(sorted(names)), st.sampled_from(KINDS)), max_size=12)
    return st.builds(Scene, planted, st.none() | st.sampled_from(LINKS), st.booleans())


def plant(folder: Path, scene: Scene, outside: Path) -> None:
    """Plant files, folders and links in a folder; what stands there already stays."""
    victim = outside / "victim"
    victim.mkdir()
    for name in ("photo.png", f"{DIGEST}.png", f".{DIGEST}.png.4711.part", "00009-3.png", f"4711-{HEX}"):
        (victim / name).write_text("a user's file")
    if scene.linked is not None:
        link = folder / scene.linked
        if link.is_dir():  # the link leads to what was there, in a folder of the user's
            link.rename(outside / "moved")
            link.symlink_to(outside / "moved")
        else:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(victim)
    for number, (name, kind) in enumerate(scene.planted):
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                with path.open("x") as file:
                    file.write(f"file {number}")
            elif kind == "hard link":
                path.hardlink_to(victim / "photo.png")
            elif kind == "folder":
                path.mkdir()
                (path / f"{DIGEST}.png").write_text("in a folder")
            elif kind == "fifo":
                os.mkfifo(path)
            else:
                aims = {"link out": victim / "photo.png", "link to itself": path, "dangling link": outside / "no"}
                path.symlink_to(aims[kind])
        except OSError:  # something else stands there already, or in the way
            continue


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a folder: a file's bytes, a link's target, and what else there is by its type."""
    found: dict[str, object] = {}
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(place, name)
            mode = path.lstat().st_mode
            content: object = stat.S_IFMT(mode)
            if stat.S_ISLNK(mode):
                content = f"link to {path.readlink()}"
            elif stat.S_ISREG(mode):
                content = path.read_bytes()
            found[path.relative_to(root).as_posix()] = content
    return found


def is_own(found: Mapping[str, object], top: str, name: str, own: Mapping[str, bool]) -> bool:
    """Whether a path is a regular file of t2i's own, and every folder on the way to it is really there."""
    inside = PurePosixPath(name).relative_to(top)
    above = [f"{top}/{parent}" for parent in inside.parents if parent.name]
    real = all(found[folder] == stat.S_IFDIR for folder in above)
    return own.get(inside.as_posix(), False) and isinstance(found[name], bytes) and real


@contextmanager
def scratch(pristine: Path) -> Iterator[Path]:
    """Give a new folder with a copy of a pristine one in it, as `real`, and an empty one, `outside`."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        shutil.copytree(pristine, root / "real", symlinks=True)
        (root / "outside").mkdir()
        yield root


# the cache ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pristine_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of three images and an observation. Everything in it is the store's."""
    folder = tmp_path_factory.mktemp("cache")
    with Store(folder) as store:
        for shade in (10, 20, 30):
            store.put_image(digest_data(str(shade)), encode_image(np.full((8, 8, 3), shade, np.uint8)))
        store.put(digest_data("observation"), b"value")
    return folder


def cleaned(root: Path, scene: Scene, limit: int, at_the_end_of_a_run: bool) -> None:
    """Plant things in the cache, clean it, and compare everything before and after."""
    cache = root / "cache"
    images = {path.relative_to(root / "real").as_posix() for path in (root / "real" / "images").rglob("*.png")}
    plant(root / "real", scene, root / "outside")
    if scene.is_link:
        cache.symlink_to(root / "real")
    else:
        (root / "real").rename(cache)
    top = cache.resolve().name
    before = snapshot(root)
    refused = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(cache))
        patch.setenv("T2I_CACHE_LIMIT", str(limit))
        try:
            if at_the_end_of_a_run:
                with use_cache():
                    pass
            else:
                shrink_cache(limit)
        except BadFolder:
            refused = True
    after = snapshot(root)
    names = CACHE_NAMES | dict.fromkeys(images, limit == 0)
    database = {name for name in {*before, *after} if name.startswith((f"{top}/store-", f"{top}/.opening.lock"))}
    expected = {
        name: content
        for name, content in before.items()
        if name not in database and not (name.startswith(f"{top}/") and is_own(before, top, name, names))
    }
    found = {name: content for name, content in after.items() if name not in database}
    if scene.linked == "in-use":
        assert refused
        assert {name: found.get(name) for name in expected} == expected
    else:
        assert not refused
        assert found == expected


@pytest.mark.long
@EXAMPLES
@given(scene=scenes(CACHE_NAMES), limit=st.sampled_from([0, 10**11]), at_the_end_of_a_run=st.booleans())
def test_cleaning_removes_nothing_but_what_the_store_wrote(
    pristine_cache: Path, scene: Scene, limit: int, at_the_end_of_a_run: bool
) -> None:
    with scratch(pristine_cache) as root:
        cleaned(root, scene, limit, at_the_end_of_a_run)


@pytest.mark.parametrize("linked", LINKS)
@pytest.mark.parametrize("limit", [0, 10**11])
def test_cleaning_follows_no_link(pristine_cache: Path, linked: str, limit: int) -> None:
    everything = [(name, "file") for name in CACHE_NAMES]
    with scratch(pristine_cache) as root:
        cleaned(root, Scene(everything, linked, True), limit, False)


def test_an_image_whose_folder_became_a_link_stays(pristine_cache: Path) -> None:
    """The database names it, but the folder that the link leads to is not the cache's."""
    with scratch(pristine_cache) as root:
        folder = next((root / "real" / "images").iterdir()).name
        cleaned(root, Scene([], f"images/{folder}", False), 0, False)


# runs ---------------------------------------------------------------------------------------------


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("reward", unit.one().one("reward").value)


METRIC = MetricInfo(name="brightness", summary="Mean.", create=Brightness, measures=(Measure("reward", "Mean."),))


@pytest.fixture(scope="module")
def pristine_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder, as `evaluate` writes it."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        evaluate(
            METRIC,
            TEST_MODEL,
            prompts="test-prompts",
            seeds=2,
            out=folder / "run",
            resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS),
        )
    (folder / "run" / ".exports").write_text("\n".join(LISTED))
    return folder / "run"


def removed(root: Path, scene: Scene) -> None:
    """Plant things in a run's folder, remove the run, and compare everything before and after."""
    real, run = root / "real", root / "run"
    names = RUN_NAMES | {name: True for name, content in snapshot(real).items() if isinstance(content, bytes)}
    plant(real, scene, root / "outside")
    if scene.is_link:
        run.symlink_to(real)
    before = snapshot(root)
    if scene.is_link:
        with pytest.raises(BadFolder):
            remove_run(run)
        assert snapshot(root) == before
    # `.lock-1-of-2` may be a folder or a link: then nobody can tell whether a process works on the run
    lock = before.get("real/.lock-1-of-2")
    if lock is not None and not isinstance(lock, bytes):
        with pytest.raises(BadFolder):
            remove_run(real)
        assert snapshot(root) == before
        return
    left = remove_run(real)
    after = snapshot(root)
    expected = {
        name: content
        for name, content in before.items()
        if not (name.startswith("real/") and is_own(before, "real", name, names))
    }
    # the folders of the run and its sinks, where nothing is left in them
    for folder in ("real/images", "real/annotations/deeper", "real/annotations", "real"):
        for name in [*(each for each in expected if PurePosixPath(each).parent.as_posix() == folder), folder]:
            own = name != "real/images/.hidden" and name != "real/images/with space"
            own &= name == folder or folder == "real/images"
            empty = not any(each.startswith(f"{name}/") for each in expected)
            if own and empty and expected.get(name) == stat.S_IFDIR:
                del expected[name]
    assert after == expected
    assert left == sorted(name.split("/")[1] for name in expected if name.count("/") == 1 and "real/" in name)


@EXAMPLES
@given(scene=scenes(RUN_NAMES))
def test_removing_a_run_removes_nothing_but_what_the_run_wrote(pristine_run: Path, scene: Scene) -> None:
    with scratch(pristine_run) as root:
        removed(root, scene)


@pytest.mark.parametrize("linked", LINKS)
def test_removing_a_run_follows_no_link(pristine_run: Path, linked: str) -> None:
    with scratch(pristine_run) as root:
        removed(root, Scene([(name, "file") for name in RUN_NAMES], linked, True))


def test_a_run_that_is_alone_in_its_folder_is_removed_with_it(pristine_run: Path) -> None:
    with scratch(pristine_run) as root:
        assert remove_run(root / "real") == []
        assert not (root / "real").exists()
