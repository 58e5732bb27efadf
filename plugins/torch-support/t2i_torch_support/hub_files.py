"""Files of repositories on the Hugging Face hub: download, commits and errors."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

from t2i_core.api.errors import BadModel, BadOption, NotHere
from t2i_core.api.text import describe_error

from .disk_space import is_disk_full

_COMMIT = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(r"(\b[\w.-]+\b/)?\b[\w.-]{1,96}\b", re.ASCII)
_ON_EVERY_HUB = ("README.md", ".gitattributes")
"""Small files, of which every repository on the hub has at least one."""

_SECONDS_TO_REACH = 5
"""Time limit in seconds for the hub's first answer."""


def is_repository(name: str) -> bool:
    """Return whether a text can name a repository with its owner, ORG/NAME; `./folder` cannot."""
    return "/" in name and _is_accepted(name)


def _is_accepted(name: str) -> bool:
    """Return whether the hub's client accepts the name of a repository; older ones have no owner."""
    return bool(_NAME.fullmatch(name)) and "--" not in name and ".." not in name and not name.endswith(".git")


def _refuse_name(repository: str, spec: str) -> None:
    """Raise BadModel if the hub's client does not accept the name of a repository."""
    if not _is_accepted(repository):
        raise BadModel(f"{spec}: {repository!r} is not the name of a repository on the hub (ORG/NAME)")


def fetch_from_hub(
    repository: str, files: tuple[str, ...], revision: str | None, offline: bool, spec: str
) -> Path:
    """Return the first of these files that a repository has.

    The hub is asked only if none is on this machine.

    Args:
        repository: ORG/NAME.
        files: Paths inside the repository, in the order in which they are wanted.
        revision: Branch, tag or commit; None: `main`.
        offline: Fetch nothing.
        spec: What the user would prefetch.

    Raises:
        NotHere: If none is on this machine, and none may be fetched or the hub cannot be reached.
        BadModel: If the repository has none of them, its name is not valid, or the hub refuses.
    """
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    _refuse_name(repository, spec)
    for file in files:
        with suppress(LocalEntryNotFoundError), network(allowed=False):
            return Path(hf_hub_download(repository, file, revision=revision, local_files_only=True))
    what = f"{files[0]} of {repository}{f' at {revision}' if revision else ''} on the Hugging Face hub"
    if offline or constants.HF_HUB_OFFLINE:
        raise NotHere(what, spec)
    if why := find_outage():
        raise NotHere(what, spec, why)
    for file in files:
        try:
            return Path(hf_hub_download(repository, file, revision=revision))
        except LocalEntryNotFoundError as error:
            if server_answered(error):
                raise make_hub_error(f"{spec}: {what}", repository, error) from error
            raise NotHere(what, spec, describe_error(error)) from error
        except EntryNotFoundError:
            continue
        except Exception as error:  # the client raises many kinds: no such repository or revision, a full disk
            raise make_hub_error(f"{spec}: {what}", repository, error) from error
    safe = any(file.endswith(".safetensors") for file in files)
    pickles = "; a pickle is taken only with its digest (option sha256)" if safe else ""
    raise BadModel(f"{spec}: {repository} has no {' or '.join(files)}{pickles}")


def find_outage() -> str | None:
    """Return why the hub cannot be reached; None if it can be reached.

    Call it before a download, so that nobody waits for the retries of the hub's client. The client's messages
    about retries do not reach the user's terminal.
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


def make_hub_error(what: str, repository: str, error: BaseException) -> BadModel:
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
            f"{what}: {page} does not exist: it was withdrawn or renamed, or it is private, and "
            "then you must log in (`hf auth login`, or set HF_TOKEN)"
        )
    if isinstance(error, RevisionNotFoundError):
        return BadModel(f"{what}: the repository has no such revision; {page}/commits/main lists those it has")
    if is_disk_full(error):
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


def resolve_commit(repository: str, file: str, revision: str | None, offline: bool, spec: str) -> str:
    """Return the commit of a revision: the one in the local cache, or else the hub's.

    A known commit stays in use, so that a study does not change while it runs. The hub is asked by fetching a
    small file, so that its cache remembers the commit.

    Args:
        repository: ORG/NAME.
        file: A small file that such a repository usually has.
        revision: Branch, tag or commit; None: `main`.
        offline: Do not ask the hub.
        spec: What the user would prefetch.

    Raises:
        BadModel: If the commit cannot be found out; NotHere where a network would help.
    """
    _refuse_name(repository, spec)
    if known := find_commit(repository, revision):
        return known
    fetched = fetch_from_hub(repository, (file, *_ON_EVERY_HUB), revision, offline, spec)
    found = read_commit(fetched)
    assert found is not None, f"{fetched} lies in no cache of the hub"
    return found


def find_commit(repository: str, revision: str | None) -> str | None:
    """Return the commit that the hub's cache knows a revision by, or None; for no revision, of `main`."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    if revision and _COMMIT.fullmatch(revision):
        return revision
    cache = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository, repo_type="model")
    reference = cache / "refs" / (revision or "main")
    return reference.read_text(encoding="utf-8").strip() if reference.is_file() else None


def read_commit(file: Path) -> str | None:
    """Return the commit of a file in the hub's cache; None for any other file."""
    found = re.search(r"/models--[^/]+/snapshots/([^/]+)/", file.as_posix())
    return found[1] if found else None


def refuse_revision(revision: str | None, place: Path, spec: str) -> None:
    """Check that no revision is given for local files, which have none.

    Raises:
        BadOption: A revision is given.
    """
    if revision is not None:
        raise BadOption(
            f"{spec}: {place} lies on this machine and has no revisions: leave out the option revision={revision}"
        )


@contextmanager
def network(allowed: bool) -> Iterator[None]:
    """Keep libraries offline while nothing may be downloaded.

    Some download on their own (tokenizers), and the hub's client asks it for a list of coding agents, even if it
    only looks for a local file.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not allowed
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
