"""What is kept across runs: images by content, observations by what made them.

Image files stand under the SHA-256 of their bytes; everything else is in one database, each entry its own
transaction. What is found is what was put, and what is not found is made again. An image's digest is checked
whenever it is opened, and whenever its file has another size or time than it had.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..api.cache_folder import find_cache_folder
from ..api.errors import BadFolder
from ..api.image import Image, Truth, encode_png, get_size, load_image
from ..api.redaction import redact_data
from ..files.atomic_write import write_whole
from ..files.decoding_rules import DEFAULT_RULES, DecodingRules
from ..files.digest import digest_file
from ..files.image_file import DamagedImage, ImageHeader
from ..files.real_folder import open_folder
from .cache_lock import lock_opening, mark_in_use
from .database import Database, explain_loss, explain_unusable, seal

FORMAT = 3
"""Version of the stored forms; it is part of every key, so that another version's are never misread."""

DATABASE = "store-5.sqlite"
"""The database's file: a version of t2i whose rows are of another form keeps its own beside it."""

# `digest_crc` seals key and digest alone, for who reads no more of an image.
# Observations are kilobytes each: a table without rowid would hold few to a page, and take three times as long to
# read.
_SCHEMA = """
create table if not exists images (
    key blob primary key, digest blob not null, digest_crc integer not null, bytes integer not null,
    changed integer not null, path text, width integer not null, height integer not null, truth integer not null,
    record text not null, crc integer not null
) without rowid;
create table if not exists failures (
    key blob primary key, reason text not null, crc integer not null
) without rowid;
create index if not exists images_by_digest on images (digest);
create table if not exists truths (key blob primary key, value blob not null, crc integer not null) without rowid;
create table if not exists observations (
    key blob primary key, value blob not null, crc integer not null
);
create table if not exists settings (
    key text primary key, value text not null, crc integer not null
) without rowid;
create table if not exists rates (
    key text primary key, seconds real not null, crc integer not null
) without rowid;
create table if not exists openings (key integer primary key, at real not null);
"""
# `openings`: all observations up to this rowid were there at this time. It tells cleaning how old they are, and
# costs nothing when one is kept.


class _Kept(NamedTuple):
    """What a row of `images` says beside its key: of the file its digest, size and time of change (ns), and its
    path where it is not the store's own; whether its truth is kept; what was recorded of its making (JSON).
    """

    digest: bytes
    digest_crc: int
    size: int
    changed: int
    path: str | None
    width: int
    height: int
    truth: int
    record: str

    @property
    def header(self) -> ImageHeader | None:
        """What the header of a file outside of the store says, if decoding it takes more than the usual."""
        found = json.loads(self.record).get(DECODED) if self.path is not None else None
        if found is None:
            return None
        return ImageHeader(found["format"], (self.width, self.height), tuple(found["conversions"]))


class KeptImage(NamedTuple):
    """An image with its width and height in pixels, and what was recorded of its making."""

    image: Image
    size: tuple[int, int]
    record: dict[str, Any]


DECODED = "decoded"
"""The field of an image's record with the format of its file and what decoding does beside reading the pixels."""

_NOT_BY_DIGEST = -1
"""The checksum of an image whose observations are not kept under its digest alone: no seal is negative, so that
`digests` does not find it."""


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
    """Images and observations, each under the hash (hex) of all that made it.

    fresh: take nothing that was there before; what is put replaces it
    """

    def __init__(self, folder: Path | None = None, fresh: bool = False) -> None:
        self.folder = (folder or find_cache_folder()).absolute()
        self._images = str(self.folder / IMAGES)
        self._made: set[str] | None = set() if fresh else None
        with contextlib.ExitStack() as held:
            try:
                (self.folder / IMAGES).mkdir(parents=True, exist_ok=True)
                held.enter_context(mark_in_use(self.folder))
                # SQLite does not wait for another process that turns a new database to WAL at the same moment
                with lock_opening(self.folder):
                    rows = Database(self.folder / DATABASE, _SCHEMA)
                    self._rows = held.enter_context(contextlib.closing(rows))
                    with contextlib.suppress(BadFolder):  # what is wrong is said where something is kept
                        self._rows.execute(
                            "insert or ignore into openings select coalesce(max(rowid), 0), ? from observations",
                            time.time(),
                        )
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
        """Return the image kept under each of some keys; None where there is none.

        Args:
            keys: The keys.
            look: Whether an image counts only if its file is there in its full size, and unaltered as far as can
                be told without opening it: one that was written since is read and compared.
        """
        rows = self._rows.get_rows("images", self._wanted(keys))
        kept = [None if row is None else _Kept(*row) for row in rows]
        return [
            self._image(one) if one is not None and (not look or self._stands(key, one)) else None
            for key, one in zip(keys, kept, strict=True)
        ]

    def outside_image(self, path: str, digest: str) -> Image | None:
        """Return an image that was evaluated where it lies, outside of the store.

        Args:
            path: Its absolute path, as the evaluation recorded it.
            digest: The SHA-256 (hex) of its file.

        Returns:
            The image, or None if no evaluation with this cache has used this file with this content.
        """
        row = self._rows.one("select key from images where digest = ? and path = ?", bytes.fromhex(digest), path)
        kept = None if row is None else self._kept(row[0].hex())
        if kept is None or kept.path != path or kept.digest.hex() != digest:  # a damaged index leads elsewhere
            return None
        return self._image(kept)

    def _image(self, kept: _Kept) -> Image:
        digest = kept.digest.hex()
        return Image(digest, Path(kept.path or self._name(digest)), header=kept.header)

    def digests(self, keys: Sequence[str]) -> list[str | None]:
        """Return the digest of the image kept under each of many keys, in a fraction of `image`'s time.

        Its file is not looked at: what was said of an image is found by the digest alone. Images for which that
        does not hold (`Image.identity`) are None too, and found by `image`.
        """
        found = self._rows.get_many("images", self._wanted(keys), "digest", "digest_crc")
        return [None if digest is None else digest.hex() for digest in found]

    def _kept(self, key: str) -> _Kept | None:
        row = self._rows.get("images", bytes.fromhex(key))
        return None if row is None else _Kept(*row)

    def _stands(self, key: str, kept: _Kept) -> bool:
        """Whether what a row of `images` says is there, unaltered."""
        digest = kept.digest.hex()
        name = kept.path or self._name(digest)
        try:
            stat = os.stat(name)  # noqa: PTH116 - a Path costs as much again, and every sample is looked up often
            same = stat.st_mtime_ns == kept.changed
            whole = stat.st_size == kept.size and (same or digest_file(Path(name)) == digest)
        except OSError:
            return False
        if whole and not same:  # a copy, say: it need not be read again the next time
            self._rows.put("images", bytes.fromhex(key), *kept._replace(changed=stat.st_mtime_ns))
        return whole and not (
            kept.truth and self._rows.one("select 1 from truths where key = ?", kept.digest) is None
        )

    def details(self, keys: Sequence[str]) -> list[KeptImage | None]:
        """Return what is known of the image kept under each of some keys, its file looked at as `images` does."""
        rows = self._rows.get_rows("images", self._wanted(keys))
        kept = [None if row is None else _Kept(*row) for row in rows]
        return [
            KeptImage(self._image(one), (one.width, one.height), dict(json.loads(one.record)))
            if one is not None and self._stands(key, one)
            else None
            for key, one in zip(keys, kept, strict=True)
        ]

    def failures(self, keys: Sequence[str]) -> list[str | None]:
        """Return for each of some keys why its image can never be made, where that is known."""
        rows = self._rows.get_rows("failures", self._wanted(keys))
        return [None if row is None else row[0] for row in rows]

    def put_failure(self, key: str, reason: str) -> None:
        """Keep why an image can never be made, unless another process has made it meanwhile."""
        said = reason.encode("utf-8", "backslashreplace").decode()
        with self._rows.together():
            if self.image(key) is not None:
                return
            self._rows.put("failures", bytes.fromhex(key), said)
        self._note(key)

    def put_image(
        self,
        key: str,
        image: Any,
        record: Mapping[str, Any] | None = None,
        truth: Truth | None = None,
        rules: DecodingRules = DEFAULT_RULES,
    ) -> Image:
        """Keep an image: uint8 (height, width, 3), a PIL image, or the path of a file that stays where it is.

        Where another process has kept one under this key meanwhile, that one stays: what was read stays true.
        `rules` say which files outside of the store are decoded. Raises TypeError or ValueError for a record that
        is not plain data or has the field `decoded`.
        """
        said = redact_data(dict(record or {}))
        if DECODED in said:
            raise ValueError(f"the record's field {DECODED!r} is written by t2i itself; use another name")
        text = json.dumps(said, allow_nan=False)
        if not isinstance(image, Path) and (before := self.image(key)) is not None:
            return before
        outside: str | None = None
        found: Image | None = None
        if isinstance(image, Path):
            found = load_image(image.absolute(), rules)
            digest, outside = found.digest, str(found.path)
            width, height = found.header.size if found.header else (0, 0)
            text = json.dumps(said | _decoded(found.header), allow_nan=False)
        else:
            data, (width, height) = encode_png(image), get_size(image)
            digest = hashlib.sha256(data).hexdigest()
            stat = self._write(self._file(digest), data, digest)
        value = None if truth is None else truth.to_bytes()
        own, named = bytes.fromhex(key), bytes.fromhex(digest)
        with self._rows.together():
            if outside is None and (before := self.image(key)) is not None:
                return before
            if found is not None:
                try:
                    stat = found.path.stat()
                except OSError as error:
                    raise explain_unusable(self.folder, error) from error
            if value is not None:
                self._rows.put("truths", named, value)
            by_digest = found is None or found.identity == digest
            crc = seal("images", (own, named)) if by_digest else _NOT_BY_DIGEST
            changed, has_truth = stat.st_mtime_ns, int(value is not None)
            kept = _Kept(named, crc, stat.st_size, changed, outside, width, height, has_truth, text)
            self._rows.put("images", own, *kept)
            self._rows.execute("delete from failures where key = ?", own)
        self._note(key)
        return self._image(kept)

    def truth(self, digest: str) -> Truth | None:
        """Return what is really drawn in an image, where that was kept. Raises DamagedImage if it was altered."""
        key = bytes.fromhex(digest)
        if self._rows.one("select 1 from truths where key = ?", key) is None:
            return None
        row = self._rows.get("truths", key)
        if row is None:
            raise DamagedImage(f"the kept truth of image {digest[:12]} was altered")
        return Truth.from_bytes(row[0])

    def holds(self, image: Image) -> bool:
        """Whether the image's file is the store's own."""
        return image.path == self._file(image.digest)

    def forget_image(self, digest: str) -> None:
        """Drop a damaged image of the store's own, so that it is made again."""
        try:
            with contextlib.suppress(FileNotFoundError), open_folder(self.folder) as cache:
                cache.remove(f"{IMAGES}/{make_image_name(digest)}")
        except OSError as error:
            raise explain_unusable(self.folder, error) from error
        self._rows.execute("delete from images where digest = ? and path is null", bytes.fromhex(digest))

    def has(self, key: str) -> bool:
        """Whether an observation is kept, unaltered, under a key."""
        return self.get(key) is not None

    def get(self, key: str) -> bytes | None:
        """Return what is kept under a key; None where there is nothing, or where it was altered."""
        row = self._rows.get("observations", bytes.fromhex(key)) if self._usable(key) else None
        if row is None:
            return None
        value: bytes = row[0]
        return value

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return what `get` would for each of many keys, in a fraction of its time."""
        return self._rows.get_many("observations", self._wanted(keys), "value")

    def put(self, key: str, value: bytes) -> bytes:
        """Keep an observation's stored form, and return what is kept.

        Where another process has kept one under this key meanwhile, that one stays: what was read stays true.
        """
        with self._rows.together():
            if (before := self.get(key)) is not None:
                return before
            self._rows.put("observations", bytes.fromhex(key), value)
        self._note(key)
        return value

    def settings(self, fingerprint: str) -> dict[str, Any] | None:
        """Return what a model or judge said of its settings when it last worked; None where that is not known."""
        row = self._rows.get("settings", fingerprint)
        return dict(json.loads(row[0])) if row else None

    def put_settings(self, fingerprint: str, settings: Mapping[str, Any]) -> None:
        """Keep what a model or judge says of its settings, for runs that take its work from here.

        Raises TypeError or ValueError where they are no plain data.
        """
        self._rows.put("settings", fingerprint, json.dumps(redact_data(dict(settings)), allow_nan=False))

    def rate(self, name: str) -> float | None:
        """Return the seconds that one item of this work took when it was last done."""
        row = self._rows.get("rates", name)
        return None if row is None else float(row[0])

    def put_rate(self, name: str, seconds: float) -> None:
        """Remember how long one item of this work takes."""
        self._rows.put("rates", name, float(seconds))

    def gone(self, what: str) -> BadFolder:
        """Return what to say where something that was kept, or found, in this run cannot be found any more."""
        return self._rows.damage() or explain_loss(self.folder, what)

    def _name(self, digest: str) -> str:
        return f"{self._images}/{make_image_name(digest)}"

    def _file(self, digest: str) -> Path:
        return Path(self._name(digest))

    def _write(self, path: Path, data: bytes, digest: str) -> os.stat_result:
        """Write a file, unless it is there already, so that it is there whole or not at all; return its status."""
        try:
            if path.exists() and digest_file(path) == digest:
                return path.stat()
            path.parent.mkdir(exist_ok=True)
            return write_whole(path, data)
        except OSError as error:
            raise explain_unusable(self.folder, error) from error

    def _usable(self, key: str) -> bool:
        return self._made is None or key in self._made

    def _wanted(self, keys: Sequence[str]) -> list[bytes]:
        """Keys as they stand in rows; one that none has for what may not be taken."""
        if self._made is None:
            return list(map(bytes.fromhex, keys))
        return [bytes.fromhex(key) if key in self._made else b"" for key in keys]

    def _note(self, key: str) -> None:
        if self._made is not None:
            self._made.add(key)


def _decoded(header: ImageHeader | None) -> dict[str, Any]:
    """Return the field of a record for a file whose decoding takes more than the usual, else nothing."""
    if header is None:
        return {}
    width, height = header.size
    usual = header.format in DEFAULT_RULES.formats and width * height <= DEFAULT_RULES.megapixels * 1e6
    if usual and not header.conversions:
        return {}
    return {DECODED: {"format": header.format, "conversions": list(header.conversions)}}
