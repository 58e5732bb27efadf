"""The classes of a classifier that is not part of the run, by name or from a file."""

from __future__ import annotations

from pathlib import Path

from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.io.text_file import read_text

from .taxonomy import Taxonomy
from .wordnet import imagenet_classes, mini_world_leaves


def find_classes(named: str | Path | None, taxonomy: Taxonomy) -> tuple[str, ...]:
    """Return the nodes of the classes that an option names.

    Args:
        named: `imagenet-1k`, `mini-world`, `lowest` (the nodes with none below), a file with one node per line, or
            None: ImageNet-1k, or the lowest nodes of a user's own taxonomy.
        taxonomy: The taxonomy.

    Returns:
        The nodes; a user's own taxonomy need not contain those of ImageNet-1k or the mini world.

    Raises:
        BadOption: The file is not valid. The message names file, line and problem.
    """
    if isinstance(named, Path):
        return _read_classes(named, taxonomy)
    if named == "lowest" or (named is None and taxonomy.file is not None):
        return taxonomy.lowest()
    return mini_world_leaves() if named == "mini-world" else imagenet_classes()


def _read_classes(path: Path, taxonomy: Taxonomy) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for number, line in enumerate(read_text(path, BadOption).splitlines(), 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        if name not in taxonomy:
            near = did_you_mean(name, taxonomy.near(name))
            raise BadOption(f"{path}, line {number}: {name!r} is not in the taxonomy{near}")
        names[name] = None
    if not names:
        raise BadOption(f"{path}: no classes; write one synset per line")
    return tuple(names)
