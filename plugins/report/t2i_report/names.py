"""Names of models, prompts and metrics that are unique across several runs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

from t2i_core.results.run import Run

_Place = tuple[str, str, int]

_FOLDERS = re.compile(r"(?<![\w.:/\\-])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\:'\"]+[/\\])+(?=[^\s/\\])")
"""The folders of an absolute path; URLs and texts such as `and/or` have none."""


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return a name for each run: the name of its folder, or its path if two folders have the same name."""
    names = [run.folder.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]


def model_names(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return the names of each run's models, by label.

    A name is the label. If models of several runs share a label, but have different fingerprints or different
    images (because of other noise or another device), the name of the run is added.
    """
    if len(runs) == 1:
        return [{label: label for label in runs[0].manifest.models}]
    drawn = [_images(run) for run in runs]

    def alike(label: str) -> bool:
        prints = {run.manifest.models[label].fingerprint for run in runs if label in run.manifest.models}
        seen: dict[_Place, str] = {}
        return len(prints) == 1 and all(
            seen.setdefault(place, digest) == digest
            for images in drawn
            for place, digest in images.get(label, {}).items()
        )

    known = {label for run in runs for label in run.manifest.models}
    shared = {label for label in known if alike(label)}
    return [
        {label: label if label in shared else f"{label} ({name})" for label in run.manifest.models}
        for run, name in zip(runs, run_names(runs), strict=True)
    ]


def metric_titles(runs: Sequence[Run], compared: Collection[str] = ()) -> list[dict[str, str]]:
    """Return the titles of each run's metrics on a page, by the title in the run.

    The name of the run is added if runs measured the metric under several protocols, as signature lines have them.

    Args:
        runs: The runs.
        compared: Titles that stay as they are, because the page compares their values across the runs.
    """
    protocols: dict[str, set[frozenset[str]]] = {}
    for run in runs:
        own: dict[str, set[str]] = {}
        for result in run.results:
            own.setdefault(result.title, set()).add(result.signature or str(run.path))
        for title, signatures in own.items():
            protocols.setdefault(title, set()).add(frozenset(signatures))
    several = {title for title, found in protocols.items() if len(found) > 1}.difference(compared)
    return [
        {each.title: f"{each.title} ({name})" if each.title in several else each.title for each in run.results}
        for run, name in zip(runs, run_names(runs), strict=True)
    ]


def key_prompts(run: Run) -> dict[str, str]:
    """Return the `ShownImage.prompt_key` of each prompt of a run, by its id."""
    samples = run.samples().drop_duplicates("prompt")
    return {id: f"{id}\0{text}" for id, text in zip(samples["prompt"], samples["text"].fillna(""), strict=True)}


def _images(run: Run) -> dict[str, dict[_Place, str]]:
    """Return the digests of a run's images, by model and by prompt, text and seed."""
    found: dict[str, dict[_Place, str]] = {}
    samples = run.samples()
    there = samples.loc[samples["status"] == "ok", ["model", "prompt", "text", "seed", "digest"]]
    for model, prompt, text, seed, digest in there.itertuples(index=False, name=None):
        found.setdefault(model, {})[prompt, str(text), int(seed)] = digest
    return found


def shorten_reason(reason: str, runs: Sequence[Run]) -> str:
    """Return a reason without the folders of this machine, because a page is read on others.

    Files in runs are named relative to the run, other absolute paths by the file alone.
    """
    for run in runs:
        reason = reason.replace(f"{run.folder}{os.sep}", "")
    return _FOLDERS.sub("", reason)
