"""Full disks, and folders that cannot be written.

python disks.py FOLDER TRIES SEED     tries all that wants a file system of its own, and prints each Case as JSON;
                                      run in a mount namespace of its own: unshare -rm python disks.py ...
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from t2i_core.storage.store import DATABASE

from fire.disturbed import DONE, FAULT, Count, Watching, World, said
from fire.small_world import carry_out
from fire.tally import Case, Difference

NOBODY = 65534
IMAGES = {"scores": 23, "data": 11}


def cases(folder: Path, tries: int, seed: int) -> Iterator[Case]:
    """All cases; those that mount are tried in a namespace, so that nothing is left mounted."""
    rng = random.Random(seed)
    flag = "-m" if os.geteuid() == 0 else "-rm"
    command = ["unshare", flag, sys.executable, __file__, str(folder), str(tries), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            case = json.loads(line)
            yield Case(**{**case, "difference": Difference(**case["difference"])})
    if process.returncode != 0:
        raise OSError(f"{' '.join(command)} ended with {process.returncode}")
    yield from limits(folder, rng, max(1, tries // 4))
    yield from permissions(rng, max(1, tries // 10))


def mounted(folder: Path, tries: int, seed: int) -> Iterator[Case]:
    """What wants file systems of its own: run as root of a mount namespace."""
    rng = random.Random(seed)
    small = folder / "small"
    small.mkdir()
    for kind in ("scores", "data"):
        undisturbed = carry_out(folder / kind / "cache", folder / kind / "run", kind).folder
        other = folder / kind / "other"
        full = {
            "the cache's disk": World(kind, undisturbed, small / "cache", other / "run"),
            "the run folder's disk": World(kind, undisturbed, other / "cache", small / "run"),
            "the disk of both": World(kind, undisturbed, small / "cache", small / "run"),
        }
        for name, w in full.items():
            yield _full(f"{name} full ({kind})", w, small, rng, tries)
        for name, w in full.items():
            yield _read_only(f"{name} read-only ({kind})", w, small, rng, max(1, tries // 10))


def _full(name: str, w: World, small: Path, rng: random.Random, tries: int) -> Case:
    """Disks too small, or with room for too few files, or full from some moment on; then there is room again."""
    count, stages = Count(name), Counter[str]()
    other = small.parent / w.kind / "other"
    with _disk(small, "size=16m"):
        watching = Watching()
        w.command(watching)
        length, used = watching.count, os.statvfs(small)
        pages, files = used.f_blocks - used.f_bfree, used.f_files - used.f_ffree
    for number in range(tries):
        shutil.rmtree(other, ignore_errors=True)
        limit, at = ("size=16m", rng.randint(1, length)) if number % 2 else ("", -1)
        if not limit:
            limit = f"size={4096 * rng.randint(1, pages)}" if number % 4 else f"nr_inodes={rng.randint(2, files)}"
        with _disk(small, limit):
            watching = Watching(at, partial(_fill, small))
            first = said(partial(w.command, watching))
            if first != DONE:
                stages[_stage(watching.stage)] += 1
            kept = _kept(w.cache)
            (small / "ballast").unlink(missing_ok=True)
            _mount("remount,size=16m,nr_inodes=0", small)
            go_on(w, count, first, kept, f"{limit}, filled at {at}")
    return count.case(", ".join(f"{n} {stage}" for stage, n in sorted(stages.items())))


def _fill(disk: Path) -> None:
    """Leave no room on a disk, as another's files do."""
    with (disk / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def _read_only(name: str, w: World, small: Path, rng: random.Random, tries: int) -> Case:
    """A disk that turns read-only after a run was interrupted, and then can be written again."""
    count = Count(name)
    for _ in range(tries):
        shutil.rmtree(small.parent / w.kind / "other", ignore_errors=True)
        with _disk(small, "size=16m"):
            interrupted(w, rng.randint(1, 60))
            kept = _kept(w.cache)
            _mount("remount,ro", small)
            first = said(w.command)
            _mount("remount,rw", small)
            go_on(w, count, first, kept, "read-only", must_name=small)
    return count.case()


def go_on(w: World, count: Count, first: str, kept: int, what: str, must_name: Path | None = None) -> None:
    """Give the command again now that nothing hinders it: it ends rightly, and makes nothing that was kept.

    must_name: what the line that stopped it must have named
    """
    if FAULT in first or (must_name and (first == DONE or str(must_name) not in first)):
        count.faults.append(f"{what}: {first}")
        count.found += Difference(lost=1)
    made: list[int] = []
    second = said(lambda: made.append(w.command().made.images))
    if second == DONE and made[0] > IMAGES[w.kind] - kept:
        count.faults.append(f"{what}: {kept} images were kept, and {made[0]} of {IMAGES[w.kind]} made again")
        count.found += Difference(lost=1)
    w.held(count, first, what, second)


def interrupted(w: World, after: int) -> None:
    """Give the command, and stop it at its so-manieth thing."""

    def stop() -> None:
        raise KeyboardInterrupt

    try:
        w.command(Watching(after, stop))
    except KeyboardInterrupt:
        return


def _kept(cache: Path) -> int:
    """How many images a cache has."""
    if not (cache / DATABASE).exists():
        return 0
    database = sqlite3.connect(cache / DATABASE)
    try:
        return int(database.execute("select count(*) from images").fetchone()[0])
    except sqlite3.Error:
        return 0
    finally:
        database.close()


def _stage(title: str) -> str:
    words = {"images": "while images were made", "measuring": "while measuring", "checking": "while checking"}
    words |= {"starting": "at the start", "writing": "while results were written"}
    return words.get(title.split()[0], "while judging")


class _disk:  # noqa: N801 - used like a function
    """A small file system of its own."""

    def __init__(self, place: Path, options: str) -> None:
        self._place, self._options = place, options

    def __enter__(self) -> None:
        _mount(self._options, self._place)

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", str(self._place)], check=True)


def _mount(options: str, place: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)


# --- without mounting: in a child, under a limit or as another user


def in_child(work: Callable[[], Any], before: Callable[[], None]) -> str:
    """What a forked process says (as `said`) that does something to itself before the work."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            before()
            os.write(writing, said(work).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        line = pipe.read().decode()
    os.waitpid(process, 0)
    return line


def small_files(limit: int) -> None:
    """Let this process write no file beyond so many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.dont_write_bytecode = True  # the half of a module would be there for all processes


def small_database(pages: int) -> None:
    """Let this process have databases of so many pages at most."""
    connect = sqlite3.connect

    def limited(*arguments: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **more)
        connection.execute(f"pragma max_page_count={pages}")
        return connection

    sqlite3.connect = limited  # type: ignore[assignment]


def nobody() -> None:
    """Give up root's rights, where this process has them."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def limits(folder: Path, rng: random.Random, tries: int) -> Iterator[Case]:
    """Files that cannot grow, and a database that cannot."""
    place = folder / "limits"
    for kind in ("scores", "data"):
        undisturbed = carry_out(place / kind / "cache", place / kind / "run", kind).folder
        w = World(kind, undisturbed, place / "cache", place / "run")
        ways: dict[str, Callable[[], Callable[[], None]]] = {
            f"no file beyond a limit ({kind})": lambda: partial(small_files, int(10 ** rng.uniform(1, 5.3))),
            f"no database beyond a limit ({kind})": lambda: partial(small_database, rng.randint(8, 20)),
        }
        for name, way in ways.items():
            count = Count(name)
            for _ in range(tries):
                for old in (w.cache, w.run):
                    shutil.rmtree(old, ignore_errors=True)
                limit = way()
                first = in_child(w.command, limit)
                go_on(w, count, first, _kept(w.cache), str(limit))
            yield count.case()


def permissions(rng: random.Random, tries: int) -> Iterator[Case]:
    """Folders that another user may not write, from the beginning or from the middle of a run on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        undisturbed = carry_out(folder / "made" / "cache", folder / "made" / "run").folder
        for parent in ("cache-parent", "run-parent"):
            (folder / parent).mkdir()
        w = World("scores", undisturbed, folder / "cache-parent" / "cache", folder / "run-parent" / "run")
        closed = {
            "the cache's parent": (w.cache.parent, 0o555, False),
            "the cache": (w.cache, 0o555, True),
            "the cache (not even read)": (w.cache, 0o000, True),
            "the cache's images": (w.cache / "images", 0o555, True),
            "the run folder's parent": (w.run.parent, 0o555, False),
            "the run's folder": (w.run, 0o555, True),
            "the run's folder (not even read)": (w.run, 0o000, True),
            "run.json (not even read)": (w.run / "run.json", 0o000, True),
        }
        for what, (path, mode, begun) in closed.items():
            count = Count(f"{what} may not be written")
            for _ in range(tries):
                _own(w)
                after = rng.randint(1, 60) if path != w.cache / "images" else rng.randint(1, 20)
                if begun:
                    in_child(partial(interrupted, w, after), nobody)
                _try_closed(w, count, path, mode, what)
            yield count.case()
        count = Count("no right to write any more, from the middle of a run")
        for _ in range(tries * 3):
            _own(w)
            path = rng.choice([w.cache, w.cache / "images", w.run])
            close = Watching(rng.randint(1, 150), partial(path.chmod, 0o555))
            first = in_child(partial(w.command, close), nobody)
            if path.exists():
                path.chmod(0o777)
            _again(w, count, first, str(path))
        yield count.case()


def _own(w: World) -> None:
    """Fresh folders that anybody may write."""
    for parent in (w.cache.parent, w.run.parent):
        parent.chmod(0o777)
        shutil.rmtree(parent)
        parent.mkdir()
        parent.chmod(0o777)


def _try_closed(w: World, count: Count, path: Path, mode: int, what: str) -> None:
    open_mode = path.stat().st_mode
    path.chmod(mode)
    first = in_child(w.command, nobody)
    path.chmod(open_mode)
    named = w.cache if w.cache in path.parents else path
    if first == DONE or str(named) not in first:
        count.faults.append(f"{what}: {first}")
        count.found += Difference(lost=1)
    _again(w, count, first, what)


def _again(w: World, count: Count, first: str, what: str) -> None:
    """Give the command again, as the same user, and hold it to the undisturbed run."""
    w.held(count, first, what, in_child(w.command, nobody))


if __name__ == "__main__":
    for _case in mounted(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])):
        print(json.dumps(asdict(_case)), flush=True)
