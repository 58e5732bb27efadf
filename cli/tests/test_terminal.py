"""Texts of others are shown as they are, and nothing in them steers the terminal."""

from __future__ import annotations

import io
import json
import sys

import pytest
from rich.console import Console
from t2i_cli.commands import say_error
from t2i_cli.progress import Lines
from t2i_core.api.terminal import print_json, shown
from t2i_core.results.score_tables import print_results

NASTY = "[red]x[/] :car: \x1b[2J\x07\x9b5m\r\n\u202egnp\u2066 \ud83d\0 👩‍👩‍👧 שלום e\u0301 \\"
SHOWN = "[red]x[/] :car: \\x1b[2J\\x07\\x9b5m\\r\\n\\u202egnp\\u2066 \\ud83d\\x00 👩‍👩‍👧 שלום e\u0301 \\"


def result(name: str) -> dict[str, object]:
    one = {"value": 1.0, "ci": [0.5, 1.0]}
    return {
        "metric": "m", "as": name, "score": 1.0, "ci": [0.5, 1.0], "prompts": name, "n_prompts": 1, "n_ok": 1,
        "n_failed": 1, "n_missing": 0, "n_excluded": 0, "judge": {"name": name}, "scores": {"a": one, name: one},
        "interval": name,
        "facets": {"a": {"by": {name: one}}}, "notes": [name],
    }  # fmt: skip


def test_text_is_shown_to_the_letter() -> None:
    file = io.StringIO()
    console = Console(file=file, width=1000, force_terminal=True, color_system=None)
    console.print(shown(NASTY))
    assert file.getvalue() == SHOWN + "\n"


def test_what_was_excluded_is_counted_where_anything_was() -> None:
    def header(*results: dict[str, object]) -> list[str]:
        file = io.StringIO()
        print_results(Console(file=file, width=2000), {"results": results, "comparisons": []})
        return file.getvalue().splitlines()[0].split()

    plain = header(result("a"))
    assert "excluded" not in plain
    found = header(result("a"), {**result("b"), "n_excluded": 3})
    assert found[found.index("missing") :] == ["missing", "excluded", "judge"]


def test_prompts_without_a_value_are_told() -> None:
    file = io.StringIO()
    results = [{**result("l"), "n_prompts": 81, "n_prompts_ok": ok} for ok in (42, 81)]
    print_results(Console(file=file, width=2000), {"results": [*results, result("old")], "comparisons": []})
    assert [part in file.getvalue() for part in ("l (42 of 81)", "l (81)", "old (1)")] == [True] * 3


def test_results_show_names_to_the_letter() -> None:
    file = io.StringIO()
    comparison = {"metric": "m", "a": NASTY, "b": NASTY, "diff": 0.0, "ci": None, "p": None, "n": 1}
    print_results(Console(file=file, width=2000), {"results": [result(NASTY)], "comparisons": [comparison]})
    # as model, prompts and judge; three times as model and once as name and level of scores and facets; in the
    # comparison; as interval and note
    assert file.getvalue().count(SHOWN) == 3 + 3 + 2 + 2 + 2
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
