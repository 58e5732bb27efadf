"""Texts for the site, which is public, without the folders of the machines that runs were made and read on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from t2i_core.results.run import make_relative

from .named_run import NamedRun

_ROOT = (
    r"(?:(?i:file:)/+|(?<![\w.~/\\:<-])/{1,2}|(?<=:)/(?!/)"
    r"|(?<![\w/\\])(?:[A-Za-z]:[\\/](?![\\/])|~[\w.-]*[\\/])|\\\\)"
)
"""The beginning of an absolute path, but not of the rest of an address: `/`, `C:\\`, `~/`, `file:///`."""

_FOLDERS = re.compile(_ROOT + r"(?=[^\s/\\])(?:[^/\\:;,|+'\"()\[\]{}<>]*[\\/])*")

Publish = Callable[[str], str]
"""Returns a text without folders."""


def make_publisher(runs: Iterable[NamedRun]) -> Publish:
    """Return the function that removes the folders of paths from a text, up to the name of the file or the run.

    The folder of a run becomes the run's name, which may have a slash (`ann/run`). Absolute paths lose all their
    folders. Of relative paths only those into the folders that hold these runs are known, because `a/b` may as
    well be a model or a plugin.

    Args:
        runs: The runs of the site.
    """
    names: dict[str, str] = {}
    for run in runs:
        for folder in (run.folder, make_relative(run.folder)):
            names |= {f"{folder.parent}/": ""} if folder.parent.name else {}
        names |= {str(run.folder): run.name, str(make_relative(run.folder)): run.name, run.name: run.name}
    known = "|".join(map(re.escape, sorted((path for path in names if "/" in path), key=len, reverse=True)))
    inside = re.compile(rf"(?<![\w./\\-])(?:{known})(?:(?<=/)|(?![\w-]))") if known else None

    def publish(text: str) -> str:
        shorter = text if inside is None else inside.sub(lambda found: names[found[0]], text)
        return _FOLDERS.sub("", shorter)

    return publish


def publish_data(value: Any, publish: Publish) -> Any:
    """Return plain data whose texts, keys included, have no folders."""
    if isinstance(value, str):
        return publish(value)
    if isinstance(value, Mapping):
        return {publish(str(key)): publish_data(each, publish) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [publish_data(each, publish) for each in value]
    return value
