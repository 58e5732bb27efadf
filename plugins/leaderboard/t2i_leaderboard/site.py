"""The static site: pages, JSON, CSV, and the card of a hub Space."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup
from t2i_core.api.errors import BadFolder
from t2i_core.api.text import fit_one_line
from t2i_core.files.slug import make_slug
from t2i_core.files.spreadsheet import escape
from t2i_core.results.html_parts import make_policy
from t2i_core.results.output_file import write_atomically
from t2i_core.results.pair_verdict import is_sure
from t2i_web_support.templates import make_environment, read_style

from .boards import Board, BoardRow
from .entries import BoardEntry, LeftOut
from .interval_plot import HistoryPlot, plot_history, plot_intervals
from .public_text import Publish, publish_data
from .verification import Verification

DATA = "leaderboard.json"
CARD = "README.md"

_PAGE = re.compile(r"(metric|model)-[A-Za-z0-9_.-]+\.html")
_LONGEST_NAME = 80
_STATIC = files(__package__) / "static"


@dataclass(frozen=True)
class ModelPage:
    """A model with its places on the boards.

    Attributes:
        name: The model's name on the site.
        places: The boards that it is on, with its rows and the plots of their history.
    """

    name: str
    places: Sequence[tuple[Board, BoardRow, HistoryPlot | None]]

    @property
    def entry(self) -> BoardEntry:
        """Its newest score."""
        return max((row.entry for _, row, _ in self.places), key=lambda entry: entry.order)


def write_site(
    boards: Sequence[Board],
    left_out: Sequence[LeftOut],
    verified: Sequence[Verification],
    out: Path,
    title: str,
    publish: Publish,
) -> None:
    """Write the site into a folder, in place of an earlier one.

    Args:
        boards: The boards.
        left_out: Runs and scores that no board shows.
        verified: The verification of scores; empty without `--verify`.
        out: The folder.
        title: The title of the site.
        publish: Removes folders from the texts of runs.

    Raises:
        BadFolder: If the folder has other files, or cannot be written.
    """
    _prepare_folder(out)
    models = _list_models(boards)
    metric_files = _name_files("metric", [board.title for board in boards], publish)
    model_files = _name_files("model", [model.name for model in models], publish)
    checks = {(v.entry.run.folder, v.entry.result.title, v.entry.result.label): v for v in verified}
    style = read_style() + (_STATIC / "board.css").read_text(encoding="utf-8")
    script = (_STATIC / "sort.js").read_text(encoding="utf-8")
    known = {
        "site": title,
        "boards": boards,
        "models": models,
        "left_out": left_out,
        "metric_files": metric_files,
        "model_files": model_files,
        "plots": {board.title: plot_intervals([row.entry.result for row in board.rows]) for board in boards},
        "check_of": lambda entry: _describe_check(checks, entry),
        "is_sure": is_sure,
        "short": lambda text, longest=_LONGEST_NAME: _shorten(publish(text), longest),
        "is_public": lambda text: publish(text) == text,
        "style": Markup(style),
        "script": Markup(script),
        "policy": make_policy(style, script),
    }
    _write_page(out / "index.html", "index.html", known)
    for board in boards:
        _write_page(out / metric_files[board.title], "metric.html", known | {"board": board})
    for model in models:
        _write_page(out / model_files[model.name], "model.html", known | {"model": model})
    rows = [publish_data(_describe_row(board, row, checks), publish) for board in boards for row in board.rows]
    content = publish_data(_describe_site(boards, left_out, checks, title, publish), publish)
    _write_text(out / DATA, json.dumps(content, indent=1, allow_nan=False))
    with write_atomically(out / "leaderboard.csv") as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        table = [_flatten_row(row) for row in rows]
        writer.writerow(table[0])
        for row in table:
            writer.writerow(["" if cell is None else escape(cell) for cell in row.values()])
    if not (out / CARD).exists():  # its owner may have changed it
        _write_text(out / CARD, f"---\ntitle: {json.dumps(_shorten(title))}\nsdk: static\n---\n")
    _remove_stale_pages(out, {*metric_files.values(), *model_files.values()})


def _prepare_folder(out: Path) -> None:
    """Create the folder. It may have an earlier site, or the card and the git files of a Space."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        others = [file for file in out.iterdir() if file.name != CARD and not file.name.startswith(".git")]
    except OSError as error:
        raise BadFolder(f"{out}: cannot be written ({error.strerror or error})") from error
    if others and not (out / DATA).is_file():
        raise BadFolder(f"{out}: has other files and is not an earlier site; name an empty folder")


def _remove_stale_pages(out: Path, pages: Container[str]) -> None:
    """Remove pages of an earlier site; last, so that a site whose writing fails is not left without them."""
    try:
        for file in out.iterdir():
            if _PAGE.fullmatch(file.name) and file.name not in pages and not file.is_dir():
                file.unlink()
    except OSError as error:
        raise BadFolder(f"{out}: an earlier page cannot be removed ({error.strerror or error})") from error


def _list_models(boards: Iterable[Board]) -> list[ModelPage]:
    places: dict[str, list[tuple[Board, BoardRow, HistoryPlot | None]]] = {}
    for board in boards:
        for row in board.rows:
            plot = plot_history([(entry.date, entry.result) for entry in row.history])
            places.setdefault(row.name, []).append((board, row, plot))
    return [ModelPage(name, places[name]) for name in sorted(places)]


def _name_files(kind: str, names: Iterable[str], publish: Publish) -> dict[str, str]:
    """Return a file name for each name; no two are equal, in whatever letter case."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        slug = make_slug(publish(name))[:_LONGEST_NAME]
        file, count = f"{kind}-{slug}.html", 1
        while file.casefold() in taken:
            count += 1
            file = f"{kind}-{slug}-{count}.html"
        taken.add(file.casefold())
        found[name] = file
    return found


def _write_page(target: Path, template: str, known: Mapping[str, Any]) -> None:
    _write_text(target, make_environment(__package__).get_template(template).render(known))


def _write_text(target: Path, text: str) -> None:
    with write_atomically(target) as part:
        part.write_text(text, encoding="utf-8", newline="\n", errors="backslashreplace")


def _shorten(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text of a run as one line of bounded length."""
    line = fit_one_line(text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


Checks = Mapping[tuple[Path, str, str], Verification]


def _describe_check(checks: Checks, entry: BoardEntry) -> str:
    """Return how far a score was verified, in words; empty if verification was not asked for."""
    found = checks.get((entry.run.folder, entry.result.title, entry.result.label))
    if found is None:
        return ""
    return (
        f"not verified: {found.skipped}" if found.skipped else f"{found.images} images judged anew: no difference"
    )


def _describe_row(board: Board, row: BoardRow, checks: Checks) -> dict[str, Any]:
    result = row.entry.result
    return {
        "metric": board.title,
        "model": row.name,
        "settings": {str(key): value for key, value in result.settings.items()},
        "rank_first": row.first,
        "rank_last": row.last,
        "score": result.score,
        "ci": list(result.ci or (None, None)),
        "n_prompts": result.n_prompts_ok,
        "n_samples": result.n_ok,
        "n_failed": result.n_failed,
        "n_missing": result.n_missing,
        "n_excluded": result.n_excluded,
        "compared": row.compared,
        "run": row.entry.run.name,
        "date": row.entry.date,
        "signature": result.signature,
        "verification": _describe_check(checks, row.entry) or None,
        "marks": list(row.marks),
        "history": [
            {
                "date": entry.date,
                "run": entry.run.name,
                "score": entry.result.score,
                "ci": list(entry.result.ci or (None, None)),
            }
            for entry in row.history
        ],
    }


def _flatten_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the JSON as the CSV has it, by column."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if name == "ci":
            cells["low"], cells["high"] = value
        elif name == "settings":
            cells[name] = ", ".join(f"{key}={each}" for key, each in value.items())
        elif name == "marks":
            cells[name] = "; ".join(value)
        elif name != "history":
            cells[name] = value
    return cells


def _describe_site(
    boards: Sequence[Board], left_out: Sequence[LeftOut], checks: Checks, title: str, publish: Publish
) -> dict[str, Any]:
    return {
        "title": title,
        "boards": [
            {
                "metric": board.title,
                "measure": next(iter(board.reference.result.scores), None),
                "higher_is_better": board.reference.higher_is_better,
                "settings": [list(part) for part in board.settings],
                "rows": [_describe_row(board, row, checks) for row in board.rows],
                "comparisons": [each.model_dump() for each in board.comparisons],
                "left_out": [_describe_left_out(each, publish) for each in board.left_out],
            }
            for board in boards
        ],
        "left_out": [_describe_left_out(each, publish) for each in left_out],
    }


def _describe_left_out(each: LeftOut, publish: Publish) -> dict[str, Any]:
    return {
        "run": each.run,
        "metric": each.metric,
        "model": each.model,
        "reason": each.reason,
        "command": each.command if each.command and publish(each.command) == each.command else None,
    }
