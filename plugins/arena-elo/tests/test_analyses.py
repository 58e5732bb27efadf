from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu, wilcoxon
from t2i_arena_elo.analyses import analyses
from t2i_arena_elo.battle_files import write_battles
from t2i_arena_elo.battles import VERDICTS, Battle, Battles
from t2i_arena_elo.options import EloOptions, RewardMetricOptions
from t2i_arena_elo.ratings import rate
from t2i_arena_elo.reward_tests import analyses as reward_analyses
from t2i_arena_elo.source_comparison import change, confusion
from t2i_arena_elo.summary import ModelStanding, find_best
from t2i_core.api.errors import BadOption
from t2i_core.api.metric_output import Measure
from t2i_core.api.study import Study
from t2i_core.statistics import holm, mean_interval, spearman
from t2i_core.testing.figures import check_figure

SAMPLES = pd.DataFrame(
    {
        "model": ["a", "a", "b"],
        "prompt": ["p", "q", "p"],
        "status": ["ok", "ok", "missing"],
        "digest": ["1", "1", None],
    }
)


def of(battles, table_of, tmp_path, subsets=None, **options):
    facets = {"subset": subsets} if subsets else {}
    study = Study(table_of(battles, **facets), SAMPLES, tmp_path)
    return {found.name: found for found in analyses(study, EloOptions(**options))}


@pytest.fixture
def battles(tournament):
    return list(tournament(np.random.default_rng(0), np.array([-0.5, 0.0, 0.5]), 12, gamma=0.2))


def test_tables_of_a_run(battles, table_of, tmp_path):
    subsets = {f"p{n}": "easy" if n < 6 else "hard" for n in range(12)}
    extra = [Battle("p0", "m0", "m1", "unparsable"), Battle("p7", "m1", "m0", "both-bad")]
    found = of([*battles, *extra], table_of, tmp_path, subsets=subsets)
    assert list(found) == [
        *(
            "ratings",
            "position",
            "ratings by subset",
            "verdicts",
            "images",
            "online",
            "verdicts by subset",
            "top-1",
        )
    ]
    assert found["ratings"].table["model"].tolist() == ["m2", "m1", "m0"]
    by = found["ratings by subset"].table
    assert by.groupby("subset")["battles"].sum().to_dict() == {"easy": 72, "hard": 74}
    verdicts = found["verdicts"].table.set_index(["level", "model"])
    assert verdicts.loc[("easy", "m0"), "unparsable"] == pytest.approx(1 / 25)
    assert verdicts.loc[("hard", "m1"), "both-bad"] == pytest.approx(1 / 25)
    shares = verdicts[["won", "lost", "tie", "both-bad", "unparsable", "refused", "failed"]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1)
    first = found["position"].table.iloc[0]
    won = [b.verdict for b in battles if b.verdict in ("left", "right")]
    assert first["first_won"] == pytest.approx(won.count("left") / len(won))
    assert found["images"].table.loc[0, ["distinct", "shared", "reused"]].tolist() == [1, 2, 1]
    assert "a: 1 distinct images of 2, 1 had been used for an earlier prompt" in found["images"].summary
    for analysis in found.values():
        if analysis.figure is not None:
            assert ("this run" if analysis.name == "verdicts by subset" else "m0") in check_figure(analysis)


def test_a_run_of_published_battles_has_no_images_to_count(battles, table_of, tmp_path):
    found = [each.name for each in analyses(Study(table_of(battles), SAMPLES.iloc[:0], tmp_path), EloOptions())]
    assert "ratings" in found
    assert "images" not in found


def test_a_prompt_of_two_subsets_counts_in_both(battles, table_of, tmp_path):
    subsets = {f"p{n}": ["easy", "easy | hard", "hard"][n % 3] for n in range(12)}
    by = of(battles, table_of, tmp_path, subsets=subsets)["ratings by subset"]
    assert by.table.groupby("subset")["battles"].sum().to_dict() == {"easy": 96, "hard": 96}
    assert "hard: 8 prompts" in by.summary  # fewer than 10


# judges side by side ------------------------------------------------------------------------------------------


@pytest.fixture
def people(battles, tmp_path):
    votes = [
        replace(battle, judge=f"person {n % 3}", human=True, verdict=battle.verdict if n % 3 else VERDICTS[n % 4])
        for n, battle in enumerate(battles)
    ]
    write_battles(tmp_path / "people.csv", votes)
    return votes


def test_ratings_and_verdicts_of_people_stand_beside_the_judges(battles, people, table_of, tmp_path):
    subsets = {f"p{n}": "easy" if n < 6 else "hard" for n in range(12)}
    found = of(battles, table_of, tmp_path, subsets=subsets, beside=[tmp_path / "people.csv"])
    by = found["ratings by judge"].table.set_index(["judge", "model"])
    for judge, own in (("this run", battles), ("people.csv, people", people)):
        alone = rate(Battles.of(own)).table.set_index("model")
        assert by.loc[judge]["rating"].to_dict() == pytest.approx(alone["rating"].to_dict())
        assert by.loc[judge]["low"].to_dict() == pytest.approx(alone["low"].to_dict())
    expected = spearman(*(by.loc[judge].sort_index()["rating"] for judge in ("this run", "people.csv, people")))
    assert f"rho {expected.value:.2f}, p = {expected.p:.2g} (3 models)" in found["ratings by judge"].summary
    shares = found["verdicts by subset"].table.set_index(["judge", "subset"])
    easy = [vote for vote in people if subsets[vote.prompt] == "easy"]  # the file has no subsets, the run has
    assert shares.loc[("people.csv, people", "easy"), "decided"] == len(easy)
    for name, verdict in (("first", "left"), ("second", "right"), ("both bad", "both-bad")):
        share = sum(vote.verdict == verdict for vote in easy) / len(easy)
        assert shares.loc[("people.csv, people", "easy"), name] == pytest.approx(share)
    assert set(found["top-1"].table["metric"]) == {"elo", "elo, people.csv, people"}
    for name in ("ratings by judge", "verdicts by subset"):
        assert "people.csv" in check_figure(found[name])


def test_the_change_by_definitions_is_that_of_each_judge(battles, people, table_of, tmp_path):
    turned = [replace(battle, verdict="left") for battle in battles]
    write_battles(tmp_path / "plain.csv", [*turned, *(replace(vote, verdict="tie") for vote in people)])
    found = of(battles, table_of, tmp_path, beside=[tmp_path / "people.csv"], without=[tmp_path / "plain.csv"])[
        "change by definitions"
    ]
    table = found.table.set_index(["judge", "model"])
    alone = change(Battles.of(battles), Battles.of(turned), EloOptions()).set_index("model")
    assert table.loc["models", "change"].to_dict() == pytest.approx(alone["change"].to_dict())
    assert table.loc["people", "prompts"].tolist() == [12] * 3
    assert "people" in check_figure(found)


def test_definitions_without_a_battle_in_common_are_refused(battles, table_of, tmp_path):
    write_battles(tmp_path / "plain.csv", [Battle("elsewhere", "m0", "m1", "left")])
    with pytest.raises(BadOption):
        of(battles, table_of, tmp_path, without=[tmp_path / "plain.csv"])


def test_ties_can_be_left_out_of_the_confusion(battles, people, table_of, tmp_path):
    paths = [tmp_path / "people.csv"]
    full, part = (
        of(battles, table_of, tmp_path, beside=paths, confusion_ties=ties)["confusion with people.csv"].table
        for ties in (True, False)
    )
    assert "tie" in full.columns
    assert "tie" not in part.columns
    assert part["first"].sum() == full.loc[full["here"] != "tie", "first"].sum()


# beside -------------------------------------------------------------------------------------------------------


def test_confusion_knows_no_order():
    here = Battles.of([Battle("p", "a", "b", "left"), Battle("q", "b", "a", "left"), Battle("r", "a", "b", "tie")])
    there = Battles.of([Battle("p", "b", "a", "left"), Battle("q", "a", "b", "right", seed=3)])
    table = confusion(here, there)
    assert table.loc["first", "second"] == 1
    assert table.loc["second", "second"] == 1
    assert table.to_numpy().sum() == 2


def test_battles_of_other_seeds_are_not_the_same_images():
    here, there = (Battles.of([Battle("p", "a", "b", "left", seed=seed)]) for seed in (0, 1))
    assert confusion(here, there).to_numpy().sum() == 0


def test_change_is_paired_by_prompt():
    def source(won, prompts):
        said = ["left"] * won + ["right"] * (prompts - won)
        return Battles.of(Battle(f"p{n}", "a", "b", verdict) for n, verdict in enumerate(said))

    table = change(source(8, 10), source(6, 12), EloOptions()).set_index("model")
    assert table.loc["a", ["here", "there", "change", "prompts"]].tolist() == pytest.approx([0.8, 0.6, 0.2, 10])
    assert table.loc["b", "change"] == pytest.approx(-0.2)
    assert table.loc["a", "low"] < 0.2 < table.loc["a", "high"]
    gap = 200 * np.log10(8 / 2)
    assert table.loc["a", "rating_here"] == pytest.approx(1000 + gap)
    assert table.loc["a", "rating_change"] == pytest.approx(gap)
    assert not table["regularised"].any()
    assert change(source(8, 10), source(10, 10), EloOptions())["regularised"].all()


def test_judges_and_annotators_are_ranked_beside(battles, table_of, tmp_path):
    turn = {"left": "right", "right": "left"}
    contrary = [Battle(b.prompt, b.left, b.right, turn[b.verdict], judge="bob", human=True) for b in battles]
    agreed = [Battle(b.prompt, b.left, b.right, b.verdict, judge="ann", human=True) for b in battles]
    write_battles(tmp_path / "votes.csv", [*agreed, *contrary])
    found = of(battles, table_of, tmp_path, beside=[tmp_path / "votes.csv"])
    rho = found["judges"].table.set_index(["a", "b"])["rho"]
    assert rho["this run", "votes.csv: ann"] == pytest.approx(1)
    assert rho["this run", "votes.csv: bob"] == pytest.approx(-1)
    lines = found["judges"].table.set_index(["a", "b"])
    assert lines.loc[("this run", "votes.csv: ann"), "p"] == pytest.approx(1 / 3)  # the 3 models have 6 orders
    assert lines["low"].isna().all()
    table = found["confusion with votes.csv"].table.set_index("here")
    # each of 2 battles of a pair on a prompt meets both orders of both annotators
    assert table.to_numpy().sum() == 36 * 2 * 4
    assert found["change from votes.csv"].table["there"].tolist() == pytest.approx([0.5] * 3)


def test_models_with_nothing_in_common_are_refused(battles, table_of, tmp_path):
    write_battles(tmp_path / "votes.csv", [Battle("x", "m0", "m1", "tie")])
    with pytest.raises(BadOption, match="no battle of this run's prompts and models"):
        of(battles, table_of, tmp_path, beside=[tmp_path / "votes.csv"])


def test_golden_spearman(golden):
    from scipy.stats import spearmanr

    case = golden("arena-elo-09")
    found = spearmanr(case["inputs"]["human"], case["inputs"]["gpt"])
    assert (found.statistic, found.pvalue) == pytest.approx(tuple(case["expected"].values()), abs=1e-6)


# top-1 --------------------------------------------------------------------------------------------------------


def standing(value, half=0.0):
    return ModelStanding(value, value - half, value + half)


@pytest.mark.parametrize(
    ("scores", "lower", "name"),
    [
        ({"a": standing(1.0), "b": standing(2.0)}, False, "b"),
        ({"a": standing(1.0), "b": standing(2.0)}, True, "a"),
        ({"a": standing(1.0), "b": standing(2.0, 1.5)}, False, "b*"),
        ({"a": standing(2.0), "b": standing(2.0004), "c": standing(1.0)}, False, "b/a"),
        ({"a": standing(2.0), "b": standing(2.0), "c": standing(2.0)}, False, "Draw"),
        ({"a": standing(float("nan")), "b": standing(1.0)}, False, "b"),
        ({}, False, ""),
    ],
)
def test_the_winner_by_the_papers_rules(scores, lower, name):
    assert find_best(scores, lower) == name


def test_top_one_of_a_runs_other_metrics(battles, table_of, tmp_path):
    subsets = {f"p{n}": "easy" if n < 6 else "hard" for n in range(12)}
    means = [
        {"metric": "x/reward", "measure": "reward", "model": m, "value": v + n % 2 * 0.1,
         "cluster": f"p{n}", "subset": subsets[f"p{n}"]}
        for m, v in (("m0", 0.2), ("m1", 0.9)) for n in range(12)
    ]  # fmt: skip
    sets = [
        {"metric": "fid", "measure": "fid", "model": m, "value": v + shift, "left_out": block}
        for m, v in (("m0", 30.0), ("m1", 50.0))
        for block, shift in (("none", 0.0), ("0", 0.1), ("1", -0.1))
    ]
    of_scores = [{**line, "metric": "mood", "measure": "mood"} for line in means]
    measures = {
        "x/reward": [Measure("reward", "")],
        "fid": [Measure("fid", "", higher_is_better=False)],
        "mood": [Measure("mood", "", higher_is_better=None)],
        "spread": [Measure("spread", "")],
    }
    others = pd.DataFrame(
        [*means, *sets, *of_scores, {**means[0], "metric": "spread"}, {**means[0], "metric": "gone"}]
    )
    study = Study(table_of(battles, subset=subsets), SAMPLES, tmp_path, others, measures=measures)
    tables = {found.name: found.table for found in analyses(study, EloOptions())}
    places = tables["top-1"].set_index(["metric", "place"])
    assert places.loc[("reward", "second"), ["all", "easy", "hard"]].tolist() == ["m0"] * 3
    found = places.xs("best", level="place")
    # no metric without a better end, none whose headline is not a mean of rows, and none that is not installed
    assert set(found.index) == {"elo", "reward", "fid"}
    assert found.loc["reward", ["all", "easy", "hard"]].tolist() == ["m1"] * 3
    assert found.loc["fid", ["all", "easy"]].tolist() == ["m0", ""]
    assert found.loc["elo", "all"].startswith("m2")


def test_levels_with_the_same_name_have_separate_columns(battles, table_of, tmp_path):
    table = table_of(battles, subset={f"p{n}": "all" if n < 6 else "hard" for n in range(12)},
                     kind={f"p{n}": "soft" if n % 2 else "hard" for n in range(12)})  # fmt: skip
    options = EloOptions(by=("subset", "kind"))
    found = {found.name: found for found in analyses(Study(table, SAMPLES, tmp_path, None), options)}
    columns = ["metric", "place", "all", "subset: all", "subset: hard", "kind: hard", "soft"]
    assert sorted(found["top-1"].table.columns) == sorted(columns)


# rewards ------------------------------------------------------------------------------------------------------


@pytest.fixture
def rewards():
    rng = np.random.default_rng(0)
    lines = [
        {"measure": "reward", "model": model, "prompt": f"p{n}", "cluster": f"p{n}", "seed": seed,
         "subset": "easy", "value": shift + rng.normal()}
        for model, shift in (("a", 0.0), ("b", 1.0), ("c", 0.1)) for n in range(15) for seed in (0, 1)
    ]  # fmt: skip
    return pd.DataFrame(lines)


def test_rewards_are_tested_paired_and_as_the_paper_does(rewards, tmp_path):
    found = {a.name: a for a in reward_analyses(Study(rewards, SAMPLES, tmp_path), RewardMetricOptions())}
    assert list(found) == ["distributions", "rewards by subset", "wilcoxon", "mann-whitney", "images"]
    wide = rewards.pivot_table(index="prompt", columns="model", values="value")
    table = found["wilcoxon"].table.set_index(["a", "b"])
    plain = [wilcoxon(wide[a] - wide[b], zero_method="pratt").pvalue for a, b in table.index]
    assert table["p_unadjusted"].tolist() == pytest.approx(plain)
    assert table["p_adjusted"].tolist() == pytest.approx(holm(plain).tolist())
    assert table.loc[("a", "b"), "mean_difference"] == pytest.approx((wide["a"] - wide["b"]).mean())
    matrix = found["mann-whitney"].table.set_index("model")
    a, b = (rewards.loc[rewards["model"] == m, "value"] for m in "ab")
    assert matrix.loc["a", "b"] == matrix.loc["b", "a"] == pytest.approx(mannwhitneyu(a, b).pvalue)
    assert check_figure(found["distributions"])


def test_upper_bounds_are_not_tested(rewards, tmp_path):
    bound = rewards[rewards["model"] == "c"].assign(model="upper bound (folder:right)")
    with_bound = pd.concat([rewards, bound], ignore_index=True)
    plain, found = (
        {a.name: a.table for a in reward_analyses(Study(table, SAMPLES, tmp_path), RewardMetricOptions())}
        for table in (rewards, with_bound)
    )
    assert "upper bound (folder:right)" in found["distributions"]["model"].tolist()
    for name in ("wilcoxon", "mann-whitney"):
        pd.testing.assert_frame_equal(found[name], plain[name])


def test_mean_rewards_are_set_beside_ratings_by_people_and_judges(rewards, tmp_path):
    votes = [
        Battle(f"p{n}", *pair, "left" if (n % 4 > 0) == (pair in ("ba", "bc", "ca")) else "right")
        for n in range(12)
        for pair in ("ba", "bc", "ca", "ab", "cb", "ac")
    ]
    write_battles(tmp_path / "votes.csv", [*votes, *(replace(v, human=True, judge="ann") for v in votes)])
    options = RewardMetricOptions(beside=(tmp_path / "votes.csv",))
    found = {a.name: a for a in reward_analyses(Study(rewards, SAMPLES, tmp_path), options)}[
        "rewards beside ratings"
    ]
    assert found.table["judge"].tolist() == ["votes.csv, people", "votes.csv, models"]
    means = rewards.groupby("model")["value"].mean()
    ratings = rate(Battles.of(votes)).table.set_index("model")["rating"]
    expected = spearman(means, ratings[means.index])
    assert found.table["rho"].tolist() == pytest.approx([expected.value] * 2)
    assert found.table["p"].tolist() == pytest.approx([expected.p] * 2)
    assert "votes.csv" in check_figure(found)


def test_sources_of_one_name_stay_apart_and_intervals_of_rewards_cross_seeds(rewards, tmp_path):
    paths = (tmp_path / "one" / "votes.csv", tmp_path / "other" / "votes.csv")
    for path, verdict in zip(paths, ("left", "right"), strict=True):
        path.parent.mkdir()
        write_battles(
            path, [Battle(f"p{n}", *pair, verdict) for n in range(6) for pair in ("ab", "bc", "ca", "ba")]
        )
    study = Study(rewards.assign(value=rewards["value"] + rewards["seed"]), SAMPLES, tmp_path)
    (found,) = (
        a for a in reward_analyses(study, RewardMetricOptions(beside=paths)) if a.name == "rewards beside ratings"
    )
    assert found.table["judge"].tolist() == ["votes.csv", str(paths[1])]
    for model, points in found.figure.data.groupby("model"):
        own = study.table[study.table["model"] == model]
        expected = mean_interval(own["value"], own["cluster"], own["seed"])
        assert points["reward low"].tolist() == pytest.approx([expected.lo] * 2)


def test_rewards_beside_battles_of_other_models_are_refused(rewards, tmp_path):
    write_battles(tmp_path / "votes.csv", [Battle("p", "x", "y", "left")])
    with pytest.raises(BadOption):
        list(
            reward_analyses(
                Study(rewards, SAMPLES, tmp_path), RewardMetricOptions(beside=(tmp_path / "votes.csv",))
            )
        )


def test_models_that_are_alike_have_no_p(rewards, tmp_path):
    same = pd.concat([rewards[rewards["model"] == "a"], rewards[rewards["model"] == "a"].assign(model="b")])
    found = {a.name: a for a in reward_analyses(Study(same, SAMPLES, tmp_path), RewardMetricOptions())}
    assert found["wilcoxon"].table[["p_adjusted", "p_unadjusted"]].isna().all(axis=None)
