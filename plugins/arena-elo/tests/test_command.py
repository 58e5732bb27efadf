"""`t2i arena rate`, as a user calls it."""

from __future__ import annotations

import json

import pytest
from t2i_arena_elo.battles import Battle, write_battles
from t2i_arena_elo.command import app
from typer.testing import CliRunner


@pytest.fixture
def rate(tmp_path):
    def rate(*files, options=()):
        names = []
        for n, battles in enumerate(files):
            write_battles(tmp_path / f"{n}.csv", battles)
            names.append(str(tmp_path / f"{n}.csv"))
        return CliRunner().invoke(app, ["rate", *names, "--rounds", "50", *options], catch_exceptions=False)

    return rate


BATTLES = [Battle(f"p{n}", *("ab" if n % 2 else "ba"), "left" if n % 3 else "right") for n in range(24)]


def test_ratings_are_shown(rate):
    shown = rate(BATTLES).output
    assert "1 (1-2)   1000.0" in shown
    assert "24 battles" not in shown
    assert "shown first: +120.4 points" in shown
    assert "battles: 16 left, 8 right" in shown
    assert "resampled: prompts" in shown


def test_files_count_together_and_json_is_plain(rate):
    data = json.loads(rate(BATTLES, BATTLES[:12], options=["--json"]).output)
    assert sum(data["counts"].values()) == 36
    assert [m["battles"] for m in data["models"]] == [36, 36]
    assert data["position"]["share"] == pytest.approx(2 / 3)


def test_what_does_not_exist_is_null(rate):
    data = json.loads(
        rate([Battle("p", "a", "b", "left"), Battle("p", "a", "c", "refused")], options=["--json"]).output
    )
    last = data["models"][-1]
    assert (last["model"], last["rating"], last["rank"]) == ("c", None, None)
    assert data["position"] is None
    assert any("regularised" in note for note in data["notes"])
