"""Boards: the models of one metric with intervals, possible ranks and history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from t2i_core.api.errors import T2IError
from t2i_core.api.plugin_info import About
from t2i_core.results.compared_model import ComparedModel
from t2i_core.results.pair_comparison import adjust_comparisons, compare_pair
from t2i_core.results.pair_verdict import is_sure
from t2i_core.results.result import Comparison
from t2i_core.results.signature_line import Parts, describe_difference
from t2i_core.results.verdict import rank_models

from .entries import DIRECTIONS, BoardEntry, LeftOut
from .model_names import list_settings, name_models
from .public_text import Publish
from .repeat import write_repeat_command


@dataclass(frozen=True)
class BoardRow:
    """A model on a board.

    Attributes:
        name: The model's name on the site.
        entry: Its newest score under the board's conditions.
        first: The best rank that it may have; None if neither end of the scores is better.
        last: The worst rank that it may have; None likewise.
        compared: Number of other models that it is compared with, paired on prompts and seeds that both have.
        marks: Notes on samples that differ from those of the others, on missing comparisons, and on other weights
            or code in its history.
        history: All its scores under the board's conditions, the oldest first.
    """

    name: str
    entry: BoardEntry
    first: int | None
    last: int | None
    compared: int
    marks: tuple[str, ...]
    history: tuple[BoardEntry, ...]

    @property
    def ranks(self) -> str:
        """The ranks in words: `2`, or `2-4`; empty without ranks."""
        if self.first is None:
            return ""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def settings(self) -> str:
        """The options that were given for the model, in words."""
        return ", ".join(list_settings(self.entry))


@dataclass(frozen=True)
class Board:
    """The models of one metric, measured under the same conditions.

    Attributes:
        title: The metric, with the judges if runs measure it with several.
        rows: The models, the best first.
        comparisons: The differences of each two models, with p-values adjusted for all pairs of the board (Holm).
        left_out: Scores that were measured under other conditions.
    """

    title: str
    rows: Sequence[BoardRow]
    comparisons: Sequence[Comparison]
    left_out: Sequence[LeftOut]

    @property
    def reference(self) -> BoardEntry:
        """The first row's entry, whose settings are those of all."""
        return self.rows[0].entry

    @property
    def headline(self) -> str:
        """The title, with the name of the headline measure if that says more."""
        return self.reference.result.headline

    @property
    def about(self) -> About:
        """The metric in words: its meaning and its limits."""
        return self.reference.metric.info.about

    @property
    def settings(self) -> Parts:
        """The settings that all scores have in common."""
        return self.reference.conditions.settings

    @property
    def is_ranked(self) -> bool:
        """True if one end of the scores is better, so that models have ranks."""
        return self.reference.higher_is_better is not None

    @property
    def direction(self) -> str:
        """Which scores are better, in words."""
        return DIRECTIONS[self.reference.higher_is_better]

    @property
    def history(self) -> list[tuple[str, BoardEntry]]:
        """All scores of the board with their models' names, the newest first."""
        scores = [(row.name, entry) for row in self.rows for entry in row.history]
        return sorted(scores, key=lambda each: each[1].order, reverse=True)

    @property
    def significant(self) -> int:
        """Number of differences that are significant."""
        return sum(map(is_sure, self.comparisons))


def make_boards(entries: Iterable[BoardEntry], publish: Publish) -> list[Board]:
    """Return a board for each metric. Scores under different conditions are never on one board.

    The conditions of a board are those under which most models were measured; of several, those of the newest run.

    Args:
        entries: The scores.
        publish: Removes folders from the names of models.
    """
    by_title: dict[str, list[BoardEntry]] = {}
    for entry in entries:
        by_title.setdefault(entry.result.title, []).append(entry)
    names = name_models([entry for own in by_title.values() for entry in own], publish)
    return [_make_board(title, own, names) for title, own in sorted(by_title.items())]


def _make_board(title: str, entries: Sequence[BoardEntry], names: Mapping[str, str]) -> Board:
    groups: dict[Parts, list[BoardEntry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        groups.setdefault(entry.conditions.settings, []).append(entry)
    settings = max(groups, key=lambda parts: (len({e.identity for e in groups[parts]}), groups[parts][-1].order))
    own = groups.pop(settings)
    history: dict[str, list[BoardEntry]] = {}
    for entry in own:
        history.setdefault(entry.identity, []).append(entry)
    direction = own[0].higher_is_better
    sign = 1.0 if direction is False else -1.0
    newest = sorted((several[-1] for several in history.values()), key=lambda e: sign * (e.result.score or 0.0))
    current = {names[entry.identity]: entry for entry in newest}
    comparisons, missing = _compare_all(current)
    results = [
        entry.result.model_copy(update={"label": name, "higher_is_better": direction})
        for name, entry in current.items()
    ]
    usual = _find_usual_samples(list(current.values()))
    rows = []
    for standing in rank_models(results, comparisons):
        entry = current[standing.label]
        own_missing = missing.get(standing.label, {})
        row = BoardRow(
            standing.label,
            entry,
            None if direction is None else standing.first,
            None if direction is None else standing.last,
            len(current) - 1 - len(own_missing),
            (
                *_mark_samples(entry, usual),
                *_mark_other_code(history[entry.identity]),
                *(f"not compared with {o}: {why}" for o, why in own_missing.items()),
            ),
            tuple(history[entry.identity]),
        )
        rows.append(row)
    left_out = [
        _leave_out(entry, settings, history.get(entry.identity), rows[0].entry)
        for several in groups.values()
        for entry in several
    ]
    return Board(title, rows, comparisons, left_out)


def _leave_out(
    entry: BoardEntry, settings: Parts, on_board: Sequence[BoardEntry] | None, board: BoardEntry
) -> LeftOut:
    """Return a score under other conditions than the board's, with how to repeat it unless that has been done.

    Args:
        entry: The score.
        settings: The board's settings.
        on_board: The scores of its model on the board, the oldest first; None if the board lacks the model.
        board: A score of the board.
    """
    reason = describe_difference(entry.conditions.settings, settings)
    if on_board:
        reason = f"{reason}; the model is on the board already, from the run {on_board[-1].run.name}"
    command = "" if on_board else write_repeat_command(entry, board)
    return LeftOut(entry.run.name, reason, entry.result.title, entry.result.label, command)


def _compare_all(current: Mapping[str, BoardEntry]) -> tuple[list[Comparison], dict[str, dict[str, str]]]:
    """Return the comparisons of each two models, and why others are missing, by both models' names."""
    found: list[Comparison] = []
    missing: dict[str, dict[str, str]] = {}
    for (a, first), (b, second) in combinations(current.items(), 2):
        one = ComparedModel(first.run, first.result.label, a, first.result.by)
        other = ComparedModel(second.run, second.result.label, b, second.result.by)
        try:
            comparison, why = compare_pair(first.metric, one, other, trust=False)
        except T2IError as error:
            comparison, why = None, str(error)
        if comparison is None:
            missing.setdefault(a, {})[b] = why
            missing.setdefault(b, {})[a] = why
        else:
            found.append(comparison)
    return adjust_comparisons(found), missing


def _find_usual_samples(entries: Sequence[BoardEntry]) -> dict[str, list[str]]:
    """Return the prompts and the seeds that most entries have; several, if the same number of entries has each."""
    found: dict[str, Counter[str]] = {}
    for entry in entries:
        for key, value in entry.conditions.samples:
            found.setdefault(key, Counter())[value] += 1
    return {
        key: [value for value, count in counts.items() if count == max(counts.values())]
        for key, counts in found.items()
    }


def _mark_samples(entry: BoardEntry, usual: Mapping[str, Sequence[str]]) -> list[str]:
    """Return notes on prompts and seeds that differ from the usual ones, and on seeds that are not shared."""
    marks = [
        f"measured with {key} {value}, others with {' or '.join(others)}: compare by the paired differences, "
        "not by the scores"
        for key, value in entry.conditions.samples
        if (others := [each for each in usual[key] if each != value])
    ]
    if entry.result.n_missing:
        marks.append(f"{entry.result.n_missing} of its samples are missing")
    if entry.unchecked:
        marks.append(entry.unchecked)
    if entry.model.unshared_seeds is not None:
        marks.append(f"seeds are not shared: {entry.model.unshared_seeds}")
    return marks


def _mark_other_code(history: Sequence[BoardEntry]) -> list[str]:
    """Return a note if runs of one model, which its name and options identify, differ in its weights or code."""
    several = len({entry.model.fingerprint for entry in history}) > 1
    return ["runs of this name have other weights or code: see its history"] if several else []
