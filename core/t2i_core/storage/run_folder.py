"""A run's folder: manifest, samples, measurements, failures and images, readable without t2i.

run.json           the manifest (request, components, versions) and the results
samples.csv        one line per image: model, prompt, seed, status, reason, path, digest, size, record
measurements.csv   one line per measured value
failures.csv       one line per sample without a value, with the reason
evidence.jsonl     why the worst samples have their values, if a metric says so
prompts.jsonl      the prompts, with what their images must show
images/MODEL/...   links to the kept images (copies if links are not possible), which outlive the cache; for
                   `t2i generate` also metadata.jsonl
.exports           paths of the files that sinks wrote, one a line
.spent             what paid components spent, in JSON; .spent-I-of-N for shards
.progress          progress of a run under way, in JSON; a run that ends without an error removes it
"""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from ..api.errors import BadFolder
from ..api.image import Image
from ..api.redaction import redact_data
from ..files.atomic_write import replace_file, write_whole
from ..files.digest import digest_file
from ..files.real_folder import is_link, open_folder
from ..files.regular_file import MANIFEST_BYTES, read_regular
from ..files.spreadsheet import escape, escape_table
from ..files.write_check import find_write_obstacle
from .exports import list_exports
from .manifest_file import MANIFEST, DamagedManifest, encode_manifest, read_manifest
from .run_files import IMAGES, MARK, PROGRESS, SPENT, is_ledger, list_own_files, make_run_image_name
from .run_lock import add_shard, is_locked, name_lock
from .text_file import IS_LINK, make_parents, replace_text

if TYPE_CHECKING:
    import pandas as pd

_LINE_END = "\r\n"
"""The line end of csv.writer. With another one, a carriage return in a cell would end the line unquoted."""


_MARK_BYTES = 1000


class RunFolder:
    """The folder of one run, held by one process (or one per shard) at a time: a context manager.

    Args:
        path: The folder.
        plan_digest: The run's identity.
        shard: The part of the run and the number of parts; None for the whole.

    Attributes:
        shard: As given.
        repaired: True if run.json was damaged; it is then ignored and written again.
    """

    def __init__(self, path: Path, plan_digest: str, shard: tuple[int, int] | None) -> None:
        self.path = path.absolute()
        self.repaired = False
        self._digest = plan_digest
        self.shard = shard
        self._written: list[str] = []
        self._image_folders: set[str] = set()
        # `t2i runs` holds the lock for a moment to see whether a run is in progress
        self._lock = FileLock(self.path / name_lock(shard), timeout=0.5)

    def check(self, is_known: bool = True) -> BadFolder | None:
        """Check, without writing anything, that a run could use the folder.

        Args:
            is_known: False if the run's identity is not known yet; the folder may then hold any run.

        Returns:
            The error of a folder that cannot be written; None if it can.

        Raises:
            BadFolder: If the folder is in use or holds something else.
        """
        try:
            if is_known:
                self._refuse_others()
            self._refuse_links()
            if is_locked(self.path, self.shard):
                raise self._held()
        except OSError as error:
            return self._useless(error)
        obstacle = find_write_obstacle(self.path)
        return None if obstacle is None else self._useless(obstacle)

    def open(self) -> None:
        """Take the folder, and make it if it does not exist.

        Raises:
            BadFolder: If the folder is in use, holds something else, or cannot be written.
        """
        try:
            self._refuse_others()
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise self._held() from error
        except OSError as error:
            raise self._useless(error) from error
        try:
            self.repaired = self._refuse_others()
            self._refuse_links()
            self._write(MARK, self._digest.encode())
            if self.shard is None:
                self._sweep()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise self._useless(error) from error
            raise

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.release()

    def __enter__(self) -> RunFolder:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse_others(self) -> bool:
        """Refuse a folder of something else. Return True if it is this run's, but run.json is damaged."""
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

    def _refuse_links(self) -> None:
        """Refuse a link in place of the folder of images, because files elsewhere would be replaced."""
        if is_link(self.path / IMAGES):
            raise BadFolder(f"{self.path / IMAGES}: {IS_LINK}")

    def _marked(self) -> bool:
        try:
            return read_regular(self.path / MARK, _MARK_BYTES) == self._digest.encode()
        except OSError:
            return False

    def _sweep(self) -> None:
        """Remove half-written files of processes that were killed."""
        with open_folder(self.path) as run:
            for file in list_own_files(run, list_exports(self.path)):
                # shards that are at work write their marks and ledgers
                of_shard = file.finished_name == MARK or is_ledger(file.finished_name)
                if not (file.is_finished or of_shard):
                    file.folder.remove(file.name)

    def finished(self) -> bool:
        """Return whether an earlier run has written its tables here. They stay until new ones are complete."""
        return not self.repaired and bool((read_manifest(self.path) or {}).get("files"))

    def write_manifest(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Write run.json completely or not at all; return the manifest as written, without secrets."""
        written: dict[str, Any] = redact_data(manifest)
        self._write(MANIFEST, encode_manifest(written))
        return written

    def write_spending(self, spent: Mapping[str, Mapping[str, float]]) -> None:
        """Write what paid components spent in all commands on this run, or on this shard of it."""
        self._write(add_shard(SPENT, self.shard), json.dumps(redact_data(spent), indent=1).encode())

    def write_progress(self, progress: Mapping[str, Any]) -> None:
        """Write the progress of the run, for those who follow it."""
        self._write(PROGRESS, json.dumps(redact_data(progress)).encode("utf-8", "backslashreplace"))

    def remove_progress(self) -> None:
        """Remove the progress that this run, or an interrupted one before it, has written."""
        self.remove(PROGRESS)

    def read_spending(self) -> Any:
        """Return what `write_spending` wrote; None if it wrote nothing, or the file is damaged."""
        return self._read_ledger(add_shard(SPENT, self.shard))

    def read_spending_of_shards(self) -> list[Any]:
        """Return what each shard wrote."""
        try:
            ledgers = sorted(p.name for p in self.path.iterdir() if is_ledger(p.name) and p.name != SPENT)
        except OSError as error:
            raise self._unwritable(error) from error
        return [self._read_ledger(name) for name in ledgers]

    def _read_ledger(self, name: str) -> Any:
        try:
            return json.loads(read_regular(self.path / name, MANIFEST_BYTES, self.path))
        except (OSError, ValueError, RecursionError):
            return None

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of each table that was written, so that readers can check the tables."""
        try:
            return {name: digest_file(self.path / name) for name in self._written}
        except OSError as error:
            raise self._unwritable(error) from error

    def write_rows(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write a CSV file row by row, completely or not at all. Texts that are formulas are escaped."""
        with self.open_rows(name, header) as write_row:
            for row in rows:
                write_row(row)

    @contextmanager
    def open_rows(self, name: str, header: Sequence[str]) -> Iterator[Callable[[Sequence[Any]], None]]:
        """Open a CSV file as `write_rows` does; gives the function that writes one row."""
        with self.open_text(name) as file:
            writer = csv.writer(file)
            writer.writerow(header)

            def write_row(row: Sequence[Any]) -> None:
                writer.writerow(map(escape, row))

            yield write_row
        self._written.append(name)

    def write_tables(self, name: str, tables: Mapping[tuple[str, str | None], pd.DataFrame]) -> None:
        """Write tables of several metrics as one CSV file with a first column `metric`.

        Args:
            name: The file's name.
            tables: The tables, each by a metric's name and its judges; if any are given, there is a column `by`.
        """
        import pandas as pd  # here, because plans check the folder and need no pandas

        columns = list(dict.fromkeys(c for table in tables.values() for c in table.columns))
        first = [c for c in ("model", "model_a", "model_b", "prompt", "cluster", "seed") if c in columns]
        last = [c for c in ("measure", "value") if c in columns]
        judged = ["by"] if any(by is not None for _, by in tables) else []
        order = ["metric", *judged, *first, *(c for c in columns if c not in (*first, *last)), *last]
        with self.open_text(name) as file:
            escape_table(pd.DataFrame(columns=order)).to_csv(file, index=False, lineterminator=_LINE_END)
            for (metric, by), table in tables.items():
                named = escape_table(table.assign(metric=metric, by=by).reindex(columns=order))
                named.to_csv(file, index=False, header=False, chunksize=20_000, lineterminator=_LINE_END)
        self._written.append(name)

    def write_json_lines(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Write one JSON object per line, completely or not at all. Without records, remove the file."""
        lines = (f"{json.dumps(record, ensure_ascii=False, allow_nan=False)}\n" for record in records)
        first = next(lines, None)
        if first is None:
            self.remove(name)
            return
        with self.open_text(name) as file:
            file.write(first)
            file.writelines(lines)
        self._written.append(name)

    @contextmanager
    def open_text(self, name: str) -> Iterator[TextIOBase]:
        """Open a text file of the folder for writing. It appears when the block ends without an error.

        Secrets are replaced.
        """
        try:
            with replace_text(self.path, name) as file:
                yield file
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self, name: str) -> None:
        """Remove a file that an earlier run of the same plan left here, if there is one."""
        try:
            with open_folder(self.path) as run:
                run.remove(name)
        except OSError as error:
            raise self._unwritable(error) from error

    def link_image(self, place: str, prompt_number: int, seed: int, image: Image) -> str:
        """Link a kept image into the folder, or copy it; return its path within the folder.

        Raises:
            FileNotFoundError: If the kept image no longer exists.
            BadFolder: If the folder cannot be written.
        """
        name = make_run_image_name(place, prompt_number, seed)
        target = os.path.join(self.path, name)  # noqa: PTH118 - a Path for each image costs as much as its link
        try:
            if place not in self._image_folders:
                make_parents(self.path, Path(target))
                self._image_folders.add(place)
            try:
                os.link(image.path, target)
            except FileExistsError:
                if not os.path.samefile(image.path, target):  # noqa: PTH121
                    os.unlink(target)  # noqa: PTH108
                    _link_or_copy(image.path, Path(target))
            except OSError:
                _copy_whole(image.path, Path(target))
        except OSError as error:
            if not image.path.exists():
                raise FileNotFoundError(errno.ENOENT, "gone", str(image.path)) from error
            raise self._unwritable(error) from error
        return name

    def drop_image(self, place: str, prompt_number: int, seed: int) -> None:
        """Remove the link to an image of an earlier run that no longer exists."""
        self.remove(make_run_image_name(place, prompt_number, seed))

    def _write(self, name: str, data: bytes) -> None:
        try:
            write_whole(self.path / name, data)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> BadFolder:
        return BadFolder(
            f"{self.path}: {error.strerror or error}; images and answers are kept in the cache; make this folder "
            "writable and give the same command again"
        )

    def _held(self) -> BadFolder:
        held = f"shard {self.shard[0]}/{self.shard[1]} of this run" if self.shard else "this run"
        return BadFolder(f"{self.path}: another process works on {held}; wait for it or name another --out")

    def _useless(self, error: OSError) -> BadFolder:
        return BadFolder(
            f"{self.path}: cannot be written ({error.strerror or error}); "
            "fix that or name another folder with --out"
        )


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        _copy_whole(source, target)


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a file completely or not at all."""
    with replace_file(target) as part:
        shutil.copyfile(source, part)
