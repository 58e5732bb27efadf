"""`t2i arena tally` of files of battles, as a user calls it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from t2i_arena_elo.battle_files import write_battles
from t2i_arena_elo.battles import Battle
from t2i_arena_elo.command import app
from typer.testing import CliRunner


@pytest.fixture
def tally(tmp_path):
    def tally(*files, options=()):
        names = []
        for n, battles in enumerate(files):
            write_battles(tmp_path / f"{n}.csv", battles)
            names.append(str(tmp_path / f"{n}.csv"))
        return CliRunner().invoke(app, ["tally", *names, "--rounds", "100", *options], catch_exceptions=False)

    return tally


BATTLES = [Battle(f"p{n}", *("ab" if n % 2 else "ba"), "left" if n % 3 else "right") for n in range(24)]


def test_ratings_are_shown(tally):
    shown = tally(BATTLES).output
    assert "1 (1-2)   1000.0" in shown
    assert "ratings, judge not named" in shown
    assert "Krippendorff" not in shown  # one judge agrees with nobody else
    assert "shown first: +120.4 points" in shown
    assert "battles: 16 left, 8 right" in shown
    assert "resampled: prompts" in shown


def test_files_count_together_and_json_is_plain(tally):
    data = json.loads(tally(BATTLES, BATTLES[:12], options=["--json"]).output)["ratings"]["judge not named"]
    assert sum(data["counts"].values()) == 36
    assert [m["battles"] for m in data["models"]] == [36, 36]
    assert data["position"]["share"] == pytest.approx(2 / 3)


def test_subsets_are_rated_apart_and_a_battle_of_two_counts_in_both(tally):
    subsets = ["easy", "hard", "easy | hard"]
    battles = [replace(battle, subset=subsets[n % 3]) for n, battle in enumerate(BATTLES)]
    data = json.loads(tally(battles, options=["--json"]).output)["by_subset"]["judge not named"]
    assert {name: own["models"][0]["battles"] for name, own in data.items()} == {"easy": 16, "hard": 16}
    alone = json.loads(tally([b for b in battles if "easy" in b.subset], options=["--json"]).output)
    assert data["easy"] == alone["ratings"]["judge not named"]
    assert "ratings by subset, judge not named" in tally(battles).output


def test_a_subset_of_two_prompts_says_that_it_is_small(tally):
    rare = [Battle(f"q{n}", "a", "b", "left", subset="rare") for n in range(2)]
    shown = tally([*(replace(battle, subset="easy") for battle in BATTLES), *rare]).output
    (note,) = [line for line in shown.splitlines() if line.startswith("note on rare: 2 prompts")]
    assert "10" in note


def test_online_elo_stands_beside_the_ratings(tally):
    data = json.loads(tally(BATTLES, options=["--json", "--online", "4"]).output)["online"]["judge not named"]
    assert {row["model"] for row in data} == {"a", "b"}
    assert all(row["lowest"] <= row["mean"] <= row["highest"] for row in data)
    assert "online Elo" in tally(BATTLES, options=["--online", "32"]).output
    assert json.loads(tally(BATTLES, options=["--json"]).output)["online"] == {}


def test_missing_values_are_null(tally):
    data = json.loads(
        tally([Battle("p", "a", "b", "left"), Battle("p", "a", "c", "refused")], options=["--json"]).output
    )
    data = data["ratings"]["judge not named"]
    last = data["models"][-1]
    assert (last["model"], last["rating"], last["rank"]) == ("c", None, None)
    assert data["position"] is None
    assert any("regularised" in note for note in data["notes"])
    assert [m["regularised"] for m in data["models"]] == [True, True, False]


def test_regularised_ratings_are_marked(tally):
    never_lost = tally([Battle(f"p{n}", "a", "b", "left") for n in range(3)]).output
    assert "1203.4* [959.2, 1447.5]" in " ".join(never_lost.split())
    assert "* regularised: see the note" in never_lost
    assert "*" not in tally(BATTLES).output


def test_the_order_term_can_be_left_out(tally):
    shown = tally(BATTLES, options=["--no-position"]).output
    assert "shown first" not in shown
    assert "ratings, judge not named" in shown


def test_models_that_judge_may_be_called_as_the_sections_are(tally):
    """A file whose column `human` is empty, and a person who is called as a model is."""
    said = [replace(battle, judge=name) for battle in BATTLES for name in ("people", "together")]
    turned = {"left": "right", "right": "left"}
    person = [replace(b, judge="people", human=True, verdict=turned[b.verdict]) for b in BATTLES]
    data = json.loads(tally([*said, *person], options=["--json"]).output)
    battles = {name: sum(part["counts"].values()) for name, part in data["ratings"].items()}
    assert battles == {"together": 72, "people": 24, "judge people": 24, "judge together": 24}
    (alpha,) = (line for line in data["agreement"] if line["of"] == "verdicts of people and models")
    assert alpha["judges"] == 3
    # the two models agree wholly, the person with neither
    assert alpha["alpha"] < 0


def test_battles_of_a_source_that_drew_few_pairs_count_as_much_as_others(tally):
    """Three fourths of the first judge's battles are won by a, and a fourth of those of the second."""
    plain = [
        Battle(f"p{n}", *("ab" if n % 2 else "ba"), "left" if n % 2 ^ (n % 8 < 2) else "right", judge="all")
        for n in range(40)
    ]
    turned = {"left": "right", "right": "left"}
    drawn = [replace(b, verdict=turned[b.verdict], judge="few", propensity=0.1) for b in plain]
    found = json.loads(tally(plain, drawn, options=["--json"]).output)["ratings"]
    first = {name: {m["model"]: m["rating"] for m in part["models"]} for name, part in found.items()}
    assert first["together"]["a"] == pytest.approx(1000)
    assert first["all"]["a"] > 1050
    assert not any("weigh inversely" in note for note in found["together"]["notes"])
    uneven = [replace(b, propensity=0.2 if n < 20 else 0.8) for n, b in enumerate(drawn)]
    notes = json.loads(tally(plain, uneven, options=["--json"]).output)["ratings"]["together"]["notes"]
    assert any("weigh inversely" in note for note in notes)
