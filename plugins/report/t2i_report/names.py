"""What the models of several runs are called beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.runs import Run


def run_names(runs: Sequence[Run]) -> list[str]:
    """A name for each run: its folder's, or its path where two folders are called alike."""
    names = [run.folder.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]


def model_names(runs: Sequence[Run]) -> list[dict[str, str]]:
    """For each run its models' names by label: those of one label that are not the same model have their run's
    name beside it.
    """
    said = [{label: told.get("fingerprint") for label, told in run.manifest["models"].items()} for run in runs]
    return [
        {
            label: label if all(other.get(label, print_) == print_ for other in said) else f"{label} ({name})"
            for label, print_ in own.items()
        }
        for own, name in zip(said, run_names(runs), strict=True)
    ]
