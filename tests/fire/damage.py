"""What may become of files: damage to what is kept and written, full disks, folders that go or cannot be written.

After each damage the command that was given before is given again. It ends with the undisturbed run's results, or
stops with one line that says what to do; then that is done, and the command given once more.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import random
import shutil
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from t2i_core import Run
from t2i_core.api.errors import BadFolder
from t2i_core.results.run import list_runs, load_run
from t2i_core.storage.store import DATABASE

from . import disks
from .disturbed import DONE, FAULT, Count, Watching, World, said, world
from .small_world import carry_out
from .tally import Case, Difference

Harm = Callable[[Path, random.Random], None]


# --- what is done to a file


def truncated(file: Path, rng: random.Random) -> None:
    """Cut off at any byte."""
    with file.open("r+b") as opened:
        opened.truncate(rng.randrange(file.stat().st_size))


def emptied(file: Path, rng: random.Random) -> None:
    """Leave no byte."""
    file.write_bytes(b"")


def zeroed(file: Path, rng: random.Random) -> None:
    """Make all bytes zero."""
    file.write_bytes(bytes(file.stat().st_size))


def garbled(file: Path, rng: random.Random) -> None:
    """Put random bytes in their place."""
    file.write_bytes(rng.randbytes(file.stat().st_size))


def deleted(file: Path, rng: random.Random) -> None:
    """Remove it."""
    file.unlink()


def altered(file: Path, rng: random.Random) -> None:
    """Change one byte."""
    _alter(file, rng, 1)


def altered_unseen(file: Path, rng: random.Random) -> None:
    """Change one byte, and set the file's time back."""
    stat = file.stat()
    _alter(file, rng, 1)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def replaced(file: Path, rng: random.Random) -> None:
    """Put another file of the same size there, which no link shares."""
    other = file.with_name("other")
    other.write_bytes(rng.randbytes(file.stat().st_size))
    other.replace(file)


def scattered(file: Path, rng: random.Random) -> None:
    """Change up to 64 bytes anywhere."""
    _alter(file, rng, rng.choice((1, 2, 8, 64)))


def head_altered(file: Path, rng: random.Random) -> None:
    """Change up to 8 bytes of a database's first page: its head, and the schema at its end."""
    data = bytearray(file.read_bytes())
    parts = (range(100), range(100, PAGE), range(2 * PAGE // 3, PAGE))
    for place in rng.choices(rng.choice(parts), k=rng.choice((1, 1, 2, 8))):
        data[place] ^= rng.randrange(1, 256)
    with file.open("r+b") as opened:
        opened.write(data)


def page_zeroed(file: Path, rng: random.Random) -> None:
    """Make one page of a database zero."""
    _put_page(file, rng, bytes(PAGE))


def page_repeated(file: Path, rng: random.Random) -> None:
    """Put one page of a database where another was."""
    data = file.read_bytes()
    start = rng.randrange(max(1, len(data) // PAGE)) * PAGE
    _put_page(file, rng, data[start : start + PAGE])


PAGE = 4096
FILE_HARMS: tuple[Harm, ...] = (truncated, altered, emptied, zeroed, garbled, deleted)
IMAGE_HARMS: tuple[Harm, ...] = (truncated, altered, emptied, deleted, replaced)
DATABASE_HARMS: tuple[Harm, ...] = (truncated, scattered, head_altered, page_zeroed, page_repeated)


def _alter(file: Path, rng: random.Random, count: int) -> None:
    data = bytearray(file.read_bytes())
    for place in rng.choices(range(len(data)), k=count):
        data[place] ^= rng.randrange(1, 256)
    with file.open("r+b") as opened:
        opened.write(data)


def _put_page(file: Path, rng: random.Random, page: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(rng.randrange(max(1, file.stat().st_size // PAGE)) * PAGE)
        opened.write(page)


# --- the cases


def images(w: World, rng: random.Random, tries: int) -> Iterator[Case]:
    """Images in the cache, and their links in the run's folder."""
    places = {"kept images": "cache/images/*/*.png", "images in a run's folder": "run/images/*/*.png"}
    for where, pattern in places.items():
        count = Count(f"{where} truncated, altered, emptied, deleted or replaced")
        for harm in itertools.islice(itertools.cycle(IMAGE_HARMS), tries):
            w.restore()
            hurt = _some(w, pattern, rng)
            for file in hurt:
                harm(file, rng)
            w.hold(count, f"{harm.__name__} {[f.name for f in hurt]}", heals=True)
        yield count.case()
    count = Count("images in a run's folder damaged that are copies, for links cannot be made")
    for harm in itertools.islice(itertools.cycle(IMAGE_HARMS), max(1, tries // 2)):
        w.restore()
        shutil.rmtree(w.run)
        with _no_links():
            w.command()
            for file in _some(w, "run/images/*/*.png", rng):
                harm(file, rng)
            w.hold(count, harm.__name__, heals=True)
    yield count.case()
    count = Count("kept images altered, size and time as before, then judged")
    for _ in range(max(1, tries // 2)):
        w.restore()
        for file in _some(w, "cache/images/*/*.png", rng):
            altered_unseen(file, rng)
        with sqlite3.connect(w.cache / DATABASE) as database:
            database.execute("delete from observations")
        w.hold(count, heals=True)
    yield count.case()


@contextlib.contextmanager
def _no_links() -> Iterator[None]:
    """As between two file systems."""

    def refused(target: Path, source: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    real = Path.hardlink_to
    Path.hardlink_to = refused  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Path.hardlink_to = real  # type: ignore[method-assign]


def observations(w: World, rng: random.Random, tries: int) -> Iterator[Case]:
    """The database: of a finished run, and as a kill leaves it."""
    names = {
        truncated: "the database truncated at any byte",
        scattered: "the database with 1 to 64 bytes altered",
        head_altered: "the database with 1 to 8 bytes of head and schema altered",
        page_zeroed: "the database with a page zeroed",
        page_repeated: "the database with a page in another's place",
    }
    for harm in DATABASE_HARMS:
        count = Count(names[harm])
        for number in range(tries * (3 if harm in (scattered, head_altered) else 1)):
            state = number % len(w.states)
            w.restore(state)
            harm(w.cache / DATABASE, rng)
            w.hold(count, f"state {state}")
        yield count.case()
    count = Count("the database deleted, emptied, zeroed or replaced by garbage")
    harms = (deleted, emptied, zeroed, garbled)
    for number in range(max(len(harms), tries)):
        harm, state = harms[number % len(harms)], (number + number // len(harms)) % len(w.states)
        w.restore(state)
        harm(w.cache / DATABASE, rng)
        w.hold(count, f"{harm.__name__}, state {state}")
    yield count.case()
    count = Count("the database's -wal and -shm, after a kill, deleted, truncated or altered")
    killed = range(1, len(w.states))
    for number in range(tries):
        state = killed[number % len(killed)]
        w.restore(state)
        end = rng.choice(("-wal", "-shm"))
        harm = rng.choice((deleted, truncated, scattered, page_zeroed, emptied))
        harm(w.cache / f"{DATABASE}{end}", rng)
        w.hold(count, f"{harm.__name__} {end}, state {state}", heals=True)
    yield count.case()
    for name, change in {
        "rows of the database altered by SQL": _change,
        "rows of the database exchanged or deleted by SQL": _exchange,
    }.items():
        count = Count(name)
        for _ in range(tries):
            w.restore()
            with sqlite3.connect(w.cache / DATABASE) as database:
                tables = [t for (t,) in database.execute("select name from sqlite_master where type = 'table'")]
                table = rng.choice([t for t in tables if database.execute(f"select 1 from {t}").fetchone()])
                columns = [row[1] for row in database.execute(f"pragma table_info({table})") if row[1] != "key"]
                done = change(database, table, columns, rng)
            w.hold(count, done, heals=True)
        yield count.case()


def _change(database: sqlite3.Connection, table: str, columns: list[str], rng: random.Random) -> str:
    """Give a column of some rows of a table another value, or another row's."""
    column, keys = rng.choice(columns), _keys(database, table)
    hurt = rng.sample(keys, rng.randint(1, len(keys)))
    others = f"(select {column} from {table} where key = ?2)"
    value = rng.choice(("''", "'x'", "x'00ff'", "0", "1e308", f"{column} || 'x'", f"{column} + 1", others))
    change = f"update or ignore {table} set {column} = {value} where key = ?1 and ?2 is not null"
    database.executemany(change, [(key, rng.choice(keys)) for key in hurt])
    return f"{change}, {len(hurt)} of {len(keys)} rows"


def _exchange(database: sqlite3.Connection, table: str, columns: list[str], rng: random.Random) -> str:
    """Put all of a row but its key under another row's key; or delete some rows."""
    keys = _keys(database, table)
    if len(keys) == 1 or rng.random() < 0.3:
        gone = rng.sample(keys, rng.randint(1, len(keys)))
        database.executemany(f"delete from {table} where key = ?", [(key,) for key in gone])
        return f"{len(gone)} of {len(keys)} rows of {table} deleted"
    one, other = rng.sample(keys, 2)
    named, places = ", ".join(columns), ", ".join("?" * len(columns))
    row = database.execute(f"select {named} from {table} where key = ?", (other,)).fetchone()
    database.execute(f"update {table} set ({named}) = ({places}) where key = ?", (*row, one))
    return f"a row of {table} under another's key"


def _keys(database: sqlite3.Connection, table: str) -> list[Any]:
    return [key for (key,) in database.execute(f"select key from {table} order by key")]


FILES = {
    "scores": ("run.json", "samples.csv", "measurements.csv", "failures.csv", ".plan"),
    "data": ("samples.csv", "images/painter-120/metadata.jsonl", "annotations/painter-120.json"),
}


def run_files(w: World, rng: random.Random, tries: int) -> Iterator[Case]:
    """What a run writes: read after the damage, and mended by the same command."""
    read = Count(f"files of a run's folder ({w.kind}) damaged, then read")
    mended = Count(f"files of a run's folder ({w.kind}) damaged, then the same command")
    expected = _read(w.undisturbed)
    pairs = list(itertools.product(FILES[w.kind], FILE_HARMS))
    rng.shuffle(pairs)
    for name, harm in itertools.islice(itertools.cycle(pairs), tries):
        w.restore()
        harm(w.run / name, rng)
        where = f"{harm.__name__} {name}"
        # run.json has no digest: one that was edited is read as it is
        for key, value in expected.items() if (name, harm) != ("run.json", altered) else ():
            got = _read(w.run)[key]
            read.tried += 1
            read.said[DONE if got == value else got] += 1
            if got != value and not (got.startswith("stopped: ") and "\n" not in got):
                read.faults.append(f"{where}: {key}: {got}")
                read.found += Difference(differing=1)
            read.compared += 1
        w.hold(mended, where)
    for harm in itertools.islice(itertools.cycle(FILE_HARMS), max(1, tries // 5)):
        w.restore()
        harm(w.run / "run.json", rng)
        harm(w.run / ".plan", rng)
        w.hold(mended, f"{harm.__name__} run.json and .plan")
    right, refused = read.said.pop(DONE), sum(read.said.values())
    read.said.clear()
    yield read.case(f"{right} were read rightly, {refused} refused in one line")
    yield mended.case()


def _read(run: Path) -> dict[str, str]:
    """All that can be read of a run's folder, and how reading ended."""
    found = {}
    readers: dict[str, Callable[[Run], Any]] = {
        "results": lambda r: r.results,
        "samples": lambda r: r.samples().drop(columns="image"),
        "measurements": lambda r: r.measurements(),
        "failures": lambda r: r.failures(),
        "status": lambda r: r.status,
    }
    for name, reader in readers.items():
        try:
            got = reader(load_run(run))
            found[name] = got.to_csv() if hasattr(got, "to_csv") else json.dumps(got)
        except BadFolder as error:
            found[name] = f"stopped: {error}"
        except Exception:
            found[name] = f"{FAULT}: {traceback.format_exc()}"
    try:
        listed = [r.status for r in list_runs(run)]
        found["listed"] = "stopped: unreadable" if listed in ([], ["unreadable"]) else str(listed)
    except Exception:
        found["listed"] = f"{FAULT}: {traceback.format_exc()}"
    return found


def users_own(folder: Path, rng: random.Random, tries: int) -> Iterator[Case]:
    """Images of the user's own that change between two runs: the second is one on the images as they are."""
    count = Count("the user's own images (model `folder`) changed between two runs")
    pictures = folder / "pictures"
    made = carry_out(folder / "cache-0", folder / "run-0", "data")
    shutil.copytree(made.folder / "images" / "painter-120", folder / "originals")
    drawn = made.samples().query("status == 'ok'")
    table = drawn.assign(file=drawn["image"].map(lambda name: Path(name).name))[["file", "text", "seed"]]
    table.to_csv(folder / "originals" / "prompts.csv", index=False)
    for number in range(tries):
        shutil.rmtree(pictures, ignore_errors=True)
        shutil.copytree(folder / "originals", pictures)
        cache, run, alone = folder / "cache", folder / "run", folder / "alone"
        for old in (cache, run, alone, folder / "cache-alone"):
            shutil.rmtree(old, ignore_errors=True)
        carry_out(cache, run, f"folder:{pictures}")
        harm = (*IMAGE_HARMS, altered_unseen, _swapped)[number % (len(IMAGE_HARMS) + 2)]
        for file in rng.sample(sorted(pictures.glob("*.png")), rng.randint(1, 3)):
            harm(file, rng)
        carry_out(folder / "cache-alone", alone, f"folder:{pictures}")
        World(f"folder:{pictures}", alone, cache, run).hold(count, harm.__name__, heals=True)
    yield count.case("the undisturbed run began with the changed images")


def _swapped(file: Path, rng: random.Random) -> None:
    """Exchange an image with its neighbour."""
    other = rng.choice([p for p in sorted(file.parent.glob("*.png")) if p != file])
    aside = file.with_name("aside")
    file.rename(aside)
    other.rename(file)
    aside.rename(other)


def vanishing(w: World, rng: random.Random, tries: int) -> Iterator[Case]:
    """Folders and files that go, or become something else, at any moment of a run."""
    total = _length(w)

    def cache_gone() -> None:
        shutil.rmtree(w.cache)

    def images_gone() -> None:
        shutil.rmtree(w.cache / "images")

    def some_images_gone() -> None:
        for file in _some(w, "cache/images/*/*.png", rng):
            file.unlink()

    def database_gone() -> None:
        for file in w.cache.glob(f"{DATABASE}*"):
            file.unlink()

    def database_altered() -> None:
        scattered(w.cache / DATABASE, rng)

    def cache_a_file() -> None:
        shutil.rmtree(w.cache)
        w.cache.write_text("in the way")

    def run_gone() -> None:
        shutil.rmtree(w.run)

    def run_a_file() -> None:
        shutil.rmtree(w.run)
        w.run.write_text("in the way")

    names = {
        cache_gone: "the cache removed in the middle of a run",
        images_gone: "its images removed in the middle of a run",
        some_images_gone: "some kept images removed in the middle of a run",
        database_gone: "its database removed in the middle of a run",
        database_altered: "its database altered (1 to 64 bytes) in the middle of a run",
        cache_a_file: "a file where the cache was, from the middle of a run",
        run_gone: "the run's folder removed in the middle of the run",
        run_a_file: "a file where the run's folder was, from the middle of the run",
    }
    for act, name in names.items():
        count = Count(name)
        for _ in range(max(1, tries // 4)):
            shutil.rmtree(w.place, ignore_errors=True)
            at = rng.randint(1, total)
            watching = Watching(at, act)
            first = said(lambda watching=watching: w.command(watching))  # type: ignore[misc]
            for path in (w.cache, w.run):
                if path.is_file():
                    again = said(w.command)
                    if FAULT in again or str(path) not in again:
                        count.faults.append(f"{path.name} is a file: {again}")
                        count.found += Difference(lost=1)
                    path.unlink()
            # what did not stop must have ended rightly as it is; what stopped goes on when it is given again
            w.held(count, first, f"at {at} of {total} ({watching.stage})")
        yield count.case()


def _length(w: World) -> int:
    """How many things a whole run does."""
    shutil.rmtree(w.place, ignore_errors=True)
    watching = Watching()
    w.command(watching)
    return watching.count


def _some(w: World, pattern: str, rng: random.Random) -> list[Path]:
    found = sorted(w.place.glob(pattern))
    return rng.sample(found, min(len(found), rng.randint(1, 3)))


def cases(folder: Path, tries: int, seed: int) -> Iterator[Case]:
    """All cases of this module; each random one is tried `tries` times, the longer ones less often."""
    rng = random.Random(seed)
    scores = world(_made(folder / "scores"), "scores")
    data = world(_made(folder / "data"), "data")
    yield from images(scores, rng, tries)
    yield from (_named(case, "data set: ") for case in images(data, rng, max(1, tries // 4)))
    yield from users_own(_made(folder / "own"), rng, max(1, tries // 4))
    yield from observations(scores, rng, tries)
    yield from run_files(scores, rng, tries)
    yield from run_files(data, rng, tries)
    yield from vanishing(scores, rng, tries)
    yield from disks.cases(_made(folder / "disks"), tries, seed)


def _named(case: Case, before: str) -> Case:
    return Case(case.group, before + case.name, case.tried, case.compared, case.difference, case.note)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
