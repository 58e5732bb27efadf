"""Texts of others are shown as they are, and nothing in them steers the terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from t2i_cli.commands import say_error
from t2i_core.api.progress_display import Lines
from t2i_core.api.terminal import console, make_table, print_json, print_rows, shown
from t2i_core.results.result import Comparison, JudgeName, Result, Score
from t2i_core.results.score_tables import print_results

NASTY = "[red]x[/] :car: \x1b[2J\x07\x9b5m\r\n\u202egnp\u2066 \ud83d\0 👩‍👩‍👧 שלום e\u0301 \\"
SHOWN = "[red]x[/] :car: \\x1b[2J\\x07\\x9b5m\\r\\n\\u202egnp\\u2066 \\ud83d\\x00 👩‍👩‍👧 שלום e\u0301 \\"


Named = Callable[..., Result]


@pytest.fixture
def named(make_result: Callable[..., Result]) -> Named:
    """Make a result in which every text is a name."""

    def make(name: str, **more: Any) -> Result:
        one = Score(value=1.0, ci=[0.5, 1.0])
        texts: dict[str, Any] = {"prompts": name, "judge": JudgeName(name=name, why=""), "interval": name}
        facets = {"a": {"by": {name: one}}}
        return make_result(name, **texts, scores={"a": one, name: one}, facets=facets, notes=[name], **more)

    return make


def test_text_is_shown_to_the_letter() -> None:
    file = io.StringIO()
    console = Console(file=file, width=1000, force_terminal=True, color_system=None)
    console.print(shown(NASTY))
    assert file.getvalue() == SHOWN + "\n"


@pytest.mark.parametrize("width", [120, 30])
def test_a_table_of_many_rows_looks_like_any_other(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    titles, rows = ("run", "text", "score"), [("a", NASTY, "0.5"), ("longer", "שלום 漢字", ""), ("", "", "1")]
    table = make_table(*titles)
    for row in rows:
        table.add_row(*map(shown, row))
    console().print(table)
    wanted = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    print_rows(titles, rows)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == wanted
    print_rows(titles, [])
    assert capsys.readouterr().out.split() == [*titles]


def test_a_table_of_many_rows_is_printed_without_richs_layout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Table, "add_row")  # which takes a millisecond for a row
    print_rows(("run", "status", "score"), [(f"run-{number:04d}", "done", "0.5") for number in range(3000)])
    assert len(capsys.readouterr().out.splitlines()) == 3001


def test_excluded_samples_are_counted_if_there_are_any(named: Named) -> None:
    def header(*results: Result) -> list[str]:
        file = io.StringIO()
        print_results(Console(file=file, width=2000), results, [])
        return file.getvalue().splitlines()[0].split()

    plain = header(named("a"))
    assert "excluded" not in plain
    found = header(named("a"), named("b", n_excluded=3))
    assert found[found.index("missing") :] == ["missing", "excluded", "judge"]


def test_prompts_without_a_value_are_told(named: Named) -> None:
    file = io.StringIO()
    results = [named("l", n_prompts=81, n_prompts_ok=ok) for ok in (42, 81)]
    print_results(Console(file=file, width=2000), results, [])
    assert [part in file.getvalue() for part in ("l (42 of 81)", "l (81)")] == [True] * 2


def test_results_show_names_to_the_letter(named: Named) -> None:
    file = io.StringIO()
    comparison = Comparison(
        metric="m",
        a=NASTY,
        b=NASTY,
        diff=0.0,
        ci=[None, None],
        p_adjusted=None,
        p_unadjusted=None,
        n=1,
        interval="",
    )
    print_results(Console(file=file, width=2000), [named(NASTY)], [comparison])
    # as model, prompts and judge; three times as model and once as name and level of scores and facets; in the
    # comparison; as interval and note; in the verdict
    assert file.getvalue().count(SHOWN) == 3 + 3 + 2 + 2 + 2 + 1
    assert not set(file.getvalue()) & set("\x1b\x07\x9b\r\u202e\u2066\ud83d\0")


def test_errors_and_progress_do_not_steer_either(capsys: pytest.CaptureFixture[str]) -> None:
    say_error(f"no {NASTY}")
    assert capsys.readouterr().err == f"error: no {SHOWN.replace(chr(92) + 'r' + chr(92) + 'n', ' ')}\n"
    stream = io.StringIO()
    Lines(stream).note(NASTY)
    assert stream.getvalue() == SHOWN + "\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_survives_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"name": NASTY, "n": 1.5}
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    print_json(data)
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode(encoding)) == data
