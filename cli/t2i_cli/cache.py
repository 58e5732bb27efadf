"""`t2i cache`: show and clean the cache that runs share."""

from __future__ import annotations

from dataclasses import asdict

from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.api.terminal import print_json, write_line
from t2i_core.files.byte_size import format_size
from t2i_core.storage.cache import (
    LIMIT_VARIABLE,
    measure_cache,
    parse_size,
    read_cache_limit,
    shrink_cache,
)

from .commands import UsageError
from .terminal import confirm


def show_cache(as_json: bool) -> None:
    """Print the cache's content and its size limit.

    Raises:
        BadFolder: The cache folder cannot be read.
        BadOption: The limit is not a size.
    """
    limit, use = read_cache_limit(), measure_cache()
    if as_json:
        held = {**asdict(use), "folder": str(use.folder), "bytes": use.bytes} if use else None
        print_json({"folder": str(find_cache_folder().absolute()), "limit": limit, "cache": held})
        return
    write_line(f"folder:        {find_cache_folder()}")
    if use is None:
        write_line("the cache is empty")
    else:
        write_line(f"images:        {use.images}, {format_size(use.image_bytes)}")
        write_line(f"observations:  {use.observations}, {format_size(use.other_bytes)} with everything else")
        if use.environments:
            write_line(f"environments:  {use.environments}, {format_size(use.environment_bytes)}")
        write_line(f"in use:        {f'by {use.in_use}' if use.in_use else 'no'}")
    write_line(f"limit:         {f'none ({LIMIT_VARIABLE} sets one)' if limit is None else format_size(limit)}")


def clean_cache(limit: str | None, yes: bool, as_json: bool) -> None:
    """Remove the oldest entries until the cache is no larger than a limit.

    Raises:
        UsageError: No limit is given, or nobody can confirm.
        BadOption: The limit is not a size.
        BadFolder: A run uses the cache.
    """
    allowed = read_cache_limit() if limit is None else parse_size(limit, "--limit")
    if allowed is None:
        raise UsageError(f"give the size to keep with --limit, or set {LIMIT_VARIABLE}")
    use = measure_cache()
    if use and use.bytes > allowed and not yes:
        confirm(
            f"remove the oldest of {format_size(use.bytes)} from {use.folder}, down to {format_size(allowed)}?"
        )
    cleaned = shrink_cache(allowed)
    if as_json:
        print_json(asdict(cleaned))
    else:
        write_line(str(cleaned) if cleaned.anything else "nothing to remove")
