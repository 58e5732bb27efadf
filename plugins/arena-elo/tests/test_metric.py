"""The metric in runs: what it asks, what it counts, and what it takes from files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.special import stdtrit
from t2i_arena_elo.battle_files import write_battles
from t2i_arena_elo.battles import Battle, Battles
from t2i_arena_elo.metric import Elo
from t2i_arena_elo.options import EloOptions
from t2i_arena_elo.plugin import t2i_metrics
from t2i_arena_elo.ratings import rate
from t2i_arena_elo.rows import battles_of
from t2i_core.api import Failure, JudgeInfo, Preference, PromptSourceInfo, Setup
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_core.api.metric_input import Sample
from t2i_core.api.prompt import Prompt
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.testing import TEST_MODEL, StaticResolver

(ELO, _) = t2i_metrics()
PROMPTS = PromptSourceInfo(
    name="list",
    summary="Prompts with subsets and definitions.",
    prompts=lambda setup: [
        Prompt(
            f"p{n}", f"a text {n}", facets={"subset": "easy" if n % 2 else "hard", "definition": f"what {n} is"}
        )
        for n in range(6)
    ],
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def run(answer, *, models=2, capability="prefer", out="run", interval="prompts", **options):
    """A run of elo with a judge that answers each query by a function."""
    asked = []

    class Judge:
        def observe(self, capability, queries):
            for query in queries:
                asked.append(query)
                yield query, answer(query)

    judge = JudgeInfo(name="judge", summary="J.", capabilities={capability: frozenset()}, create=lambda s: Judge())
    given = [ModelRequest(TEST_MODEL, name) for name in "abc"[:models]]
    found = evaluate(
        ELO, given, prompts="list", options={"elo": options}, out=out, resolver=StaticResolver(judge, PROMPTS),
        interval=interval,
    )  # fmt: skip
    return found, asked


def by_number(query):
    """Every verdict in turn, by the prompt's number and the order of the digests."""
    return Preference(["first", "second", "tie", "both_bad", "unparsable", "refused"][int(query.texts[0][-1])])


@pytest.mark.long
def test_both_orders_are_asked_with_the_definition_and_each_verdict_has_its_count():
    found, asked = run(by_number)
    # the same model twice: the same images, so that both orders are one question
    assert Counter(q.texts[0] for q in asked) == {f"a text {n}": 1 for n in range(6)}
    assert all(len(q.images) == 2 and q.params == {"definitions": f"what {q.texts[0][-1]} is"} for q in asked)
    rows = found.measurements()
    assert len(rows) == 12
    assert rows.loc[rows["prompt"] == "p0", ["verdict", "shown", "value"]].to_numpy().tolist() == [
        ["left", "first", 1.0],
        ["left", "second", 0.0],
    ]
    assert rows.loc[rows["prompt"] == "p3", "value"].tolist() == [0.5, 0.5]
    assert rows.loc[rows["prompt"].isin(["p4", "p5"]), "measure"].tolist() == ["no-verdict"] * 4
    (note,) = {n for r in found.results for n in r.notes if "battles (left" in n}
    assert note.endswith("2 left, 2 right, 2 tie, 2 both-bad, 2 unparsable, 2 refused")


@pytest.mark.long
def test_rows_are_battles_again():
    found, _ = run(by_number)
    battles = list(battles_of(found.measurements()))
    assert [(b.left, b.right, b.verdict, b.subset) for b in battles[:4]] == [
        ("a", "b", "left", "hard"),
        ("b", "a", "left", "hard"),
        ("a", "b", "right", "easy"),
        ("b", "a", "right", "easy"),
    ]


@pytest.mark.long
def test_a_judge_that_fails_is_a_failure_and_no_win():
    found, _ = run(lambda q: Failure("no answer") if q.texts[0].endswith("0") else Preference("tie"))
    assert found.failed is not None
    assert {(r.n_ok, r.n_failed) for r in found.results} == {(5, 1)}
    assert "p0" not in set(found.measurements()["prompt"])


@pytest.mark.long
def test_one_order_is_drawn_for_each_pair():
    found, _ = run(by_number, models=3, both_orders=False)
    rows = found.measurements()
    assert len(rows) == 18
    assert set(rows["shown"]) == {"first", "second"}


@pytest.mark.long
def test_a_share_of_the_pairs_is_drawn_the_same_each_time():
    def judge_a_tie(query):
        return Preference("tie")

    found, asked = run(judge_a_tie, models=3, share=0.5)
    rows = found.measurements()
    fought = set(map(tuple, rows[["model_a", "model_b", "prompt"]].to_numpy()))
    assert 4 <= len(fought) <= 14
    assert len(found.failures()) == 18 - len(fought)
    assert set(found.failures()["kind"]) == {"excluded"}
    again, more = run(judge_a_tie, models=3, share=0.5)
    assert set(map(tuple, again.measurements()[["model_a", "model_b", "prompt"]].to_numpy())) == fought
    assert (bool(asked), more) == (True, [])


@pytest.mark.long
def test_a_pilot_moves_the_share_to_pairs_that_tell_more(tmp_path):
    """a and b have fought often, c with neither: all of its pairs are asked about."""
    write_battles(tmp_path / "pilot.csv", [Battle(f"p{n}", "a", "b", "tie") for n in range(50)])
    found, _ = run(lambda q: Preference("tie"), models=3, share=0.3, pilot=str(tmp_path / "pilot.csv"))
    asked = found.measurements().groupby(["model_a", "model_b"])["prompt"].nunique()
    assert asked["a", "c"] == asked["b", "c"] == 6
    assert asked.get(("a", "b"), 0) < 6
    assert tmp_path / "pilot.csv" in ELO.loading.weights(None, EloOptions(pilot=tmp_path / "pilot.csv"))


@pytest.mark.long
def test_ratings_of_each_subset_are_in_the_results_with_honest_intervals():
    found, _ = run(lambda q: Preference("tie" if q.texts[0][-1] in "024" else "first"))
    (a, b) = found.results
    assert set(a.facets["elo"]["subset"]) == {"easy", "hard"}
    mean = [
        (a.facets["elo"]["subset"][name].value + b.facets["elo"]["subset"][name].value) / 2
        for name in ("easy", "hard")
    ]
    assert mean == pytest.approx([1000, 1000])
    hard = a.facets["elo"]["subset"]["hard"]  # ties only: nothing varies
    assert hard.value == pytest.approx(1000)
    assert any("3 prompts" in note for note in hard.notes)
    assert list(hard.ci) == [None, None]


@pytest.mark.long
def test_the_interval_of_peoples_votes_covers_annotators_and_prompts(tmp_path, tournament):
    """People who agree with nobody but themselves make ratings less certain than as many independent verdicts."""
    rng = np.random.default_rng(3)
    likes = {f"person {n}": 0.5 + 0.4 * (-1) ** n for n in range(12)}
    votes = [
        Battle(f"p{n}", "a", "b", "left" if rng.random() < share else "right", judge=name, human=True)
        for name, share in likes.items()
        for n in range(6)
    ]
    write_battles(tmp_path / "people.csv", votes)
    write_battles(tmp_path / "models.csv", [replace(vote, human=False) for vote in votes])
    (people, _), (models, _) = (
        run(by_number, battles=[str(tmp_path / f"{name}.csv")], out=name, interval="new")[0].results
        for name in ("people", "models")
    )
    method, question = people.interval.split("; ")
    assert method.startswith("two-way t over prompts x annotators")
    assert question == "new prompts of this kind and new annotators"
    assert "annotators" not in models.interval
    assert people.score == pytest.approx(models.score)
    assert np.ptp(people.ci) > 2 * np.ptp(models.ci)


def test_aggregate_under_weights_is_the_rating_of_battles_so_often(tournament, table_of):
    battles = tournament(np.random.default_rng(0), np.array([-0.4, 0.0, 0.5]), 20, gamma=0.2)
    table = table_of(battles)
    metric = Elo(Setup(None, EloOptions()))
    often = np.random.default_rng(1).integers(1, 4, 20)
    weights = often[[int(p[1:]) for p in table["prompt"]]].astype(float)
    repeated = [b for b, n in zip(battles, weights, strict=True) for _ in range(int(n))]
    expected = rate(Battles.of(repeated), rounds=2)
    found = metric.aggregate(metric.prepare(table), weights)
    assert found.pop("position") == pytest.approx(expected.position.points, abs=1e-4)
    assert found == pytest.approx(dict(expected.table[["model", "rating"]].to_numpy()), abs=1e-4)


def test_weights_that_leave_no_maximum_give_no_rating(table_of):
    battles = [Battle("p", "a", "b", "left"), Battle("q", "a", "b", "right"), Battle("q", "b", "a", "right")]
    metric = Elo(Setup(None, EloOptions(position=False)))
    table = table_of(battles)
    assert np.isfinite(list(metric.aggregate(metric.prepare(table), np.ones(3)).values())).all()
    assert np.isnan(list(metric.aggregate(metric.prepare(table), np.array([1.0, 0.0, 1.0])).values())).all()


# the taxonomy benchmark's protocol ----------------------------------------------------------------------------


@pytest.mark.long
def test_the_taxonomy_protocol_asks_once_for_each_prompt_about_a_drawn_pair():
    found, asked = run(lambda q: Preference("first"), models=3, protocol="taxonomy")
    rows = found.measurements()
    assert sorted(rows["prompt"]) == [f"p{n}" for n in range(6)]
    assert all(query.params["question"] == "taxonomy" for query in asked)
    pairs = set(map(tuple, rows[["model_a", "model_b"]].to_numpy()))
    assert len(pairs) > 1
    again, _ = run(lambda q: Preference("first"), models=3, protocol="taxonomy", out="again")
    assert again.measurements()[["model_a", "model_b", "shown"]].equals(rows[["model_a", "model_b", "shown"]])
    other, _ = run(lambda q: Preference("first"), models=3, protocol="taxonomy", draw_seed=1, out="other")
    assert not other.measurements()[["model_a", "model_b"]].equals(rows[["model_a", "model_b"]])
    assert any("draw_seed 0" in note for note in found.results[0].notes)


@pytest.mark.long
def test_the_taxonomy_protocol_draws_all_pairs_and_orders_alike():
    metric = Elo(Setup(None, EloOptions(protocol="taxonomy")))
    models = [f"m{n}" for n in range(12)]
    metric.set_models(models)
    drawn = Counter()
    for n in range(3370):
        prompt = Prompt(f"p{n}", "a text")
        samples = [Sample(model, prompt, 0) for model in models]
        own = [(pair, metric._queries(pair)) for pair in combinations(samples, 2)]
        ((a, b), _) = next((pair, queries) for pair, queries in own if queries)
        assert sum(len(queries) for _, queries in own) == 1
        drawn[a.model] += 1
        drawn[b.model] += 1
    assert sum(drawn.values()) == 2 * 3370
    assert max(abs(count - 562) for count in drawn.values()) < 90  # four standard deviations


def test_options_that_the_taxonomy_protocol_does_not_read_are_refused():
    with pytest.raises(ValidationError):
        EloOptions(protocol="taxonomy", share=0.5)


# battles of files ---------------------------------------------------------------------------------------------

VOTES = [
    Battle("p0", "a", "b", "left", judge="ann", human=True),
    Battle("p0", "b", "a", "left", judge="bob", human=True),
    Battle("p1", "a", "b", "tie", judge="ann", human=True, seed=0),
    Battle("p1", "a", "b", "tie", judge="ann", human=True, seed=0),
    Battle("p1", "a", "b", "left", judge="ann", human=True, seed=7),
    Battle("p2", "a", "elsewhere", "left", judge="ann", human=True),
]


@pytest.mark.long
def test_battles_of_a_file_are_rated_and_nothing_is_drawn(tmp_path):
    write_battles(tmp_path / "votes.csv", VOTES)
    found, asked = run(by_number, battles=[str(tmp_path / "votes.csv")])
    assert not asked
    assert not (tmp_path / "run" / "images").exists()
    table = found.measurements()
    kept = battles_of(table)
    assert [(b.left, b.verdict, b.judge, b.human) for b in kept] == [
        ("a", "left", "ann", True),
        ("b", "left", "bob", True),
        ("a", "tie", "ann", True),
        ("a", "tie", "ann", True),
    ]
    (result, _) = found.results
    assert (result.n_ok, result.n_excluded) == (2, 4)
    assert result.score == pytest.approx(1000)
    assert "annotators" in result.interval


@pytest.mark.long
def test_battles_of_a_file_weigh_inversely_to_their_propensity(tmp_path):
    """A pair that was drawn rarely counts for those that were not drawn, as in the tally of the same file."""
    votes = [
        Battle(f"p{n}", *order, "left" if won == (order[0] == "a") else "right", propensity=chance)
        for n, (won, chance) in enumerate([(True, 0.1), (False, 0.5), (False, 1.0), (True, 0.9), (False, 0.5)])
        for order in ("ab", "ba")
    ]
    write_battles(tmp_path / "votes.csv", votes)
    found, _ = run(by_number, battles=[str(tmp_path / "votes.csv")])
    assert battles_of(found.measurements()).propensity.tolist() == [b.propensity for b in votes]
    expected = rate(Battles.of(votes)).table.set_index("model").loc["a"]
    (result, _) = found.results
    assert result.score == pytest.approx(expected["rating"])
    assert result.score > 1000
    # one of five prompts carries the variance: one degree of freedom, where the tally has four
    wider = stdtrit(1, 0.975) / stdtrit(4, 0.975)
    half = wider * (expected["high"] - expected["rating"])
    assert result.ci[1] - result.score == pytest.approx(half, rel=0.15)
    assert any("weigh inversely" in note for note in result.notes)


def test_a_file_of_other_prompts_is_refused(tmp_path):
    write_battles(tmp_path / "votes.csv", [Battle("x", "a", "b", "tie")])
    with pytest.raises(BadPrompts, match="no battle has the id of one of these prompts"):
        run(by_number, battles=[str(tmp_path / "votes.csv")])


@pytest.mark.long
def test_published_battles_are_rated_without_naming_models_and_prompts(tmp_path):
    votes = [replace(vote, subset="easy" if vote.prompt == "p0" else "easy | hard") for vote in VOTES]
    write_battles(tmp_path / "votes.csv", votes)
    found = evaluate(ELO, [], options={"elo": {"battles": [str(tmp_path / "votes.csv")]}}, out="published")
    assert [result.label for result in found.results] == ["a", "b", "elsewhere"]
    assert len(found.measurements()) == 6
    assert found.results[0].score == pytest.approx(rating_of(votes, "a"))
    assert set(found.results[0].facets["elo"]["subset"]) == {"easy", "hard"}
    hard = [vote for vote in votes if "hard" in vote.subset]
    assert found.results[0].facets["elo"]["subset"]["hard"].value == pytest.approx(rating_of(hard, "a"))


def rating_of(battles, model):
    return rate(Battles.of(battles), rounds=2).table.set_index("model").loc[model, "rating"]


def test_no_model_and_no_battles_is_refused():
    with pytest.raises(BadOption):
        evaluate(ELO, [], prompts="list", resolver=StaticResolver(PROMPTS))


def test_an_altered_file_is_another_metric(tmp_path):
    path = tmp_path / "votes.csv"
    assert list(ELO.loading.weights(None, EloOptions(battles=(path,)))) == [path]


def test_battles_of_a_table_read_from_a_file_are_the_same(tmp_path, tournament, table_of):
    battles = tournament(np.random.default_rng(0), np.zeros(3), 4)
    table = table_of(battles)
    table.to_csv(tmp_path / "t.csv", index=False)
    read = battles_of(pd.read_csv(tmp_path / "t.csv"))
    assert [(b.prompt, b.left, b.right, b.verdict) for b in read] == [
        (b.prompt, b.left, b.right, b.verdict) for b in battles
    ]


def test_the_recorded_options_of_the_taxonomy_protocol_make_the_metric_again():
    options = EloOptions(protocol="taxonomy")
    assert EloOptions(**options.model_dump()) == options
    with pytest.raises(ValueError, match="leave out both_orders, share"):
        EloOptions(protocol="taxonomy", both_orders=False, share=0.5)
