"""Metrics beside people as tables: text, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from t2i_core.api.terminal import console, make_table, shown, write_line
from t2i_core.api.text import escape_control_characters
from t2i_core.files.spreadsheet import escape_table
from t2i_core.results.number_format import format_interval, format_number, format_p_value
from t2i_core.results.result import make_title

from .agreement import ACCURACY, PHI, RHO, SAME_PROMPT, TAU, WITH_TIES, Statistic
from .baseline import BaselineComparison
from .model_pairs import HumanPreference, Range
from .result import Agreement, Predictor, Validation

PERSON = "(one person)"
_LEVELS = {"image": "images", "prompt": "prompts", "model": "models"}


@dataclass(frozen=True)
class _Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def print_validation(found: Validation | BaselineComparison, how: Literal["text", "csv", "markdown"]) -> None:
    """Print all tables and notes; as CSV only the table of agreements, or of metrics beside a baseline."""
    if how == "csv":
        print(escape_table(found.table()).to_csv(index=False), end="")
        return
    if isinstance(found, BaselineComparison):
        tables, explained = _make_baseline_tables(found), _explain_baseline(found)
    else:
        tables, explained = _make_tables(found), _explain(found)
    for table in tables:
        if how == "markdown":
            for line in _draw_markdown(table):
                write_line(line)
        else:
            console().print(shown(table.title, "bold"))
            drawn = make_table(*table.columns)
            for row in table.rows:
                drawn.add_row(*map(shown, row))
            console().print(drawn)
        write_line()
    for note in (*explained, *found.notes):
        write_line(f"note: {note}")


def _make_tables(found: Validation) -> Iterator[_Table]:
    for human in found.questions:
        items = len(human.table.drop_duplicates(["models", "prompt", "seeds"]))
        about = f"{human.question}: {len(human.table)} answers of {human.n_people} people about {items} items"
        own = [line for line in found.agreements if line.question == human.question]
        for level in _LEVELS:
            of_level = [line for line in own if line.level == level]
            together = [line for line in of_level if not line.a]
            apart = [line for line in of_level if line.a]
            where = "pairs of models" if level == "model" and human.form == "preference" else _LEVELS[level]
            compared = "images" if level == "image" else "models"
            for ending, of in ((SAME_PROMPT, f"pairs of {compared} on one prompt"), ("", where)):
                lines = [line for line in together if line.statistic.name.endswith(SAME_PROMPT) == bool(ending)]
                if lines:
                    yield _make_agreement_table(f"{about}, over {of}", lines, pairs=False)
            if apart:
                yield _make_agreement_table(f"{about}, over prompts, for each two models", apart, pairs=True)
        yield from _make_model_tables(found, human.question)


def _make_agreement_table(title: str, lines: Sequence[Agreement], *, pairs: bool) -> _Table:
    names = sorted({line.statistic.name for line in lines}, key=_rank)
    rows: dict[tuple[Predictor, str, str], dict[str, Statistic]] = {}
    for line in lines:
        rows.setdefault((line.predictor, line.a, line.b), {})[line.statistic.name] = line.statistic
    cells = [
        (
            *_name(predictor),
            *([a, b] if pairs else []),
            *(_format(found.get(name)) for name in names),
            str(next(found[name].n for name in (RHO, *names[::-1]) if name in found)),
        )
        for (predictor, a, b), found in rows.items()
    ]
    shown_names = [name.removesuffix(SAME_PROMPT) for name in names]
    return _Table(title, ("metric", "measure", *(["a", "b"] if pairs else []), *shown_names, "n"), tuple(cells))


def _rank(name: str) -> int:
    return (ACCURACY, WITH_TIES, TAU, RHO, PHI).index(name.removesuffix(SAME_PROMPT))


def _make_model_tables(found: Validation, question: str) -> Iterator[_Table]:
    means = [
        (
            *_name(each.predictor),
            each.mean.model,
            f"{format_number(each.mean.people)} {format_interval(each.mean.people_ci)}",
            f"{format_number(each.mean.value)} {format_interval(each.mean.ci)}",
            str(each.mean.n),
        )
        for each in found.means
        if each.question == question
    ]
    if means:
        columns = ("metric", "measure", "model", "people", "metric", "n")
        yield _Table(f"{question}: people's mean beside the metric's, on the same images", columns, tuple(means))
    preferences = [each for each in found.preferences if each.question == question]
    if not preferences:
        return
    header = ("a", "b", "share for a", *_OF_PREFERENCES)
    rows = [(each.a, each.b, *_list_preference(each)) for each in preferences]
    yield _Table(f"{question}: people's choices between two models", header, tuple(rows))
    gaps = [
        (
            *_name(each.predictor),
            each.preference.a,
            each.preference.b,
            format_number(each.preference.share),
            _join(each.difference.value, each.difference.ci),
            str(each.difference.n_prompts),
        )
        for each in found.differences
        if each.preference.question == question
    ]
    if gaps:
        names = ("metric", "measure", "a", "b", "share for a", "difference a - b", "prompts")
        yield _Table(f"{question}: people's share beside the metric's difference", names, tuple(gaps))


def _make_baseline_tables(found: BaselineComparison) -> Iterator[_Table]:
    for question in dict.fromkeys(each.question for each in found.preferences):
        people = [(each.a, *_list_preference(each)) for each in found.preferences if each.question == question]
        header = ("model", "share for the model", *_OF_PREFERENCES)
        yield _Table(
            f"{question}: people's choices between each model and {found.baseline}", header, tuple(people)
        )
        rows = [
            (
                *_name(line.predictor),
                line.model,
                format_number(line.share),
                _join(line.difference, line.ci),
                _join(line.rho, line.rho_ci),
                format_p_value(line.p),
                str(line.n),
            )
            for line in found.metrics
            if line.question == question
        ]
        title = f"{question}: each metric's difference from {found.baseline} beside people's share"
        names = ("metric", "measure", "model", "share", f"model - {found.baseline}", "rho", "p", "n")
        yield _Table(title, names, tuple(rows))


_OF_PREFERENCES = ("alpha", "alpha with ties", "decided", "ties", "prompts", "people")


def _list_preference(found: HumanPreference) -> tuple[str, ...]:
    """Return share, alphas and counts as cells."""
    return (
        _join(found.share, found.ci),
        _join(found.alpha, found.alpha_ci),
        _join(found.alpha_with_ties, found.alpha_with_ties_ci),
        *map(str, (found.decided, found.ties, found.n_prompts, found.n_people)),
    )


def _join(value: float | None, ci: Range) -> str:
    """Return a value with its interval; one dash if there is no value."""
    return "-" if value is None else f"{format_number(value)} {format_interval(ci)}"


def _name(predictor: Predictor) -> tuple[str, str]:
    if predictor.metric is None:
        return PERSON, ""
    mark = {"lower": " (lower is better)", "none": " *", "not known": " *"}.get(predictor.direction, "")
    return make_title(predictor.metric, predictor.by), " ".join(
        filter(None, (predictor.measure, predictor.facet))
    ) + mark


def _format(found: Statistic | None) -> str:
    if found is None or found.value is None:
        return "-"
    ci = "" if found.lo is None else f" {format_interval((found.lo, found.hi))}"
    p = "" if found.p is None else f" p {format_p_value(found.p)}"
    epsilon = "" if found.epsilon is None else f" eps {found.epsilon:.3g}"
    return f"{format_number(found.value)}{ci}{p}{epsilon}"


def _explain(found: Validation) -> Iterator[str]:
    names = {line.statistic.name for line in found.agreements}
    directions = {line.predictor.direction for line in found.agreements}
    yield "95 % intervals over prompts, for these people"
    yield "accuracy: on the pairs that people decided; a tie of the metric counts half, so chance is 0.5"
    if any(name.startswith("accuracy with ties") for name in names):
        yield (
            "accuracy with ties: the metric ties values that differ by epsilon or less, cross-validated over "
            "prompts; eps is the best on all pairs"
        )
    if any(line.predictor.metric is None for line in found.agreements):
        yield (
            f"{PERSON}: each person beside the mean of the others, what a metric as good as a person would reach "
            "(a little low: the others are one fewer than those whom metrics are set beside)"
        )
    if directions & {"none", "not known"}:
        yield _NO_DIRECTION


_NO_DIRECTION = "*: no direction is known in which this measure is better; signs are left as they are"


def _explain_baseline(found: BaselineComparison) -> Iterator[str]:
    yield "95 % intervals over prompts, for these people; shares and alpha without ties, if not said otherwise"
    yield (
        "rho: Spearman over n prompts, of the metric's difference with people's share; both have the metric's own "
        "sign, so for a measure of which lower is better a negative rho is agreement"
    )
    if {line.predictor.direction for line in found.metrics} & {"none", "not known"}:
        yield _NO_DIRECTION


def _draw_markdown(table: _Table) -> Iterable[str]:
    def draw(cells: Iterable[str]) -> str:
        return f"| {' | '.join(escape_control_characters(cell).replace('|', chr(92) + '|') for cell in cells)} |"

    return [
        f"**{table.title}**",
        "",
        draw(table.columns),
        "|" + "---|" * len(table.columns),
        *map(draw, table.rows),
    ]
