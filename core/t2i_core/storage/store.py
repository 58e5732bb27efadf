"""The store of what is reused between runs: images by their content, observations by what they depend on.

Image files are named by the SHA-256 of their bytes. Everything else is in one database; each entry is kept in one
transaction. A damaged entry counts as not there and is made again. An image's SHA-256 is checked when the image is
opened, and when the size or the time of its file has changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..api.cache_folder import find_cache_folder
from ..api.errors import BadFolder
from ..api.image import Image, Truth
from ..api.redaction import redact_data
from ..files.atomic_write import write_whole
from ..files.digest import digest_file
from ..files.image_file import DamagedImage, ImageHeader
from ..files.real_folder import open_folder
from .cache_lock import lock_opening, mark_in_use
from .database import Database, explain_loss, explain_unusable
from .encoded_image import DECODED, EncodedImage

FORMAT = 3
"""Version of the stored forms; it is part of every key, so that another version's are never misread."""

DATABASE = "store-6.sqlite"
"""The database's file. A version of t2i whose rows have another form uses another name."""

_DIGEST_BYTES = 32

_encode_json = json.JSONEncoder(allow_nan=False).encode

# Observations take kilobytes: a table without rowid would hold few on a page, and reading would take three times
# as long. `at` is when one was kept, in nanoseconds: the cache is cleaned by it. An image that is kept takes the
# place of the reason for its absence, in the same statement.
_SCHEMA = """
create table if not exists images (
    key blob primary key, value blob not null, path text, bytes integer not null, changed integer not null,
    truth integer not null, digest blob not null
) without rowid;
create index if not exists images_by_digest on images (digest);
create table if not exists failures (key blob primary key, value blob not null) without rowid;
create table if not exists truths (key blob primary key, value blob not null) without rowid;
create table if not exists observations (key blob primary key, value blob not null, at integer not null);
create table if not exists settings (key blob primary key, value blob not null) without rowid;
create table if not exists rates (key blob primary key, value blob not null) without rowid;
create trigger if not exists image_made after insert on images
begin delete from failures where key = new.key; end;
"""


class _Kept(NamedTuple):
    """A row of `images`. Its column `digest` repeats the one in `value`, to find rows by it.

    Attributes:
        value: The SHA-256 of the file, then width, height and the record of how the image was made, as JSON.
        path: Where the file is, if it is not the store's own.
        size: Size of the file in bytes.
        changed: When the file was last changed, in nanoseconds.
        truth: 1 if the image's truth is kept too, else 0.
    """

    value: bytes
    path: str | None
    size: int
    changed: int
    truth: int

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the file."""
        return self.value[:_DIGEST_BYTES]

    @property
    def details(self) -> tuple[int, int, dict[str, Any]]:
        """Width, height and record."""
        width, height, record = json.loads(self.value[_DIGEST_BYTES:])
        return width, height, record

    @property
    def header(self) -> ImageHeader | None:
        """The header of a file that is not the store's own, if decoding it does more than reading the pixels."""
        if self.path is None:
            return None
        width, height, record = self.details
        found = record.get(DECODED)
        return ImageHeader(found["format"], (width, height), tuple(found["conversions"])) if found else None


class KeptImage(NamedTuple):
    """Record of an image in the cache.

    Attributes:
        digest: The SHA-256 (hex) of its file.
        path: Where the file is.
        size: Width and height in pixels.
        record: How it was made.
        header: The header of a file that is not the store's own, if decoding it does more than reading the pixels.
    """

    digest: str
    path: str
    size: tuple[int, int]
    record: dict[str, Any]
    header: ImageHeader | None

    @property
    def image(self) -> Image:
        """The image."""
        return Image(self.digest, Path(self.path), header=self.header)


IMAGES = "images"
"""The folder of image files within the cache."""

IMAGE_FOLDER = re.compile(r"[0-9a-f]{2}")
"""The name of a folder in there: how the digests of its images begin."""

_IMAGE = re.compile(r"(?P<start>[0-9a-f]{2})/(?P<digest>(?P=start)[0-9a-f]{62})\.png")


def make_image_name(digest: str) -> str:
    """Return the path of an image's file within the folder of images."""
    return f"{digest[:2]}/{digest}.png"


def parse_image_name(name: str) -> str | None:
    """Return the digest of the image with this path within the folder of images; None for other paths."""
    found = _IMAGE.fullmatch(name)
    return found["digest"] if found else None


class Store:
    """Images and observations, each under the hash (hex) of everything that it depends on.

    Args:
        folder: The cache folder. If None, the user's.
        fresh: Whether everything that was kept before counts as not there, and is replaced.
        read_only: Whether nothing is written. A folder that does not exist then counts as empty; the cache may be
            cleaned meanwhile.
    """

    def __init__(self, folder: Path | None = None, fresh: bool = False, read_only: bool = False) -> None:
        self.folder = (folder or find_cache_folder()).absolute()
        self._images = str(self.folder / IMAGES)
        self._image_folders = set[str]()  # those that are there
        self._writing = [Lock() for _ in range(256)]  # one for each of these folders
        self._made: set[str] | None = set() if fresh else None
        self._read_only = read_only
        with contextlib.ExitStack() as held:
            try:
                if not read_only:
                    (self.folder / IMAGES).mkdir(parents=True, exist_ok=True)
                    held.enter_context(mark_in_use(self.folder))
                # SQLite does not wait for another process that turns a new database to WAL at the same moment
                with contextlib.nullcontext() if read_only else lock_opening(self.folder):
                    rows = Database(self.folder / DATABASE, _SCHEMA, read_only)
                    self._rows = held.enter_context(contextlib.closing(rows))
            except FileNotFoundError as error:
                raise BadFolder(
                    f"cache folder {self.folder}: cannot be created; name another one in T2I_CACHE_DIR"
                ) from error
            except OSError as error:
                raise explain_unusable(self.folder, error) from error
            self._held = held.pop_all()

    def close(self) -> None:
        """Close the database, and let the cache be cleaned."""
        self._held.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def image(self, key: str) -> Image | None:
        """Return the image kept under a key. See `images`."""
        return self.images([key])[0]

    def images(self, keys: Sequence[str], look: bool = True) -> list[Image | None]:
        """Return the image kept under each key; None if it is missing.

        Args:
            keys: The keys.
            look: Whether an image counts only if its file is whole, as far as its size and time tell. If the time
                has changed, the file is read and compared.
        """
        return [kept and self._image(kept) for kept in self._find(keys, look)]

    def has_images(self, keys: Sequence[str]) -> list[bool]:
        """Return for each key whether `images` finds an image."""
        return [kept is not None for kept in self._find(keys)]

    def identities(self, keys: Sequence[str]) -> list[str | None]:
        """Return the `Image.identity` of the image kept under each key; None if it is missing.

        Files are not looked at. It takes half as long as `images`.
        """
        found = self._read(self._wanted(keys))
        return [
            kept and (kept.digest.hex() if kept.path is None else self._image(kept).identity) for kept in found
        ]

    def details(self, keys: Sequence[str], look: bool = True) -> list[KeptImage | None]:
        """Return the image kept under each key with its size and record; None if `images` finds none."""
        return [kept and self._with_details(kept) for kept in self._find(keys, look)]

    def outside_image(self, path: str, digest: str) -> Image | None:
        """Return an image outside of the store that was evaluated where it is.

        Args:
            path: Its absolute path, as the evaluation recorded it.
            digest: The SHA-256 (hex) of its file.

        Returns:
            The image, or None if no evaluation with this cache has used this file with this content.
        """
        wanted = bytes.fromhex(digest)
        for (key,) in self._rows.execute("select key from images where digest = ? and path = ?", wanted, path):
            (kept,) = self._read([key])
            if kept is not None and (kept.digest, kept.path) == (wanted, path):  # not if the index is damaged
                return self._image(kept)
        return None

    def _find(self, keys: Sequence[str], look: bool = True) -> list[_Kept | None]:
        """Return the row of each key's image. See `images`."""
        wanted = self._wanted(keys)
        found = self._read(wanted)
        if not look:
            return found
        with_truth = [kept.digest for kept in found if kept and kept.truth]
        truths = zip(with_truth, self._rows.get_many("truths", with_truth), strict=True)
        without_truth = {digest for digest, truth in truths if truth is None}
        return [
            kept if kept and kept.digest not in without_truth and self._is_whole(key, kept) else None
            for key, kept in zip(wanted, found, strict=True)
        ]

    def _read(self, keys: Sequence[bytes]) -> list[_Kept | None]:
        rows = self._rows.get_many("images", keys, "path", "bytes", "changed", "truth")
        # no CRC covers the path
        return [_Kept(*row) if row and (row[1] is None or type(row[1]) is str) else None for row in rows]

    def _is_whole(self, key: bytes, kept: _Kept) -> bool:
        """Return whether an image's file is there and has not changed."""
        digest = kept.digest.hex()
        name = kept.path or self._name(digest)
        try:
            stat = os.stat(name)  # noqa: PTH116 - a Path costs as much again, and every sample is looked up often
            same = stat.st_mtime_ns == kept.changed
            whole = stat.st_size == kept.size and (same or digest_file(Path(name)) == digest)
        except (OSError, ValueError):  # a damaged path need not be one
            return False
        if whole and not same and not self._read_only:  # a copy, for example: next time it need not be read
            self._rows.execute("update images set changed = ? where key = ?", stat.st_mtime_ns, key)
        return whole

    def _image(self, kept: _Kept) -> Image:
        digest = kept.digest.hex()
        return Image(digest, Path(kept.path or self._name(digest)), header=kept.header)

    def _with_details(self, kept: _Kept) -> KeptImage:
        digest = kept.digest.hex()
        width, height, record = kept.details
        return KeptImage(digest, kept.path or self._name(digest), (width, height), record, kept.header)

    def failures(self, keys: Sequence[str]) -> list[str | None]:
        """Return for each key why its image can never be made, if that is known."""
        rows = self._rows.get_many("failures", self._wanted(keys))
        return [None if row is None else row[0].decode() for row in rows]

    def put_failure(self, key: str, reason: str) -> None:
        """Keep why an image can never be made, unless another process has made it meanwhile."""
        with self._rows.together():
            if self.has_images([key])[0]:
                return
            self._rows.put("failures", bytes.fromhex(key), reason.encode("utf-8", "backslashreplace"))
        self._note(key)

    def put_image(self, key: str, encoded: EncodedImage) -> Image:
        """Keep an image; several threads may do so at a time.

        If another process has kept one under this key meanwhile, that one stays, because it may have been used.

        Args:
            key: The key.
            encoded: The image.

        Returns:
            The image that is kept.

        Raises:
            TypeError: If the record is not plain data.
            ValueError: If the record is not plain data.
            BadFolder: If the file cannot be written, or is missing though the image says that it is written.
        """
        file = Path(encoded.path or self._name(encoded.digest))
        details = _encode_json([*encoded.size, encoded.record])
        try:
            stat = file.stat() if encoded.data is None else self._write(file, encoded.data, encoded.digest)
        except OSError as error:
            raise explain_unusable(self.folder, error) from error
        own, named, drawn = bytes.fromhex(key), bytes.fromhex(encoded.digest), encoded.truth
        kept = _Kept(
            named + details.encode(), encoded.path, stat.st_size, stat.st_mtime_ns, int(drawn is not None)
        )
        is_new = drawn is None and self._made is None
        if not (is_new and self._rows.add("images", own, *kept, named)):
            with self._rows.together():
                if encoded.path is None and (before := self._find([key])[0]) is not None:
                    return self._image(before)
                if drawn is not None:
                    self._rows.put("truths", named, drawn)
                self._rows.put("images", own, *kept, named)
        self._note(key)
        return Image(encoded.digest, file, header=kept.header)

    def truth(self, digest: str) -> Truth | None:
        """Return what is really drawn in an image, if that was kept. Raises DamagedImage if it is damaged."""
        key = bytes.fromhex(digest)
        row = self._rows.get("truths", key)
        if row is not None:
            return Truth.from_bytes(row[0])
        if self._rows.execute("select 1 from truths where key = ?", key):
            raise DamagedImage(f"the kept truth of image {digest[:12]} was altered")
        return None

    def holds(self, image: Image) -> bool:
        """Return True if the image's file belongs to the store."""
        return str(image.path) == self._name(image.digest)

    def forget_image(self, digest: str) -> None:
        """Drop a damaged image of the store's own, so that it is made again."""
        try:
            with contextlib.suppress(FileNotFoundError), open_folder(self.folder) as cache:
                cache.remove(f"{IMAGES}/{make_image_name(digest)}")
        except OSError as error:
            raise explain_unusable(self.folder, error) from error
        self._rows.execute("delete from images where digest = ? and path is null", bytes.fromhex(digest))

    def has(self, key: str) -> bool:
        """Return whether an observation is kept under a key."""
        return self.get(key) is not None

    def get(self, key: str) -> bytes | None:
        """Return the stored form of the observation kept under a key. See `get_many`."""
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the stored form of the observation under each key; None if it is missing or damaged."""
        rows = self._rows.get_many("observations", self._wanted(keys))
        return [None if row is None else row[0] for row in rows]

    def put(self, key: str, value: bytes) -> bytes:
        """Keep an observation's stored form, and return what is kept.

        If another process has kept one under this key meanwhile, that one stays, because it may have been used.
        """
        row = (bytes.fromhex(key), value, time.time_ns())
        if self._made is not None or not self._rows.add("observations", *row):
            with self._rows.together():
                if (before := self.get(key)) is not None:
                    return before
                self._rows.put("observations", *row)
        self._note(key)
        return value

    def settings(self, fingerprint: str) -> dict[str, Any] | None:
        """Return the settings that a model or judge reported when it last worked; None if they are not known."""
        row = self._rows.get("settings", fingerprint.encode())
        return dict(json.loads(row[0])) if row else None

    def put_settings(self, fingerprint: str, settings: Mapping[str, Any]) -> None:
        """Keep the settings that a model or judge reports, for runs that reuse its work.

        Raises:
            TypeError: If they are not plain data.
            ValueError: If they are not plain data.
        """
        text = _encode_json(redact_data(dict(settings)))
        self._rows.put("settings", fingerprint.encode(), text.encode())

    def rate(self, name: str) -> float | None:
        """Return how many seconds of one worker an item of this work took the last time; None if not known."""
        row = self._rows.get("rates", name.encode())
        return None if row is None else float(row[0])

    def put_rate(self, name: str, seconds: float) -> None:
        """Keep how many seconds of one worker an item of this work takes."""
        self._rows.put("rates", name.encode(), repr(float(seconds)).encode())

    def gone(self, what: str) -> BadFolder:
        """Return the error of something that this run kept or found and that is not there any more."""
        return self._rows.damage() or explain_loss(self.folder, what)

    def _name(self, digest: str) -> str:
        return f"{self._images}/{make_image_name(digest)}"

    def _write(self, file: Path, data: bytes, digest: str) -> os.stat_result:
        """Write an image's file, whole or not at all, unless it is there already; return its status."""
        with self._writing[int(digest[:2], 16)]:  # two threads may have drawn the same image
            if os.path.exists(file) and digest_file(file) == digest:  # noqa: PTH110 - see `_is_whole`
                return file.stat()
            if digest[:2] not in self._image_folders:
                file.parent.mkdir(exist_ok=True)
                self._image_folders.add(digest[:2])
            return write_whole(file, data)

    def _wanted(self, keys: Sequence[str]) -> list[bytes]:
        """Return the keys as rows have them; instead of one that may not be used, one that no row has."""
        if self._made is None:
            return list(map(bytes.fromhex, keys))
        return [bytes.fromhex(key) if key in self._made else b"" for key in keys]

    def _note(self, key: str) -> None:
        if self._made is not None:
            self._made.add(key)
