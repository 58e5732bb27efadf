"""The analyses of seeds: against the golden case, and against chance."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api.errors import BadOption
from t2i_tiam.study.mined_seeds import mine_seeds, split
from t2i_tiam.study.seeds import best_and_worst
from t2i_tiam.study.tables import read_tables

TWO = "a photo of {1} and {2}"
OBJECTS = ("car", "zebra", "dog", "cat", "horse")


def crossed(runs, chances, seeds, rng, model="m"):
    """Rows in which the second object is found by chance: float64 (seeds,), the same for all 20 prompts."""
    drawn = {}

    def found(prompt, seed):
        return [True, drawn.setdefault((prompt.id, seed), rng.random() < chances[seed])]

    return runs.rows(model, runs.prompts(TWO, *OBJECTS), range(seeds), found)


@pytest.fixture(scope="module")
def golden_08(golden, runs):
    case = golden("tiam-08")
    matrix = case["inputs"]["f[prompt][seed]"]
    prompts = runs.prompts("a photo of {1}", "car", "zebra", "dog")
    place = {prompt.id: i for i, prompt in enumerate(prompts)}
    rows = runs.rows("m", prompts, range(4), lambda prompt, seed: [matrix[place[prompt.id]][seed]])
    return case["expected"], runs.analyses(runs.study(rows))


def test_golden_08_seeds_ranked(golden_08):
    expected, found = golden_08
    ranked = found["best and worst seeds"].table.sort_values("seed")
    np.testing.assert_allclose(ranked["mean"], expected["per_seed"], atol=1e-6)
    (effect,) = found["seed effect"].table.to_dict("records")
    assert (effect["best"], effect["worst"]) == (expected["best_seed"], expected["worst_seed"])
    np.testing.assert_allclose(found["seed scores"].table["m"], expected["per_seed"], atol=1e-6)
    (box,) = found["seed quartiles"].table.to_dict("records")
    assert (box["lowest"], box["median"], box["highest"]) == (0, 0.5, 1)


def test_golden_08_seeds_standardised(golden_08):
    expected, found = golden_08
    standardised = expected["per_seed_standardised(population sd)"]
    np.testing.assert_allclose(found["standardised seeds"].table["m"], standardised, atol=1e-6)


def test_golden_08_all_images_give_the_score(golden_08):
    expected, found = golden_08
    table = found["images per prompt"].table.set_index("images")
    assert list(table.index) == [1, 2, 4]
    assert table.loc[4, ["score", "low", "high"]].to_list() == [expected["TIAM"]] * 3
    assert (table.loc[1, "low"], table.loc[1, "high"]) == (0, 1)


def test_draws_of_fewer_images_spread_as_the_formula_says(runs):
    rng = np.random.default_rng(1)
    rows = crossed(runs, rng.uniform(0.2, 0.9, 32), 32, rng)
    table = runs.analyses(runs.study(rows))["images per prompt"].table.set_index("images")
    for k in (4, 8, 16):
        without_replacement = table.loc[1, "sd_new"] / np.sqrt(k) * np.sqrt(1 - k / 32)
        width = (table.loc[k, "high"] - table.loc[k, "low"]) / (2 * 1.96)
        assert width == pytest.approx(without_replacement, rel=0.25)
    assert table["score"].to_numpy() == pytest.approx(table.loc[32, "score"], abs=0.03)


@pytest.mark.long
def test_equal_seeds_gain_nothing_where_they_were_not_chosen(runs):
    """The interval holds 0 as often as it says, p is small no more often, and what the choice gained is chance.

    Ranges over few prompts tie, so p is rather large: core's own test has values without ties.
    """
    held, gains, p = [], [], []
    for i in range(25):
        study = runs.study(crossed(runs, np.full(12, 0.6), 12, np.random.default_rng(i)))
        tables = read_tables(study)
        (line,) = next(mine_seeds(tables, study, 3, 0.5)).table.to_dict("records")
        held.append(line["low"] <= 0 <= line["high"])
        gains.append((line["gain_where_chosen"], line["difference"]))
        _, effect = best_and_worst(tables)
        p.append(effect.table["p"].iloc[0])
    assert np.mean(held) == pytest.approx(0.95, abs=0.12)
    chosen, elsewhere = np.mean(gains, axis=0)
    assert chosen > 0.1
    assert elsewhere == pytest.approx(0, abs=0.04)
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p) <= level) <= level + 2.5 * np.sqrt(level * (1 - level) / len(p))
    assert min(p) < 0.2
    assert np.mean(p) < 0.8


def test_seeds_that_matter_are_mined(runs):
    chances = np.repeat([0.95, 0.4], [4, 12])
    study = runs.study(crossed(runs, chances, 16, np.random.default_rng(0)))
    (line,) = next(mine_seeds(read_tables(study), study, 4, 0.5)).table.to_dict("records")
    assert line["seeds"] == "0, 1, 2, 3"
    assert line["low"] > 0.2
    assert line["difference"] == pytest.approx(0.95 - chances.mean(), abs=0.12)


def test_no_prompt_chooses_seeds_for_the_same_objects_in_another_order(runs):
    prompts = read_tables(runs.study(crossed(runs, np.ones(2), 2, np.random.default_rng(0)))).prompts
    out = split(prompts, 0.5)
    assert len(out) == 10
    assert {"+".join(reversed(prompt.split("+"))) for prompt in out} == out
    assert split(prompts, 0.5) == out
    assert len(split(prompts, 0.2)) == 4


def test_more_seeds_than_there_are_cannot_be_mined(runs):
    study = runs.study(crossed(runs, np.ones(4), 4, np.random.default_rng(0)))
    with pytest.raises(BadOption, match=r"mined must be smaller than 4, .* of m \(got 4\)"):
        runs.analyses(study, mined=4)
    (line,) = runs.analyses(study)["mine-seeds"].table.to_dict("records")
    assert line["seeds"] == "0"
    assert (line["mined"], line["all"], line["difference"]) == (1, 1, 0)


def test_seeds_that_cannot_be_mined_are_told_where_that_was_asked_for(runs):
    study = runs.study(runs.rows("m", runs.prompts("a photo of {1}", "car", "zebra"), range(4), lambda *_: [True]))
    assert "mine-seeds" not in runs.analyses(study)
    with pytest.raises(BadOption, match="mined needs a model with at least two seeds"):
        runs.analyses(study, mined=2)


def test_each_seed_is_told_on_prompts_that_did_not_rank_it(runs):
    rows = crossed(runs, np.linspace(0.2, 0.9, 16), 16, np.random.default_rng(0))
    study = runs.study(rows)
    found, out = runs.analyses(study, mined=3), split(read_tables(study).prompts, 0.5)
    table, (line,) = found["seeds held out"].table, found["mine-seeds"].table.to_dict("records")
    assert table["rank"].to_list() == list(range(1, 17))
    assert list(table["chosen_by"]) == sorted(table["chosen_by"], reverse=True)
    assert ", ".join(map(str, table.loc[table["mined"], "seed"])) == line["seeds"]
    images = [row for row in rows if row["measure"] == "tiam"]
    for one in table.itertuples():
        for column, inside in (("chosen_by", False), ("held_out", True)):
            own = [row["value"] for row in images if row["seed"] == one.seed and (row["prompt"] in out) == inside]
            assert getattr(one, column) == pytest.approx(np.mean(own))
        assert one.low <= one.held_out <= one.high
        assert one.n == 10
    ends = found["good and bad seeds"].table
    assert ends["rank"].to_list() == [1, 2, 15, 16]


def test_models_with_one_seed_each_have_no_convergence(runs):
    prompts = runs.prompts(TWO, *OBJECTS)
    rows = [row for seed, model in enumerate("ab") for row in runs.rows(model, prompts, [seed], lambda *_: [1, 1])]
    found = runs.analyses(runs.study(rows))
    assert "images per prompt" not in found
    assert found["seed scores"].table.set_index("seed")["a"].dropna().to_dict() == {0: 1}


def test_equal_seeds_are_not_standardised_to_the_noise_of_floats(runs):
    prompts = runs.prompts("a photo of {1}", "car", "zebra", "dog", "cat", "horse", "bear")
    for right in range(1, 6):
        rows = runs.rows("m", prompts, range(7), lambda p, _, right=right: [p in prompts[:right]])
        assert runs.analyses(runs.study(rows))["standardised seeds"].table["m"].isna().all()


def test_seeds_of_models_that_share_them_correlate(runs):
    rng = np.random.default_rng(3)
    chances = rng.uniform(0.1, 0.95, 24)
    rows = [
        *crossed(runs, chances, 24, rng, "a"),
        *crossed(runs, chances / 2, 24, rng, "b"),
        *crossed(runs, np.full(24, 0.5), 24, rng, "c"),
    ]
    found = runs.analyses(runs.study(rows))
    table = found["seeds between models"].table.set_index(["a", "b"])
    assert table.loc[("a", "b"), "r"] > 0.6
    assert table.loc[("a", "b"), "p_adjusted"] < 0.01
    assert table.loc[("a", "c"), "p_unadjusted"] > 0.05
    standard = found["standardised seeds"].table.set_index("seed")
    np.testing.assert_allclose(standard.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(standard.std(ddof=0), 1)
    assert list(found["seed effect"].table["p"] < 0.05) == [True, True, False]


def test_failed_images_are_left_out(runs):
    rows = crossed(runs, np.full(8, 0.5), 8, np.random.default_rng(0))
    kept = [row for row in rows if (row["prompt"], row["seed"]) not in {("car+zebra", 3), ("dog+cat", 5)}]
    ranked = runs.analyses(runs.study(kept))["best and worst seeds"].table.set_index("seed")
    assert ranked["n"].to_dict() == {seed: 19 if seed in (3, 5) else 20 for seed in range(8)}
