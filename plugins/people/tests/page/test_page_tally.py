"""What becomes of votes: battles, answers about people, ratings and agreement."""

from __future__ import annotations

import csv
import json
import math

import pandas as pd
import pytest
from t2i_arena_elo.agreement import GivenAnswer, alpha, verdicts
from t2i_arena_elo.analyses import analyses
from t2i_arena_elo.battle_files import read_battles, write_battles
from t2i_arena_elo.battles import Battle, Battles
from t2i_arena_elo.command import app
from t2i_arena_elo.options import EloOptions
from t2i_arena_elo.plugin import t2i_metrics
from t2i_arena_elo.rows import rows_of_unit
from t2i_arena_elo.source_comparison import read_sources
from t2i_arena_elo.sources import read_source
from t2i_arena_elo.tally import tally
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.api.study import Study
from t2i_core.io.answers import HumanAnswer, ShownImages, read_answers, write_answers
from t2i_core.io.rater_rules import Rules
from t2i_people.command import app as people
from typer.testing import CliRunner


def vote_all(study, name, answer):
    """Have somebody answer all there is; `answer` is told the task."""
    annotator = study.store.add_annotator(name)
    while (task := study.current(annotator)[1]) is not None:
        assert study.answer(annotator, task.id, answer(task))


def for_apple(task):
    return {"preference": "left" if task.left == "apple" else "right"}


@pytest.fixture
def voted(open_study, tmp_path):
    """Two people's votes: Ann always for apple; Bob too, but of p4, where he says tie."""
    study, _ = open_study()
    vote_all(study, "Ann", for_apple)
    vote_all(study, "Bob", lambda task: {"preference": "tie"} if task.prompt == "p4" else for_apple(task))
    return study.store.path


def test_votes_are_battles(voted, tmp_path):
    out = tmp_path / "battles.csv"
    assert CliRunner().invoke(people, ["export", str(voted), str(out)]).exit_code == 0
    battles = list(read_battles(out))
    assert len(battles) == 16
    assert {b.judge for b in battles} == {"Ann", "Bob"}
    assert all(b.human and {b.left, b.right} == {"apple", "pear"} and b.seed in (0, 1) for b in battles)
    of_ann = [b for b in battles if b.judge == "Ann"]
    assert all((b.left if b.verdict == "left" else b.right) == "apple" for b in of_ann)
    assert {b.prompt for b in battles if b.verdict == "tie"} == {"p4"}


def test_people_and_models_are_rated_together_and_apart(voted, tmp_path):
    said = [Battle(p, "apple", "pear", "left" if p == "p1" else "right", judge="clip", seed=0) for p in
            ("p1", "p2", "p3", "p4")]  # fmt: skip
    write_battles(tmp_path / "clip.jsonl", said)
    found = tally([read_source(voted), read_source(tmp_path / "clip.jsonl")], rounds=100).plain()
    of = {name: {m["model"]: m for m in part["models"]} for name, part in found["ratings"].items()}
    assert set(of) == {"together", "people", "clip"}
    assert of["people"]["apple"]["rating"] > of["together"]["apple"]["rating"] > of["clip"]["apple"]["rating"]
    assert [of[name]["apple"]["battles"] for name in ("people", "clip", "together")] == [16, 4, 20]
    assert {line["judge"]: line["battles"] for line in found["verdicts"]} == {"Ann": 8, "Bob": 8, "clip": 4}
    people, everybody = found["agreement"]
    assert (people["units"], people["judges"], everybody["judges"]) == (8, 2, 3)
    # of 16 verdicts 14 are for apple and 2 are ties, in 2 of 8 pairs of verdicts
    assert people["alpha"] == pytest.approx(1 - (4 / 16) / (2 * 14 * 2 / (16 * 15)))
    assert -1 <= people["alpha low"] <= people["alpha"] <= people["alpha high"] <= 1
    assert people["alpha without ties"] is None  # all other verdicts are for apple


def test_the_command_prints_tables_or_json(voted):
    said = CliRunner().invoke(app, ["tally", str(voted), "--rounds", "100"])
    assert said.exit_code == 0, said.output
    for word in ("ratings, people", "apple", "Krippendorff's alpha", "Ann"):
        assert word in said.output
    data = json.loads(CliRunner().invoke(app, ["tally", str(voted), "--rounds", "100", "--json"]).output)
    assert [m["model"] for m in data["ratings"]["people"]["models"]] == ["apple", "pear"]


def test_alpha_counts_the_units_that_two_judged():
    said = [GivenAnswer(i, judge, value, f"p{i}") for judge, row in (("A", "xxy*"), ("B", "xyy*"), ("C", "*xyx"))
            for i, value in enumerate(row) if value != "*"]  # fmt: skip
    found, units = alpha(said)
    assert units == 3
    assert found.n_clusters == 3  # prompts
    without, units = alpha(said, excluded=("y",))
    assert units == 2
    assert math.isnan(without.value)


def test_alpha_does_not_exist_of_nothing_shared_or_all_the_same():
    apart = [GivenAnswer(1, "A", "x", "p1"), GivenAnswer(2, "B", "y", "p2")]
    equal = [GivenAnswer(1, "A", "x", "p1"), GivenAnswer(1, "B", "x", "p1")]
    for said in (apart, equal, []):
        assert math.isnan(alpha(said)[0].value)


def test_contradictory_verdicts_on_exchanged_sides_are_a_tie():
    both = [Battle("p", "a", "b", "left", judge="j"), Battle("p", "b", "a", "left", judge="j")]
    assert [said.value for said in verdicts(both)] == ["tie"]
    agreed = [Battle("p", "a", "b", "left", judge="j"), Battle("p", "b", "a", "right", judge="j")]
    assert [said.value for said in verdicts(agreed)] == ["better: a"]
    assert verdicts([Battle("p", "a", "b", "refused", judge="j")]) == []


def test_answers_that_do_not_count_are_left_out_and_counted(open_study):
    study, _ = open_study(rules=Rules(fastest=0, training=2, controls=2))

    def careful(task):
        return task.expected or {"preference": "tie"}

    def careless(task):
        turned = {"left": "right", "right": "left"}
        expected = (task.expected or {}).get("preference", "tie")
        return {"preference": turned[expected] if task.part == "control" else expected}

    vote_all(study, "Ann", careful)
    vote_all(study, "Eve", careless)
    votes = read_answers(study.store.path)
    assert {answer.rater for answer in votes.answers} == {"Ann"}
    assert len(votes.answers) == 8
    assert votes.left_out["of training"] == 4
    assert votes.left_out["of careless annotators"] > 0


def test_fast_votes_are_left_out(open_study):
    study, _ = open_study(rules=Rules(fastest=30, tasks=3))
    vote_all(study, "Ann", for_apple)
    with pytest.raises(BadOption, match=r"no answers that count \(3 too fast\)"):
        read_source(study.store.path)


def test_answers_about_people_are_written_as_the_metric_bias_reads_them(open_study, tmp_path):
    study, _ = open_study(groups={"gender": ("male", "female")}, grid=9)
    vote_all(study, "Ann", lambda task: {"human": "yes", "gender": "female" if task.left == "pear" else "male"})
    vote_all(study, "Bob", lambda task: {"human": "no"})
    out = tmp_path / "answers.csv"
    assert CliRunner().invoke(people, ["export", str(study.store.path), str(out)]).exit_code == 0
    assert len(read_answers(out).answers) == 8 * 2 + 8
    assert read_answers(out).answers == read_answers(study.store.path).answers
    of_ann = {(a.shown[0].model, a.answer) for a in read_answers(out).about("gender") if a.rater == "Ann"}
    assert of_ann == {("pear", "female"), ("apple", "male")}
    vote_all(study, "=Eve", lambda task: {"human": "no"})
    assert CliRunner().invoke(people, ["export", str(study.store.path), str(out)]).exit_code == 0
    assert {row["rater"] for row in csv.DictReader(out.open())} == {"Ann", "Bob", "'=Eve"}
    found = tally([read_source(study.store.path)]).plain()
    assert found["ratings"] == {}
    units = {line["of"]: line["units"] for line in found["agreement"]}
    assert units == {"human, as people saw it": 8, "gender, as people saw it": 0}
    assert tally([read_source(study.store.path)] * 2).agreement == found["agreement"]  # nobody counts twice
    with pytest.raises(BadOption, match=r"must end in|table"):
        CliRunner().invoke(people, ["export", str(study.store.path), "out.jsonl"], catch_exceptions=False)


def test_studies_of_several_forms_are_exported_as_one_table(voted, tmp_path):
    seen = HumanAnswer("Ann", "gender", "female", (ShownImages("pear", (0, 1)),), "p")
    of_people, out = tmp_path / "people.csv", tmp_path / "answers.csv"
    write_answers(of_people, [seen])
    assert CliRunner().invoke(people, ["export", str(of_people), str(voted), str(out)]).exit_code == 0
    assert read_answers(out).answers == (seen, *read_answers(voted).answers)
    copy = tmp_path / "copy.csv"
    copy.write_bytes(of_people.read_bytes())
    with pytest.raises(BadOption):  # everybody would count twice
        CliRunner().invoke(people, ["export", str(of_people), str(copy), str(out)], catch_exceptions=False)


def test_a_run_without_battles_is_refused(shared_run):
    with pytest.raises(BadFolder, match=r"did not write this file|no battles"):
        read_source(shared_run)


def test_a_runs_judge_votes_beside_people(voted, make_run):
    """The judge of the tests was asked in both orders about each two images."""
    elo = next(info for info in t2i_metrics() if info.name == "elo")
    run = make_run("judged", metrics=[elo])
    found = tally([read_source(voted), read_source(run)], rounds=100)
    assert list(found.ratings) == ["together", "people", "test-mean"]
    assert found.ratings["test-mean"].table["battles"].tolist() == [16, 16]
    people, everybody = found.agreement
    assert (people["units"], everybody["units"], everybody["judges"]) == (8, 8, 3)


def tabulate(battles):
    """Return the rows that the metric measures, as a run's table has them."""
    lines = []
    for battle in battles:
        a, b = sorted((battle.left, battle.right))
        unit = {"model_a": a, "model_b": b, "prompt": battle.prompt, "cluster": battle.prompt, "seed": battle.seed}
        for row in rows_of_unit([battle], a):
            lines.append({**unit, "measure": row.measure, "value": row.value, **row.facets})
    return pd.DataFrame(lines)


def test_votes_stand_beside_a_run_as_they_are_kept(voted, tmp_path):
    """A judge that prefers whatever is shown first, beside two people of whom one is for apple always."""
    orders = (("apple", "pear"), ("pear", "apple"))
    judged = [Battle(p, *sides, "left", seed=s) for p in ("p1", "p4") for s in (0, 1) for sides in orders]
    study = Study(
        tabulate(judged), pd.DataFrame({"model": [], "prompt": [], "status": [], "digest": []}), tmp_path
    )
    found = {one.name: one.table for one in analyses(study, EloOptions(beside=[voted]))}
    confusion = found[f"confusion with {voted.name}"].set_index("here")
    # by the order of their names apple is the first; Bob says tie of p4
    assert confusion.loc[["first", "second"], ["first", "second", "tie"]].to_numpy().tolist() == [[6, 0, 2]] * 2
    assert found[f"change from {voted.name}"].set_index("model").loc["apple", "change"] == pytest.approx(-0.375)
    assert {f"{voted.name}: Ann", f"{voted.name}: Bob"} <= set(found["judges"]["b"])


def test_answers_about_people_cannot_stand_beside_battles(open_study, tmp_path):
    study, _ = open_study(groups={"gender": ("male", "female")}, grid=9)
    vote_all(study, "Ann", lambda task: {"human": "no"})
    with pytest.raises(BadOption, match="no vote on two models' images that counts"):
        read_sources(Battles.of([]), EloOptions(beside=[study.store.path]))
