"""Command, BibTeX and sources of a run, for those who repeat or cite it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from t2i_core.results.command_line import write_command_line
from t2i_core.results.manifest import Manifest
from t2i_core.results.result import Result
from t2i_core.results.run import Run

from .metric_results import MetricResults


@dataclass(frozen=True)
class Citation:
    """Command and references of a run.

    Attributes:
        command: The command line.
        signatures: The signature lines of results, each with its metric; with the models, if their lines differ.
        entries: BibTeX of the metrics' papers, without repetitions.
        sources: Papers or sources of metrics without BibTeX, by metric.
        recipe: The request as a recipe, for a command that names a file which the reader lacks.
    """

    command: str
    signatures: Sequence[tuple[str, str]] = ()
    entries: Sequence[str] = ()
    sources: Sequence[tuple[str, str]] = ()
    recipe: str = ""

    @property
    def bibtex(self) -> str:
        """All entries, one after the other."""
        return "\n\n".join(self.entries)


def cite_run(run: Run, groups: Sequence[MetricResults]) -> Citation:
    """Return the command and references of a run.

    Args:
        run: The run.
        groups: Its results by metric.
    """
    infos = {group.results[0].metric: group.info for group in groups if group.results and group.info is not None}
    entries = dict.fromkeys(info.about.bibtex.strip() for info in infos.values() if info.about.bibtex)
    sources = [(name, i.about.citation) for name, i in infos.items() if i.about.citation and not i.about.bibtex]
    return Citation(
        write_command_line(run.manifest.command),
        list(_list_signatures(run.results)),
        list(entries),
        sources,
        _write_recipe(run.manifest),
    )


def _list_signatures(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield the signature lines of results, once for the models that share one; of corrected scores first."""
    by_title: dict[str, dict[str, list[str]]] = {}
    for each in results:
        if each.correction is not None and each.correction.signature is not None:
            title = f"{each.title} (corrected by people)"
            by_title.setdefault(title, {}).setdefault(each.correction.signature, []).append(each.label)
    for each in results:
        if each.signature is not None:
            by_title.setdefault(each.title, {}).setdefault(each.signature, []).append(each.label)
    for title, lines in by_title.items():
        for line, labels in lines.items():
            yield (title if len(lines) == 1 else f"{title} of {', '.join(labels)}"), line


def _write_recipe(manifest: Manifest) -> str:
    """Return the request of a run as a recipe: each value as JSON, which YAML includes."""
    models = [
        {
            "model": each.name,
            "label": label,
            **({"settings": each.settings} if each.settings else {}),
        }
        for label, each in manifest.models.items()
        if each.perturbation is None
    ]
    request = manifest.request.model_dump(exclude_defaults=True)
    named = {each.name for each in manifest.models.values()}  # existing images bring their own prompts
    request["prompts"] = [source for source in request["prompts"] if source not in named]
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in request.items() if value != []]
    return "\n".join([*lines, "models:", *(f"  - {json.dumps(model, ensure_ascii=False)}" for model in models)])
