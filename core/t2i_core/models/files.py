"""Files of weights: fetched only where they may be and are not there, and what they claim to be."""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from ..api.errors import BadModel, BadOption, NotHere
from ..api.text import describe_error
from ..files.atomic_write import replace_file, write_whole
from ..files.digest import digest_file
from .weights import SAFE, damage

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ON_EVERY_HUB = ("README.md", ".gitattributes")
"""Small files, of which a repository on the hub has one at least."""
_SECONDS = 60
"""So long a server may be silent."""

_SECONDS_TO_REACH = 5
"""So long the hub, or any server, may take to answer at all."""

_RETRIES = 2
"""How often a broken download is continued without receiving anything new."""

_PAUSE = 1.0
"""Seconds before it is continued."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system answers where a file cannot grow: a full disk, a quota, a limit on file sizes."""

_log = logging.getLogger(__name__)


def from_url(url: str, sha256: str | None, offline: bool, spec: str, folder: str = "") -> Path:
    """Return a published file, from torch's folder of checkpoints or else from its address.

    sha256: how its digest begins. None where nobody has published it: the digest that the file has when it is
            first seen is then written beside it (`FILE.sha256`) and said, and from then on it must have that one
    spec:   what the user would prefetch
    folder: within torch's folder of checkpoints

    It is written whole: another process sees all of it or nothing. Raises BadModel where it cannot be had, is cut
    off, or is another file.
    """
    file = _place_of(url, folder)
    if not file.is_file():
        if offline:
            raise NotHere(_wanted(url, file), spec)
        _download(url, file, sha256, spec)
    if sha256:
        return check(file, sha256, spec)
    first = _first_seen(file, spec)
    if (found := digest_file(file)) != first:
        raise BadModel(
            f"{spec}: {file} has changed since it was first seen here: its SHA-256 is {found}, not {first}; "
            "remove it, or say by the option sha256 that it is the one"
        )
    return file


def check_url(url: str, offline: bool, spec: str, folder: str = "") -> None:
    """Raise NotHere where `from_url` would find no file here and could fetch none, before anything else is done.

    The server is asked for the file's head alone, and any answer will do: some describe no file that they give.
    """
    file = _place_of(url, folder)
    if file.is_file():
        return
    if offline:
        raise NotHere(_wanted(url, file), spec)
    try:
        with suppress(HTTPError), urlopen(Request(url, method="HEAD"), timeout=_SECONDS_TO_REACH):
            pass
    except (OSError, HTTPException) as error:  # no name, no route, no answer, no trust
        raise NotHere(_wanted(url, file), spec, describe_error(error)) from error


def _place_of(url: str, folder: str) -> Path:
    """Where a published file is kept: in torch's folder of checkpoints."""
    import torch

    return Path(torch.hub.get_dir()) / "checkpoints" / folder / url.rpartition("/")[2]


def _wanted(url: str, file: Path) -> str:
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
            raise NotHere(_wanted(url, file), spec, describe_error(error)) from error
        if _is_full(error):
            raise BadModel(f"{spec}: no space left for {url} in {file.parent}: free some and try again") from error
        raise BadModel(f"{spec}: {url} cannot be fetched ({describe_error(error)})") from error


def _receive(url: str, out: BinaryIO) -> None:
    """Write what a server sends to an empty file, and continue where a connection breaks.

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


def _first_seen(file: Path, spec: str) -> str:
    """Return the digest that a file had when it was first seen here. Raises BadModel where that cannot be read."""
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


def from_hub(repository: str, files: tuple[str, ...], revision: str | None, offline: bool, spec: str) -> Path:
    """Return the first of these files that a repository on the Hugging Face hub has.

    One that is on this machine is taken without asking the hub. spec: what the user would prefetch. Raises
    BadModel where none can be had.
    """
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError, LocalEntryNotFoundError

    for file in files:
        try:
            return Path(hf_hub_download(repository, file, revision=revision, local_files_only=True))
        except LocalEntryNotFoundError:
            continue
        except HFValidationError as error:
            raise BadModel(f"{spec}: {repository!r} is no name of a repository on the hub ({error})") from error
    what = f"{files[0]} of {repository}{f' at {revision}' if revision else ''} on the Hugging Face hub"
    if offline or constants.HF_HUB_OFFLINE:
        raise NotHere(what, spec)
    if why := unreachable():
        raise NotHere(what, spec, why)
    for file in files:
        try:
            return Path(hf_hub_download(repository, file, revision=revision))
        except LocalEntryNotFoundError as error:
            if server_answered(error):
                raise hub_error(f"{spec}: {what}", repository, error) from error
            raise NotHere(what, spec, describe_error(error)) from error
        except EntryNotFoundError:
            continue
        except Exception as error:  # the client raises many kinds: no such repository or revision, a full disk
            raise hub_error(f"{spec}: {what}", repository, error) from error
    safe = any(file.endswith(".safetensors") for file in files)
    pickles = "; a pickle is taken only with its digest (option sha256)" if safe else ""
    raise BadModel(f"{spec}: {repository} has no {' or '.join(files)}{pickles}")


def unreachable() -> str | None:
    """Say why the hub cannot be reached, None where it can be, so that nobody waits for its client's retries.

    Ask before anything is fetched. The client's own lines (of each retry) are kept from the user's terminal.
    """
    from huggingface_hub import constants, get_session

    if not (os.environ.get("HF_HUB_VERBOSITY") or constants.HF_DEBUG):
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        get_session().head(constants.ENDPOINT, timeout=_SECONDS_TO_REACH, follow_redirects=False)
    except Exception as error:  # of its client's many kinds: no name, no route, no answer, no trust
        return describe_error(error)
    return None


def server_answered(error: BaseException) -> bool:
    """Return whether the hub's client gave up although a server answered: with an error, or not as a hub does."""
    from huggingface_hub.errors import FileMetadataError, HfHubHTTPError

    return isinstance(error.__cause__, FileMetadataError | HfHubHTTPError)


def hub_error(what: str, repository: str, error: BaseException) -> BadModel:
    """Return the error that says in one line why files of a repository cannot be fetched, and what to do.

    Args:
        what: Beginning of the line: the files, and the repository.
        repository: ORG/NAME.
        error: What the hub's client raised.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        FileMetadataError,
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    page = f"{constants.ENDPOINT}/{repository}"
    if isinstance(error, GatedRepoError):
        if error.response.status_code == HTTPStatus.FORBIDDEN:
            return BadModel(
                f"{what}: is gated, and the account of your token has no access: accept the terms at {page} with "
                "this account, or log in with another (`hf auth login`, or HF_TOKEN)"
            )
        return BadModel(
            f"{what}: is gated: accept the terms at {page}, then log in (`hf auth login`, or set HF_TOKEN)"
        )
    if isinstance(error, RepositoryNotFoundError):
        return BadModel(
            f"{what}: there is no such repository at {page}: it was withdrawn or renamed, or it is private, and "
            "then you must log in (`hf auth login`, or set HF_TOKEN)"
        )
    if isinstance(error, RevisionNotFoundError):
        return BadModel(f"{what}: the repository has no such revision; {page}/commits/main lists those it has")
    if _is_full(error):
        return BadModel(
            f"{what}: no space left in {constants.HF_HUB_CACHE}: free some, or set HF_HOME to a folder on another "
            "disk, and try again; files that are complete are kept"
        )
    cause = error.__cause__ if server_answered(error) else error
    if isinstance(cause, FileMetadataError):
        return BadModel(
            f"{what}: {constants.ENDPOINT} does not answer as a hub does: check HF_ENDPOINT and the proxy"
        )
    if isinstance(cause, HfHubHTTPError) and cause.response.status_code == HTTPStatus.UNAUTHORIZED:
        return BadModel(
            f"{what}: {constants.ENDPOINT} refuses your token: correct HF_TOKEN or run `hf auth login`"
        )
    return BadModel(
        f"{what}: cannot be fetched from {constants.ENDPOINT} ({describe_error(cause or error)}); try again: "
        "files that are complete are kept; with --offline, files on this machine are used"
    )


def _is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _FULL


def commit_of(repository: str, file: str, revision: str | None, offline: bool, spec: str) -> str:
    """Return the commit that a revision of a repository stands for: as it is known here, else as the hub has it.

    What is known here stays in use, so that a study does not change under way. The hub is asked by fetching a
    small file, so that its cache remembers what the revision meant. file: one that such repositories have, as a
    rule. Raises BadModel where the commit cannot be known.
    """
    if known := known_commit(repository, revision):
        return known
    fetched = from_hub(repository, (file, *_ON_EVERY_HUB), revision, offline, spec)
    found = commit(fetched)
    assert found is not None, f"{fetched} lies in no cache of the hub"
    return found


def known_commit(repository: str, revision: str | None) -> str | None:
    """Return the commit that a revision stands for, where the hub's cache knows it; none given: `main`."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    if revision and _COMMIT.fullmatch(revision):
        return revision
    cache = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository, repo_type="model")
    reference = cache / "refs" / (revision or "main")
    return reference.read_text(encoding="utf-8").strip() if reference.is_file() else None


def commit(file: Path) -> str | None:
    """Return the commit of a file in the hub's cache, where it is one."""
    found = re.search(r"/models--[^/]+/snapshots/([^/]+)/", file.as_posix())
    return found[1] if found else None


def check(file: Path, sha256: str | None, spec: str) -> Path:
    """Return a file, whose digest must begin as given. Raises BadModel where it does not, or is no whole file."""
    if not file.is_file():
        raise BadModel(f"{spec}: there is no file {file}")
    if file.suffix == SAFE and (problem := damage(file)):
        raise BadModel(f"{spec}: cannot be loaded from {file}: it {problem}")
    if sha256 and not (found := digest_file(file)).startswith(sha256):
        raise BadModel(f"{spec}: {file} is not the file that was asked for: its SHA-256 is {found}, not {sha256}")
    return file


def refuse_revision(revision: str | None, place: Path, spec: str) -> None:
    """Raise BadOption where a revision is asked of files on this machine, which are as they are."""
    if revision is not None:
        raise BadOption(
            f"{spec}: {place} lies on this machine and has no revisions: leave out the option revision={revision}"
        )


@contextmanager
def network(allowed: bool) -> Iterator[None]:
    """Keep libraries that ask the hub themselves (tokenizers) from doing so where nothing may be fetched."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not allowed
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
