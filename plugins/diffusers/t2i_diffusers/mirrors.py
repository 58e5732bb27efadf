"""Mirrors of withdrawn repositories, and the check of their files against published digests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from t2i_core.api.errors import BadModel
from t2i_core.files.digest import digest_file

from .presets import KNOWN
from .sources import CheckpointSource, list_files


def find_mirror(repository: str) -> str | None:
    """Return the mirror that presets use in place of a withdrawn repository, or None."""
    return next((known.repository for known in KNOWN if known.original == repository), None)


def check_pinned(source: CheckpointSource, commit: str, folder: Path) -> None:
    """Compare a repository's files with the SHA-256 digests that a preset pins for its commit.

    Args:
        source: The repository.
        commit: The commit of the files; pins are for one commit only.
        folder: The folder of the files. Files of other variants are not there and are not compared.

    Raises:
        BadModel: A file has another digest.
    """
    for known in KNOWN:
        if (known.repository, known.revision) != (source.model, commit):
            continue
        for name, sha256 in known.files.items():
            file = folder / name
            if file.is_file() and (found := digest_file(file)) != sha256:
                raise BadModel(
                    f"{source}: {name} is not the file that {known.original or known.repository} published: its "
                    f"SHA-256 is {found}, not {sha256}; delete {file.resolve()} and fetch it again (to use other "
                    "weights, name another revision)"
                )


def used_files(source: CheckpointSource, folder: Path) -> Mapping[str, str]:
    """Return the SHA-256 of each file of a mirror, for the manifest; an empty mapping for other repositories."""
    if not any(known.original and known.repository == source.model for known in KNOWN):
        return {}
    return {file.relative_to(folder).as_posix(): digest_file(file) for file in list_files(folder)}
