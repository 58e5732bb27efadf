"""Online Elo: the published values, and its dependence on the order of the battles."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_arena_elo.battles import VERDICTS, Battle, Battles
from t2i_arena_elo.online import rate_online


@pytest.mark.parametrize("case", ["arena-elo-01", "arena-elo-02"])
def test_golden_online_elo(golden, case):
    data = golden(case)
    battles = Battles.of(Battle("", a, b, VERDICTS[said]) for a, b, said in data["inputs"]["battles[a,b,result]"])
    table = rate_online(battles, k_factor=4).set_index("model")
    assert dict(table["rating"]) == pytest.approx(data["expected"]["FastChat_online_elo_K4"], abs=1e-5)


def test_the_order_of_battles_matters_and_the_spread_shows_it(tournament):
    battles = tournament(np.random.default_rng(0), np.array([-0.5, 0.0, 0.5]), 40)
    ahead, back = (
        rate_online(battles.take(order), k_factor=32).set_index("model")
        for order in (np.arange(240), np.arange(240)[::-1])
    )
    moved = (ahead["rating"] - back["rating"]).abs()
    assert moved.max() > 5
    spread = ahead["highest"] - ahead["lowest"]
    assert (spread[moved.index] > moved).all()
    assert ahead["rating"].sum() == pytest.approx(3000)


def test_times_give_the_order():
    early, late = Battle("p", "a", "b", "left", time=1.0), Battle("q", "a", "b", "right", time=2.0)
    one, other = (rate_online(Battles.of(pair), k_factor=32) for pair in ((early, late), (late, early)))
    assert one.equals(other)
    assert one["model"].tolist() == ["b", "a"]  # the later win moves more, because it was not expected


def test_no_decided_battle_gives_no_rating():
    assert rate_online(Battles.of([Battle("p", "a", "b", "failed")])).empty
