"""A run's folder: manifest, samples, measurements, failures and images, readable without t2i.

run.json           the manifest (what was asked, of whom, with which versions) and the results
samples.csv        one line per image: model, prompt, seed, status, reason, path, digest, size, record
measurements.csv   one line per measured value
failures.csv       one line per sample that has no value, with the reason
images/MODEL/...   links to the kept images (copies where links cannot be), which outlive the cache
annotations/       with what is really drawn in them, where images are all that was wanted and a model says so
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pandas as pd
from filelock import FileLock, Timeout

from ..errors import BadFolder
from ..files import write_whole
from ..images import Image
from ..runs import LOCK, MANIFEST, DamagedManifest, read_manifest, sealed
from ..sources import file_digest

_LINE_END = "\r\n"
"""As csv.writer's; with another one a carriage return in a cell would not be quoted, and end the line."""

_LONGEST = 60
"""How many characters of a label a name has: two of them and a digest still are a folder's name everywhere."""

_MARK = ".plan"
"""Says whose folder this is where run.json cannot."""


class RunFolder:
    """The folder of one run, held by one process (or one per shard) at a time.

    repaired: whether run.json was found damaged; it is of no account then, and written anew
    """

    def __init__(self, path: Path, plan_digest: str, shard: tuple[int, int] | None) -> None:
        self.path = path.absolute()
        self._digest = plan_digest
        self._written: list[str] = []
        part = f"-{shard[0]}-of-{shard[1]}" if shard else ""
        try:
            self._refuse_others()
            self.path.mkdir(parents=True, exist_ok=True)
            # one who only looks whether a run goes on (`t2i runs`) holds the lock for a moment
            self._lock = FileLock(self.path / f"{LOCK}{part}", timeout=0.5)
            self._lock.acquire()
        except Timeout as error:
            held = f"shard {shard[0]}/{shard[1]} of this run" if shard else "this run"
            raise BadFolder(
                f"{self.path}: another process works on {held}; wait for it or name another --out"
            ) from error
        except OSError as error:
            raise self._useless(error) from error
        try:
            self.repaired = self._refuse_others()
            self._write(_MARK, self._digest.encode())
            if shard is None:
                self._sweep()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise self._useless(error) from error
            raise

    def close(self) -> None:
        """Let other processes have the folder."""
        self._lock.release()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse_others(self) -> bool:
        """Refuse a folder of something else. Returns whether it is this run's, but run.json is damaged."""
        if not self.path.is_dir():
            return False
        try:
            known = read_manifest(self.path)
        except DamagedManifest as error:
            if self._marked():
                return True
            raise BadFolder(
                f"{self.path}: its {MANIFEST} is damaged, and nothing else says which run this is: remove the "
                "folder or name another one with --out"
            ) from error
        if known is not None and known.get("plan") != self._digest:
            raise BadFolder(f"{self.path}: holds another run; name another folder with --out")
        if known is None and not self._marked() and any(not p.name.startswith(".") for p in self.path.iterdir()):
            raise BadFolder(f"{self.path}: is not empty and holds no run; name another folder with --out")
        return False

    def _marked(self) -> bool:
        try:
            return (self.path / _MARK).read_bytes() == self._digest.encode()
        except OSError:
            return False

    def _sweep(self) -> None:
        """Remove what processes that were killed left half written."""
        for part in (*self.path.glob(".[!.]*.part"), *self.path.glob("*/*/.*.part"), *self.path.glob("*/.*.part")):
            part.unlink(missing_ok=True)

    def finished(self) -> bool:
        """Whether the results of an earlier run stand here: they stay until new ones are complete."""
        return not self.repaired and "results" in (read_manifest(self.path) or {})

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write run.json, whole or not at all."""
        data = sealed({"plan": self._digest, **manifest})
        self._write(MANIFEST, data.encode("utf-8", "backslashreplace"))

    def files(self) -> dict[str, str]:
        """The SHA-256 of each table that was written, so that who reads one can tell that it is this run's."""
        try:
            return {name: file_digest(self.path / name) for name in self._written}
        except OSError as error:
            raise self._unwritable(error) from error

    def write_rows(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write a CSV file row by row, whole or not at all."""
        with self.writing(name) as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
        self._written.append(name)

    def write_tables(self, name: str, tables: Mapping[str, pd.DataFrame]) -> None:
        """Write the tables of several metrics as one CSV file with a first column `metric`."""
        columns = list(dict.fromkeys(c for table in tables.values() for c in table.columns))
        first = [c for c in ("model", "model_a", "model_b", "prompt", "cluster", "seed") if c in columns]
        last = [c for c in ("measure", "value") if c in columns]
        order = ["metric", *first, *(c for c in columns if c not in (*first, *last)), *last]
        with self.writing(name) as file:
            pd.DataFrame(columns=order).to_csv(file, index=False, lineterminator=_LINE_END)
            for metric, table in tables.items():
                named = table.assign(metric=metric).reindex(columns=order)
                named.to_csv(file, index=False, header=False, chunksize=20_000, lineterminator=_LINE_END)
        self._written.append(name)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[str]]:
        """Open a text file of the folder; it is there when the block ends, or, where that fails, not at all."""
        target = self.path / name
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            self._make_room(target)
            with part.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
                yield file
            part.replace(target)
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with suppress(OSError):  # the folder may be gone, or no folder any more
                part.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Take away a file that another run of the same plan has left here, if there is one."""
        try:
            (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def link_image(self, place: str, prompt_number: int, seed: int, image: Image) -> str:
        """Put a kept image into the folder; returns its path within it. Outside files stay where they are."""
        name = _image_name(place, prompt_number, seed, image.path.suffix)
        target = self.path / name
        try:
            if target.exists():
                if target.samefile(image.path):
                    return name
                target.unlink()
            self._make_room(target)
            try:
                target.hardlink_to(image.path)
            except OSError:
                _copy_whole(image.path, target)
        except OSError as error:
            raise self._unwritable(error) from error
        return name

    def drop_image(self, place: str, prompt_number: int, seed: int) -> None:
        """Take away the link to an image that an earlier run has left, and that is there no more."""
        self.remove(_image_name(place, prompt_number, seed, ".png"))

    def _make_room(self, target: Path) -> None:
        """Make the folders between the run's own and a file; never the run's own: somebody took it away then."""
        if target.parent.is_dir():
            return
        for parent in reversed(target.relative_to(self.path).parents[:-1]):
            (self.path / parent).mkdir(exist_ok=True)

    def _write(self, name: str, data: bytes) -> None:
        try:
            write_whole(self.path / name, data)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> BadFolder:
        return BadFolder(
            f"{self.path}: {error.strerror or error}; what was made is kept in the cache, and the same command "
            "goes on from there once this folder can be written"
        )

    def _useless(self, error: OSError) -> BadFolder:
        return BadFolder(
            f"{self.path}: cannot be written ({error.strerror or error}); "
            "mend that or name another folder with --out"
        )


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that it is there whole or not at all."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        shutil.copyfile(source, part)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _image_name(place: str, prompt_number: int, seed: int, suffix: str) -> str:
    return f"images/{place}/{prompt_number:05d}-{seed}{suffix}"


def slug(text: str) -> str:
    """Turn any text into a short name that every file system takes; a long one ends where a word does."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")
    if len(name) > _LONGEST:
        end = name.rfind("-", _LONGEST // 2, _LONGEST + 1)
        name = name[: end if end > 0 else _LONGEST].rstrip("-.")
    return name or "model"
