"""Files of weights: fetched only where they may be and are not there, and what they claim to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from t2i_core.errors import BadModel
from t2i_core.sources import file_digest
from t2i_core.texts import said


def from_hub(repository: str, files: tuple[str, ...], revision: str | None, offline: bool, spec: str) -> Path:
    """Return the first of these files that a repository on the Hugging Face hub has.

    One that is on this machine is taken without asking the hub. spec: what the user would prefetch. Raises
    BadModel where none can be had.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError, LocalEntryNotFoundError

    for file in files:
        try:
            return Path(hf_hub_download(repository, file, revision=revision, local_files_only=True))
        except LocalEntryNotFoundError:
            continue
        except HFValidationError as error:
            raise BadModel(f"{spec}: {repository!r} is no name of a repository on the hub ({error})") from error
    what = f"{files[0]} of {repository}{f' at {revision}' if revision else ''} on the Hugging Face hub"
    if offline:
        raise BadModel(
            f"{spec}: {what} is not on this machine and nothing may be fetched: "
            f"run `t2i prefetch {spec}` with a network"
        )
    for file in files:
        try:
            return Path(hf_hub_download(repository, file, revision=revision))
        except LocalEntryNotFoundError as error:
            raise BadModel(f"{spec}: {what} cannot be fetched: no connection ({said(error)})") from error
        except EntryNotFoundError:
            continue
        except (OSError, ValueError) as error:  # no such repository or revision, no right to it, a full disk
            raise hub_error(f"{spec}: {what}", repository, error) from error
    raise BadModel(
        f"{spec}: {repository} has no {' or '.join(files)}; a pickle is taken only with its digest (option sha256)"
    )


def hub_error(what: str, repository: str, error: BaseException) -> BadModel:
    """Say in one line why something of a repository cannot be had. what: begins the line."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    page = f"https://huggingface.co/{repository}"
    if isinstance(error, GatedRepoError):
        return BadModel(f"{what}: is gated; accept its licence at {page} and log in (`hf auth login`)")
    if isinstance(error, RepositoryNotFoundError):
        return BadModel(f"{what}: the hub has no such repository, or it is private: log in (`hf auth login`)")
    if isinstance(error, RevisionNotFoundError):
        return BadModel(f"{what}: the repository has no such revision")
    return BadModel(f"{what}: cannot be had from the hub ({said(error)}); what is here already needs --offline")


def commit(file: Path) -> str | None:
    """Return the commit of a file in the hub's cache, where it is one."""
    found = re.search(r"/models--[^/]+/snapshots/([^/]+)/", file.as_posix())
    return found[1] if found else None


def check(file: Path, sha256: str | None, spec: str) -> Path:
    """Return a file, whose digest must begin as given. Raises BadModel where it does not, or is no file."""
    if not file.is_file():
        raise BadModel(f"{spec}: there is no file {file}")
    if sha256 and not (found := file_digest(file)).startswith(sha256):
        raise BadModel(f"{spec}: {file} is not the file that was asked for: its SHA-256 is {found}, not {sha256}")
    return file


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
