"""Comparison of two models of stored runs: by metric with intervals, by prompt, and picture by picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from t2i_core.api.errors import BadFolder, BadOption, T2IError, UnknownName
from t2i_core.api.resolver import Resolver, installed_resolver
from t2i_core.api.terminal import make_table, shown
from t2i_core.results.analysis import list_metrics
from t2i_core.results.compared_model import ComparedModel
from t2i_core.results.metric_comparison import MetricComparison, compare_metric, match_judges
from t2i_core.results.number_format import format_interval, format_number, format_p_value
from t2i_core.results.result import Comparison, Result, list_bound_labels
from t2i_core.results.run import Run
from t2i_core.results.run_view import fold, show_text
from t2i_core.results.table_format import format_table
from t2i_core.results.verdict import describe_verdicts

from .names import model_names, run_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


MOST_ROWS = 30
"""Rows of prompts that a notebook shows; `prompts()` has all."""


@dataclass(frozen=True)
class ModelComparison:
    """Comparison of two models of stored runs.

    Attributes:
        a: The first model.
        b: The second model.
        pairs: Comparisons by metric.
        left_out: Metrics without a comparison, with the reasons.
    """

    a: ComparedModel
    b: ComparedModel
    pairs: Sequence[MetricComparison]
    left_out: Sequence[tuple[str, str]]

    def _repr_html_(self) -> str:
        """Return the differences, and the prompts folded, for a notebook."""
        a, b = (show_text(side.name) for side in (self.a, self.b))
        differences, prompts = self.differences(), self.prompts()
        return "".join(
            [
                f"<p><strong>a: {a}<br>b: {b}</strong></p>",
                format_table(differences.drop(columns=["measure", "a", "b", "interval"]), "html"),
                fold(f"{len(prompts)} differences by prompt", format_table(prompts, "html", MOST_ROWS)),
            ]
        )

    def differences(self) -> pd.DataFrame:
        """Return one row per metric: metric, measure, a, b, diff, low, high, p_unadjusted, n, interval, note.

        A metric that is not compared has a row without numbers, whose note says why.
        """
        names = {"a": self.a.name, "b": self.b.name}
        rows: list[dict[str, object]] = []
        for pair in self.pairs:
            found = pair.found
            assert found is not None
            numbers = {
                "diff": found.diff,
                "low": found.lo,
                "high": found.hi,
                "p_unadjusted": found.p,
                "n": found.n,
            }
            texts = {"interval": _interval(pair), "note": "; ".join(found.notes) or None}
            rows.append({"metric": pair.metric, "measure": pair.measure.name, **names, **numbers, **texts})
        rows += [{"metric": metric, **names, "note": why} for metric, why in self.left_out]
        columns = ["metric", "measure", "a", "b", "diff", "low", "high", "p_unadjusted", "n", "interval", "note"]
        numbers_of = dict.fromkeys(columns[4:8], float) | {"n": "Int64"}
        return pd.DataFrame(rows, columns=columns).astype(numbers_of)

    def prompts(self) -> pd.DataFrame:
        """Return one row per metric and shared prompt, the lowest difference first.

        Its columns are metric, prompt, a and b (means over the shared samples), diff, and n (number of samples).
        """
        found = []
        for pair in self.pairs:
            if pair.rows.empty:
                continue
            groups = pair.rows.groupby(["prompt", "model"], observed=True)["value"]
            means = groups.mean().unstack("model").rename(columns={self.a.name: "a", self.b.name: "b"})
            counts = pair.rows.groupby("prompt", observed=True).size() // 2
            rows = means[["a", "b"]].assign(diff=means["a"] - means["b"], n=counts)
            rows = rows.sort_values("diff", kind="stable").reset_index()
            found.append(rows.assign(metric=pair.metric, prompt=rows["prompt"].astype(str)))
        columns = ["metric", "prompt", "a", "b", "diff", "n"]
        return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)


def _interval(pair: MetricComparison) -> str:
    assert pair.found is not None
    return f"{pair.found.method}; {pair.found.question}"


def compare(
    first: Run,
    second: Run,
    labels: tuple[str | None, str | None] = (None, None),
    resolver: Resolver[Any] | None = None,
) -> ModelComparison:
    """Compare a model of one run with a model of another run, or of the same run.

    Args:
        first: The first run.
        second: The second run.
        labels: Labels of the models; None if the run has only one, or if both are the two models of one run.
        resolver: Finds the metrics. Default: the installed registry.

    Raises:
        BadOption: If a run has several models and no label is given, or a model would be compared with itself.
        UnknownName: If a run has no model with this label.
    """
    if first.folder == second.folder and None in labels:
        labels = _name_other(_list_labels(first), labels)
    a, b = (
        _label(run, label, flag) for run, label, flag in zip((first, second), labels, ("--a", "--b"), strict=True)
    )
    if first.folder == second.folder and a == b:
        raise BadOption(f"{first.path}: {a!r} would be compared with itself; name two models with --a and --b")
    names = [own[label] for own, label in zip(model_names([first, second]), (a, b), strict=True)]
    if names[0] == names[1]:  # one model, measured in two runs
        names = [f"{label} ({name})" for label, name in zip((a, b), run_names([first, second]), strict=True)]
    sides = ComparedModel(first, a, names[0]), ComparedModel(second, b, names[1])
    metrics = list_metrics(first, installed_resolver() if resolver is None else resolver)
    theirs = _metrics(second)
    found, left_out = [], []
    for name in (name for name in metrics.made if name in theirs):
        for judges in match_judges(*sides, name):
            try:
                pair = compare_metric(*sides, metrics.made[name], judges)
            except T2IError as error:  # a broken metric does not prevent the others
                left_out.append((name, str(error)))
                continue
            if pair.found is None:
                left_out.append((pair.metric, pair.why))
            else:
                found.append(pair)
    left_out += [(name, why) for name, why in metrics.absent.items() if name in theirs]
    left_out += [(name, "only one of the runs has it") for name in sorted(theirs ^ _metrics(first))]
    return ModelComparison(*sides, found, left_out)


def _metrics(run: Run) -> set[str]:
    return {result.metric for result in run.results}


def _list_labels(run: Run) -> list[str]:
    """Return the labels of a run's models without upper bounds."""
    bounds = list_bound_labels(run.results)
    return [name for name in run.manifest.models if name not in bounds]


def _name_other(known: Sequence[str], labels: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
    """Return the labels of a run's two models where the user named none or one; of other runs as they are."""
    if len(known) != 2:
        return labels
    a, b = labels
    if a is None and b is None:
        return known[0], known[1]
    rest = [label for label in known if label not in labels]
    return (a, rest[0]) if a in known else (rest[0], b) if b in known else labels


def _label(run: Run, label: str | None, flag: str) -> str:
    known = _list_labels(run)
    if label is not None:
        if label not in run.manifest.models:
            raise UnknownName.among("model", label, known, f"the run {run.path} has {', '.join(known)}")
        return label
    if len(known) != 1:
        raise BadOption(f"{run.path} has {len(known)} models; name one with {flag}: {', '.join(known)}")
    return known[0]


def check(found: ModelComparison, pictures: bool) -> None:
    """Check that there is something to compare.

    Args:
        found: The comparison.
        pictures: Whether shared pictures are enough.

    Raises:
        BadFolder: If the models share no metric and, with `pictures`, no samples.
    """
    if found.pairs or (pictures and find_shared(found)):
        return
    runs = " and ".join(dict.fromkeys(str(side.run.path) for side in (found.a, found.b)))
    why = "; ".join(f"{metric}: {reason}" for metric, reason in found.left_out) or "no metric has measured them"
    raise BadFolder(f"{runs}: {found.a.name} and {found.b.name} have nothing to compare: {why}")


def find_shared(found: ModelComparison) -> set[tuple[str, str, int]]:
    """Return prompt id, text and seed of the samples that both runs planned."""
    drawn = []
    for side in (found.a, found.b):
        samples = side.run.samples()
        own = samples[samples["model"] == side.label]
        drawn.append(set(zip(own["prompt"], own["text"].fillna(""), own["seed"], strict=True)))
    return drawn[0] & drawn[1]


def print_comparison(found: ModelComparison, screen: Console, most: int) -> None:
    """Print a comparison: verdicts, differences, and the `most` prompts with the lowest and highest ones."""
    screen.print(shown(f"a: {found.a.name}"))
    screen.print(shown(f"b: {found.b.name}"))
    for line in describe_verdicts(*_collect(found.pairs)):
        screen.print(shown(line))
    if found.pairs:
        screen.print(_draw_differences(found.pairs))
    for metric, prompts in found.prompts().groupby("metric", sort=False):
        heading, few = f"{metric}: {len(prompts)} prompts", prompts
        if len(prompts) > 2 * most:
            heading = f"{metric}: the {most} lowest and {most} highest of {len(prompts)} prompts"
            few = pd.concat([prompts.head(most), prompts.tail(most)])
        screen.print()
        screen.print(shown(heading))
        screen.print(_draw_prompts(few))
    lines = [
        "",
        *(f"interval of {pair.metric}: {_interval(pair)}" for pair in found.pairs),
        *(f"note: {note}" for pair in found.pairs if pair.found for note in pair.found.notes),
        *(f"not compared: {metric}: {why}" for metric, why in found.left_out),
    ]
    for line in dict.fromkeys(lines):
        screen.print(shown(line))


def _collect(pairs: Sequence[MetricComparison]) -> tuple[list[Result], list[Comparison]]:
    """Return the results of both models, and their comparisons, under the same metric and judges."""
    results, comparisons = [], []
    for pair in pairs:
        a, b = pair.results
        named = {"metric": a.metric, "by": a.by or b.by}
        results += [each.model_copy(update=named) for each in (a, b)]
        if (found := pair.to_comparison(a.label, b.label)) is not None:
            comparisons.append(found.model_copy(update=named))
    return results, comparisons


def _draw_differences(pairs: Iterable[MetricComparison]) -> Table:
    table = make_table("metric", "a - b", "95 % interval", "p (unadjusted)", "n")
    for pair in pairs:
        assert pair.found is not None
        difference, low, high, p = (
            _none_if_nan(number) for number in (pair.found.diff, pair.found.lo, pair.found.hi, pair.found.p)
        )
        cells = format_number(difference), format_interval((low, high)), format_p_value(p), pair.found.n
        table.add_row(*map(shown, (pair.metric, *cells)))
    return table


def _draw_prompts(prompts: pd.DataFrame) -> Table:
    table = make_table("prompt", "a", "b", "a - b", "n")
    for prompt, a, b, difference, n in prompts[["prompt", "a", "b", "diff", "n"]].itertuples(
        index=False, name=None
    ):
        table.add_row(*map(shown, (prompt, format_number(a), format_number(b), format_number(difference), n)))
    return table


def _none_if_nan(value: float) -> float | None:
    return None if value != value else value
