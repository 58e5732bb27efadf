"""Published files with a URL: fetched whole into torch's folder of checkpoints, and held to their digest."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from t2i_core.api.errors import BadModel, NotHere
from t2i_core.api.text import describe_error
from t2i_core.files.atomic_write import replace_file, write_whole
from t2i_core.files.digest import digest_file

from .disk_space import is_disk_full
from .weights import check_file

_SECONDS = 60
"""Maximum time for which a server may be silent."""

_SECONDS_TO_REACH = 5
"""Maximum time in which a server must begin to answer."""

_RETRIES = 2
"""Maximum number of times that a broken download is continued without receiving anything new."""

_PAUSE = 1.0
"""Seconds before it is continued."""

_log = logging.getLogger(__name__)


def fetch_from_url(url: str, sha256: str | None, offline: bool, spec: str, folder: str = "") -> Path:
    """Return a published file, from torch's folder of checkpoints if it is there, or else from its URL.

    The file is written whole: another process sees all of it or nothing.

    Args:
        url: Where it is published.
        sha256: Beginning of its SHA-256 (hex). None if nobody has published it: the digest that the file has when
            it is first seen is then logged and written beside it (`FILE.sha256`), and later it must have that one.
        offline: Fetch nothing.
        spec: What the user would prefetch.
        folder: Folder within torch's folder of checkpoints.

    Raises:
        NotHere: If it is not on this machine, and may not be fetched or its server cannot be reached.
        BadModel: If it cannot be fetched whole, or is another file.
    """
    file = _locate(url, folder)
    if not file.is_file():
        if offline:
            raise NotHere(_describe(url, file), spec)
        _download(url, file, sha256, spec)
    if sha256:
        return check_file(file, sha256, spec)
    first = _read_first_digest(file, spec)
    if (found := digest_file(file)) != first:
        raise BadModel(
            f"{spec}: {file} has changed since it was first seen here: its SHA-256 is {found}, not {first}; "
            "remove it, or say by the option sha256 that it is the one"
        )
    return file


def find_files(pattern: str, folder: str = "") -> list[Path]:
    """Return the files in torch's folder of checkpoints, or in a folder within it, whose names fit a pattern."""
    return sorted((_find_hub_folder() / "checkpoints" / folder).glob(pattern))


def check_url(url: str, offline: bool, spec: str, folder: str = "") -> None:
    """Check that `fetch_from_url` would find a file on this machine or could download it.

    The check sends a HEAD request, and any answer is enough, because some servers answer HEAD with an error.

    Raises:
        NotHere: If the file is not here and its server cannot be reached, or may not be asked.
    """
    file = _locate(url, folder)
    if file.is_file():
        return
    if offline:
        raise NotHere(_describe(url, file), spec)
    try:
        with suppress(HTTPError), urlopen(Request(url, method="HEAD"), timeout=_SECONDS_TO_REACH):
            pass
    except (OSError, HTTPException) as error:  # no name, no route, no answer, no trust
        raise NotHere(_describe(url, file), spec, describe_error(error)) from error


def _locate(url: str, folder: str) -> Path:
    """Return where a published file is kept."""
    return _find_hub_folder() / "checkpoints" / folder / url.rpartition("/")[2]


def _find_hub_folder() -> Path:
    """Return torch's folder of downloads (`torch.hub.get_dir`), without importing torch, which takes seconds."""
    if (torch := sys.modules.get("torch")) is not None:  # a script may have set another one
        return Path(torch.hub.get_dir())
    caches = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return Path(os.getenv("TORCH_HOME", f"{caches}/torch")).expanduser() / "hub"


def _describe(url: str, file: Path) -> str:
    return f"{url}, to be put at {file}"


def _download(url: str, file: Path, sha256: str | None, spec: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as part:
            with part.open("wb") as out:
                _receive(url, out)
            if sha256 and not (found := digest_file(part)).startswith(sha256):
                raise BadModel(f"{spec}: {url} gives another file: its SHA-256 is {found}, not {sha256}")
    except (OSError, EOFError, HTTPException) as error:  # no network, no such page, a full disk
        if isinstance(error, URLError) and not isinstance(error, HTTPError):
            raise NotHere(_describe(url, file), spec, describe_error(error)) from error
        if is_disk_full(error):
            raise BadModel(f"{spec}: no space left for {url} in {file.parent}: free some and try again") from error
        raise BadModel(f"{spec}: {url} cannot be fetched ({describe_error(error)})") from error


def _receive(url: str, out: BinaryIO) -> None:
    """Write what a server sends to an empty file, and continue after a broken connection.

    Raises:
        EOFError: The connection broke repeatedly and nothing new arrived.
        OSError: The server cannot be reached or refuses, or the file cannot be written.
    """
    most = failures = 0
    while True:
        start, total, broken = out.tell(), None, False
        rest = Request(url, headers={"Range": f"bytes={start}-"})
        try:
            with urlopen(rest if start else url, timeout=_SECONDS) as answer:
                if start and answer.status != HTTPStatus.PARTIAL_CONTENT:  # it sends the file from its beginning
                    start = out.seek(0)
                    out.truncate()
                if (length := answer.headers.get("Content-Length")) is not None:
                    total = start + int(length)
                try:
                    shutil.copyfileobj(answer, out, 1 << 20)
                except (ConnectionError, TimeoutError, IncompleteRead):
                    broken = True
        except (URLError, ConnectionError, TimeoutError) as error:
            if not start or isinstance(error, HTTPError) or failures == _RETRIES:
                raise
            broken = True
        if not broken and total in (None, out.tell()):
            return
        failures = 0 if out.tell() > most else failures + 1
        most = max(most, out.tell())
        if failures > _RETRIES:
            raise EOFError(f"cut off after {out.tell()} of {total or 'unknown'} bytes")
        time.sleep(_PAUSE)


def _read_first_digest(file: Path, spec: str) -> str:
    """Return the digest that a file had when it was first seen here.

    Raises:
        BadModel: If its record cannot be read.
    """
    record = file.with_name(f"{file.name}.sha256")
    if not record.is_file():
        found = digest_file(file)
        write_whole(record, f"{found}\n".encode())
        _log.warning("%s: its SHA-256 is taken from now on to be %s (%s)", spec, found, record)
        return found
    written = record.read_bytes().strip().decode("ascii", "replace")
    if not re.fullmatch("[0-9a-f]{64}", written):
        raise BadModel(f"{spec}: {record} holds no SHA-256: remove it, and {file} too unless you trust it")
    return written
