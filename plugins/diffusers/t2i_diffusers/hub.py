"""Repositories of the Hugging Face hub: their commits and small files.

Imports huggingface_hub only for repositories, and never torch.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from t2i_core.api.errors import BadModel, NotHere
from t2i_core.api.text import describe_error
from t2i_torch_support import hub_files

from .mirrors import find_mirror
from .single_file import CONFIGS
from .sources import INDEX, PICKLES, SAFE, CheckpointSource, make_pickle_error

_TIMEOUT = 20
"""Time limit in seconds for listing a repository."""


def commit_of(source: CheckpointSource, offline: bool) -> str:
    """Return the commit of a repository: the one on this machine, or else the newest of its revision.

    A local copy stays in use, so that a study does not change midway. For a newer commit, remove the copy from the
    cache or name another revision.

    Raises:
        BadModel: The commit cannot be determined.
    """
    return hub_files.find_commit(source.model, source.revision) or index_folder(source, offline).name


def index_folder(source: CheckpointSource, offline: bool) -> Path:
    """Return the folder with a pipeline's index; download only the index if it is missing.

    Raises:
        BadModel: The index cannot be downloaded.
    """
    return folder_with(source, INDEX, offline)


def folder_with(source: CheckpointSource, file: str, offline: bool) -> Path:
    """Return a pipeline's folder with one small file; download only that file if it is missing.

    Raises:
        BadModel: The file cannot be downloaded.
    """
    if (folder := source.folder) is not None:
        return folder
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, RepositoryNotFoundError

    # a revision with an unknown commit is requested by its name, so that the cache remembers its commit
    revision = hub_files.find_commit(source.model, source.revision) or source.revision
    with suppress(LocalEntryNotFoundError), hub_files.network(allowed=False):
        return _folder(hf_hub_download(source.model, file, revision=revision, local_files_only=True), file)
    if offline or constants.HF_HUB_OFFLINE:
        raise make_missing_error(source)
    if why := hub_files.find_outage():
        raise make_missing_error(source, network=why)
    try:
        return _folder(hf_hub_download(source.model, file, revision=revision), file)
    except LocalEntryNotFoundError as error:
        if hub_files.server_answered(error):
            raise hub_files.make_hub_error(str(source), source.model, error) from error
        raise make_missing_error(source, network=describe_error(error)) from error  # the network failed
    except EntryNotFoundError as error:
        raise BadModel(f"{source}: the repository holds no pipeline of diffusers ({file} is missing)") from error
    except Exception as error:  # errors of the hub and of the network
        problem = hub_files.make_hub_error(str(source), source.model, error)
        if isinstance(error, RepositoryNotFoundError) and (mirror := find_mirror(source.model)):
            problem = BadModel(f"{problem}; its mirror is {mirror}")
        raise problem from error


def _folder(found: str, file: str) -> Path:
    """Return the folder that a file's relative path starts from."""
    return Path(found).parents[file.count("/")]


def make_missing_error(
    source: CheckpointSource, missing: str | None = None, network: str | None = None
) -> NotHere:
    """Return the error for files that must be downloaded while a network is available.

    `missing` names the missing part; None if everything is missing. `network` is why the download failed; None if
    t2i is offline.
    """
    return NotHere(str(source), source.spec, network, missing)


def fetch_configs(source: CheckpointSource, commit: str, offline: bool) -> Path:
    """Return the folder of a pipeline's configurations and tokenizers; download them without the weights.

    Raises:
        BadModel: They cannot be downloaded; NotHere if that needs a network.
    """
    from huggingface_hub import constants, snapshot_download

    why = None if offline or constants.HF_HUB_OFFLINE else hub_files.find_outage()
    local = offline or why is not None
    try:
        found = snapshot_download(
            source.model, revision=commit, allow_patterns=list(CONFIGS), local_files_only=local
        )
    except Exception as error:  # errors of the hub and of the network
        if local:
            raise make_missing_error(source, describe_error(error), why) from error
        raise hub_files.make_hub_error(str(source), source.model, error) from error
    return Path(found)


def find_hub_pickles(source: CheckpointSource, commit: str) -> BadModel | None:
    """Return the error that lists a repository's pickles with their digests, if it has no safetensors."""
    from huggingface_hub import HfApi

    info = HfApi().model_info(source.model, revision=commit, files_metadata=True, timeout=_TIMEOUT)
    digests = {f.rfilename: f.lfs.sha256 for f in info.siblings or () if f.lfs is not None}
    safe = {name.rpartition("/")[0] for name in digests if name.endswith(SAFE)}
    found = {
        name: digest
        for name, digest in digests.items()
        if name.endswith(PICKLES) and "/" in name and name.rpartition("/")[0] not in safe
    }
    return make_pickle_error(source, found) if found else None
