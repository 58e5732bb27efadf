"""Comparison of two models as a page: results, differences, prompts, and pictures side by side."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from t2i_core.api.digest import digest_data
from t2i_core.api.resolver import Resolver
from t2i_core.api.text import escape_control_characters
from t2i_core.results.analysis import list_metrics
from t2i_core.results.metric_comparison import MetricComparison
from t2i_core.results.run import Run
from t2i_core.results.thumbnails import CHUNK, Thumbnails

from .citation import Citation
from .compare import ModelComparison, find_shared
from .metric_results import MetricResults, find_tasks
from .names import model_names, run_names, shorten_reason
from .page import write_page
from .papers.differences import find_signature
from .pictures.evidence import find_overlays, list_templates, list_titles
from .pictures.example import choose_example
from .pictures.explained_values import ExplainedMetric, read_values
from .pictures.gallery import Gallery, GalleryColumn, gallery
from .pictures.image_reasons import list_reasons
from .pictures.mistakes import group_mistakes
from .pictures.only_one import split_metrics
from .pictures.shown_image import ShownImage
from .reported_run import ReportedRun, group_run, record_run
from .summary import summarize
from .words.weak_spots import WeakSpot

MOST_ROWS = 1000
"""Maximum number of rows of prompts on a page; `--format csv --table prompts` writes all."""


def write_comparison(
    found: ModelComparison, target: Path, resolver: Resolver[Any], side: int, warn: Callable[[str], None]
) -> None:
    """Write a comparison as a page with the pictures side by side.

    Args:
        found: The comparison.
        target: The file.
        resolver: Finds metrics and judges.
        side: Maximum length of the longer side of pictures in pixels.
        warn: Shows a warning about pictures that are left out.
    """
    a, b = found.a, found.b
    runs = [a.run] if a.run.folder == b.run.folder else [a.run, b.run]
    measures = {each.metric: pair.measures for pair in found.pairs for each in pair.results}
    compared = [pair.metric for pair in found.pairs if pair.found is not None]
    columns = _Sides(found, gallery(runs, measures, compared))
    pictures = Thumbnails(columns.shown.pictures, side)
    overlays = find_overlays(runs, columns.shown, side)
    values = read_values(runs, columns.shown, measures)
    faults: list[str] = []
    records = _record_runs(found, resolver)
    groups = _group_pairs(found)
    name = f"{a.name} and {b.name}"
    summary = summarize(name, groups, records[0].judges, _cite(found), faults)
    for fault in faults:
        warn(fault)
    splits = list(split_metrics(values, columns.names, columns.shown, overlays))
    mistakes = group_mistakes(each for split in splits for side in split.sides for each in side.mistakes)
    write_page(
        target,
        "compare.html",
        found=found,
        title=summary.headline.title,
        summaries=[summary],
        records=records,
        notes=list(_list_notes(found)),
        example=choose_example(
            mistakes, columns.locate(summary.answers.spots), columns.shown.tables, pictures.encode
        ),
        faults=faults,
        pictures=pictures,
        n_images=len(columns.cells),
        most_prompts=MOST_ROWS,
        texts=_read_texts(a.run),
        splits=splits,
        overlays=overlays,
        templates=lambda: list_templates(overlays),
        gallery=lambda: {
            "id": digest_data(["compare", a.run.manifest.plan, b.run.manifest.plan, a.label, b.label]),
            "side": side,
            **columns.plain({n: shorten_reason(why, runs) for n, why in pictures.damaged.items()}, values),
            "evidence": list_titles(overlays),
            "because": list(list_reasons(values, columns.shown)),
        },
    )
    pictures.report_missing(warn)


def _read_texts(run: Run) -> dict[str, str]:
    """Return the text of each prompt of a run, by its id; prompts without a text are left out."""
    samples = run.samples().dropna(subset=["text"])
    return dict(zip(samples["prompt"], samples["text"], strict=True))


def _cite(found: ModelComparison) -> Citation:
    """Return the command, and the signature line of each metric that both models have."""
    lines = ((pair.metric, find_signature(found, pair)) for pair in found.pairs)
    return Citation(_write_command(found), [(metric, line) for metric, line in lines if line is not None])


def _write_command(found: ModelComparison) -> str:
    """Return the command that compares the two models again."""
    sides = found.a, found.b
    words = ["t2i", "compare", *(str(side.run.path) for side in sides)]
    for flag, side in zip(("--a", "--b"), sides, strict=True):
        if len(side.run.manifest.models) > 1:
            words += [flag, side.label]
    return shlex.join(words)


def _record_runs(found: ModelComparison, resolver: Resolver[Any]) -> list[ReportedRun]:
    """Return the record of the run of each model; one if both are of one run."""
    runs = list({side.run.folder: side.run for side in (found.a, found.b)}.values())
    return [
        record_run(name, run, group_run(run, list_metrics(run, resolver)), resolver)
        for name, run in zip(run_names(runs), runs, strict=True)
    ]


def _group_pairs(found: ModelComparison) -> list[MetricResults]:
    """Return the results of both models by metric, with their comparison."""
    tasks = find_tasks(found.a.run)
    return [
        MetricResults(
            pair.metric,
            pair.results,
            () if (comparison := pair.to_comparison(found.a.name, found.b.name)) is None else (comparison,),
            measures=pair.measures,
            info=pair.info,
            tasks=tasks.get(pair.metric, frozenset()),
            shared_prompts=pair.rows["prompt"].nunique() if len(pair.rows) else None,
        )
        for pair in found.pairs
    ]


def _list_notes(found: ModelComparison) -> Iterator[tuple[str, str]]:
    """Yield the method of each metric's interval and the notes on its comparison."""
    for pair in found.pairs:
        if (comparison := pair.to_comparison(found.a.name, found.b.name)) is not None:
            yield pair.metric, f"interval: {comparison.interval}"
        yield from ((pair.metric, note) for note in pair.notes)


class _Sides:
    """Pictures of the samples that both models have, with the differences of their values."""

    def __init__(self, found: ModelComparison, shown: Gallery) -> None:
        self.found = found
        names = model_names([found.a.run, found.b.run])
        wanted = [own[side.label] for own, side in zip(names, (found.a, found.b), strict=True)]
        by_side: list[dict[tuple[str, str, int], ShownImage]] = [
            {(i.prompt, i.text, i.seed): i for i in shown.images if i.model == name} for name in wanted
        ]
        both = find_shared(found)  # if both sides are the same model, each image may come from either run
        self.cells = [(by_side[0][c], by_side[1][c]) for c in by_side[0] if c in by_side[1] and c in both]

        # one model that two runs measured has the same images on both sides; its mistakes cannot differ
        tables = shown.tables if wanted[0] != wanted[1] else []
        self.names = wanted[0], wanted[1]
        self.shown = Gallery(
            [image for cell in self.cells for image in cell],
            tables=[table[table["model"].isin(wanted)] if len(table) else table for table in tables],
            titles=shown.titles,
        )

    def locate(self, spots: Sequence[WeakSpot]) -> list[WeakSpot]:
        """Return weak spots with the names of the models in the gallery."""
        names = dict(zip((self.found.a.name, self.found.b.name), self.names, strict=True))
        return [replace(spot, model=names[spot.model]) for spot in spots]

    def plain(self, damaged: dict[int, str], explained: Sequence[ExplainedMetric]) -> dict[str, Any]:
        images = [first for first, _ in self.cells]
        measures, scores = [], []
        names = self.found.a.name, self.found.b.name
        by_title = {each.title: each for each in explained}
        for pair in self.found.pairs:
            values = self._values(pair, by_title.get(pair.metric))
            columns = [
                [values.get((i.prompt, i.seed, name), values.get((i.prompt, None, name))) for i in images]
                for name in names
            ]
            name = escape_control_characters(pair.metric)
            scores.append({"title": name, "metric": name, "sides": columns})
            apart = [None if None in (x, y) else x - y for x, y in zip(*columns, strict=True)]
            better = pair.measure.higher_is_better
            title = f"{pair.metric}: a - b"
            difference = GalleryColumn(title, None, apart, pair.metric).plain()
            measures.append({**difference, "sides": list(map(escape_control_characters, names))})
            measures += [
                GalleryColumn(f"{pair.metric}: {name}", better, own, pair.metric).plain()
                for name, own in zip(names, columns, strict=True)
            ]
        plain = Gallery(images).plain({})
        why = {
            n: "; ".join(dict.fromkeys(reasons))
            for n, cell in enumerate(self.cells)
            if (
                reasons := [
                    *(i.why for i in cell if i.why),
                    *(damaged[p] for p in (2 * n, 2 * n + 1) if p in damaged),
                ]
            )
        }
        return {
            **plain,
            "sides": 2,
            "chunk": CHUNK,
            "sideNames": [escape_control_characters(name) for name in names],
            "models": [escape_control_characters(" | ".join(names))],
            "model": [0] * len(images),
            "scores": scores,
            "measures": [m for m in measures if any(v is not None for v in m["values"])],
            "why": {n: escape_control_characters(reason) for n, reason in why.items()},
        }

    def _values(
        self, pair: MetricComparison, explained: ExplainedMetric | None
    ) -> dict[tuple[str, int | None, str], float]:
        """Return the values by prompt, seed (None: over all seeds) and model.

        A headline that is computed from other measures has no rows; then the values are those with reasons.
        """
        rows = pair.rows
        if rows.empty:
            sides = dict(zip(self.names, (self.found.a.name, self.found.b.name), strict=True))
            own = () if explained is None else explained.values
            return {(each.prompt.partition("\0")[0], each.seed, sides[each.model]): each.value for each in own}
        seeds = [int(s) for s in rows["seed"]] if "seed" in rows else [None] * len(rows)
        return dict(zip(zip(rows["prompt"], seeds, rows["model"], strict=True), rows["value"], strict=True))
