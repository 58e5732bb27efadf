"""A run in a notebook: what its results say, its scores with intervals, and the rest folded."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..api.text import escape_control_characters, shorten_paths
from .result import Comparison, Result, Score
from .table_format import format_table
from .verdict import describe_verdicts

if TYPE_CHECKING:
    from .run import Run


def show_text(text: object) -> str:
    """Return a text as HTML that shows it as it is, control characters written out."""
    return html.escape(escape_control_characters(str(text)))


def fold(summary: str, content: str) -> str:
    """Return HTML that opens when its summary is chosen.

    Args:
        summary: The summary, a text.
        content: The content, as HTML.
    """
    return f"<details><summary>{show_text(summary)}</summary>{content}</details>"


def make_run_view(run: Run) -> str:
    """Return a run as HTML: the verdict and the scores, with comparisons, facets and signature lines folded."""
    verdicts = describe_verdicts(run.results, run.comparisons)
    if run.manifest.stopping is not None and run.manifest.stopping.verdict is not None:
        verdicts.append(run.manifest.stopping.verdict)
    notes = dict.fromkeys(note for result in run.results for note in result.notes)
    signatures = dict.fromkeys(result.signature for result in run.results if result.signature is not None)
    parts = [
        *(f"<p><strong>{show_text(line)}</strong></p>" for line in (run.failed, run.partial) if line),
        *(f"<p><strong>{show_text(line)}</strong></p>" for line in verdicts[:1]),
        *(f"<p>{show_text(line)}</p>" for line in verdicts[1:]),
        _show_scores(run.results),
        *_fold_comparisons(run.comparisons),
        *_fold_parts(run.results),
        *([fold("notes", _list(notes))] if notes else []),
        *([fold("signature", _list(signatures, "code"))] if signatures else []),
        f"<p>folder: {show_text(run.path)}</p>",
    ]
    return "".join(parts)


def _list(lines: Iterable[str], tag: str = "span") -> str:
    return f"<ul>{''.join(f'<li><{tag}>{show_text(line)}</{tag}></li>' for line in lines)}</ul>"


def _show_scores(results: Sequence[Result]) -> str:
    if not results:
        return ""
    failing = any(each.n_failed or each.n_missing for each in results)
    rows = [
        {
            "metric": each.headline,
            "model": each.label,
            **_show_score(Score(value=each.score, ci=each.ci or [None, None])),
            "prompts": f"{shorten_paths(each.prompts)} ({each.n_prompts})",
            "seeds": each.n_seeds,
            **({"failed": each.n_failed, "missing": each.n_missing} if failing else {}),
            "judge": each.judge.name if each.judge else "-",
        }
        for each in results
    ]
    return _make_table(rows)


def _fold_comparisons(comparisons: Sequence[Comparison]) -> Iterator[str]:
    if comparisons:
        yield fold(f"{len(comparisons)} paired comparisons", show_comparisons(comparisons))


def show_comparisons(comparisons: Iterable[Comparison]) -> str:
    """Return a table of comparisons as HTML."""
    return _make_table(
        [
            {
                "metric": each.title,
                "a": each.a,
                "b": each.b,
                "a - b": each.diff,
                "low": each.ci[0],
                "high": each.ci[1],
                "p_adjusted": each.p_adjusted,
                "n": each.n,
            }
            for each in comparisons
        ]
    )


def _fold_parts(results: Sequence[Result]) -> Iterator[str]:
    """Yield the scores by name, if a metric has several, and by facet."""
    named = [
        {"metric": each.title, "model": each.label, "name": name, **_show_score(score)}
        for each in results
        if len(each.scores) > 1
        for name, score in each.scores.items()
    ]
    facets = [
        {
            "metric": each.title,
            "model": each.label,
            "name": name,
            "facet": facet,
            "level": level,
            **_show_score(score),
        }
        for each in results
        for name, by_facet in each.facets.items()
        for facet, levels in by_facet.items()
        for level, score in levels.items()
    ]
    for what, rows in (("scores by name", named), ("scores by facet", facets)):
        if rows:
            yield fold(f"{len(rows)} {what}", _make_table(rows))


def _show_score(score: Score) -> dict[str, float | None]:
    return {"score": score.value, "low": score.ci[0], "high": score.ci[1]}


def _make_table(rows: Sequence[Mapping[str, object]]) -> str:
    import pandas as pd

    return format_table(pd.DataFrame(rows), "html")
