"""Tables from decisions whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Study
from t2i_core.testing.figures import check_figure
from t2i_selfeval.analyses import analyse
from t2i_selfeval.captions import right_captions
from t2i_selfeval.samples import choice, pair

# per model and task, of four samples: right or not
RIGHT = {
    "old": {"colour": [1, 0, 0, 1], "spatial": [0, 0, 0, 0]},
    "new": {"colour": [1, 1, 1, 0], "spatial": [1, 1, 0, 0]},
}


def table() -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for model, tasks in RIGHT.items():
        for task, right in tasks.items():
            for n, value in enumerate(right):
                own = {"model": model, "task": task, "prompt": f"{task}-{n}", "cluster": f"{task}-{n}", "seed": 0}
                steps = f"5/10={0.75 - value:g} 10/10={value - 0.25:g} 5/5=0.25"
                facets = {"by_trials": f"1=0.25 2={value - 0.25:g}", "by_steps": steps}
                rows.append({**own, **facets, "measure": "above_chance", "value": value - 0.25})
                measures = {"accuracy": value, "chance": 0.25, "calls": 10, "calls_unpruned": 40}
                rows += [{**own, "measure": name, "value": float(number)} for name, number in measures.items()]
    found = pd.DataFrame(rows)
    return found.assign(
        **{name: found[name].astype("category") for name in ("model", "task", "measure", "by_steps")}
    )


def study(votes: Path | None = None) -> dict[str, Any]:
    found = {a.name: a for a in analyse(Study(table(), pd.DataFrame(), Path()), votes)}
    for analysis in found.values():
        if analysis.figure is not None:
            assert check_figure(analysis)
    return found


def test_tasks_stand_beside_chance_and_the_papers() -> None:
    tasks = study()["tasks"].table.set_index(["model", "task"])
    assert list(tasks.index) == [(m, t) for m in ("old", "new") for t in ("colour", "spatial")]
    line = tasks.loc["new", "colour"]
    assert (line["accuracy"], line["chance"], line["above_chance"], line["papers_chance"]) == (75, 25, 50, 25)
    assert line["low"] < 50 < line["high"]
    assert (line["samples"], line["images"]) == (4, 4)
    assert ((tasks["low"] >= -25) & (tasks["high"] <= 75)).all()  # no accuracy lies outside 0 to 1


def test_ablations_are_read_back() -> None:
    found = study()
    trials = found["trials"].table.set_index(["model", "trials"])["above_chance"]
    assert trials["old", 1] == 0.25
    assert trials["old", 2] == 0.0  # 2 of 8
    assert list(trials.index) == [("new", 1), ("new", 2), ("old", 1), ("old", 2)]
    steps = found["steps"].table.set_index(["model", "steps", "chain_of"])["above_chance"]
    assert (steps["old", 5, 5], steps["old", 5, 10]) == (0.25, 0.5)
    assert "estimator" not in found


def test_calls_are_compared_with_all() -> None:
    assert set(study()["calls"].table["share"]) == {0.25}


def test_votes_are_where_only_one_model_is_right() -> None:
    found = study()
    counted = found["models"].table.set_index("task")[["both", "only_a", "only_b", "neither"]]
    assert counted.loc["colour"].tolist() == [1, 1, 2, 0]
    assert counted.loc["all"].tolist() == [1, 1, 4, 2]
    one = found["only-one-right"].table
    assert dict(zip(one["prompt"], one["right"], strict=True)) == {
        "colour-1": "new", "colour-2": "new", "colour-3": "old", "spatial-0": "new", "spatial-1": "new",
    }  # fmt: skip


# as `t2i arena export` writes them
HEAD = "prompt,left,right,verdict,subset,judge,human,seed,time\n"
VOTES = f"""{HEAD}
colour-1,new,old,left,,ann,yes,0,
colour-1,old,new,right,,bob,yes,0,
colour-1,old,new,left,,a model,,0,
colour-2,old,new,left,,ann,yes,0,
colour-2,old,new,left,,ann,yes,1,
colour-2,old,new,refused,,bob,yes,0,
colour-3,old,new,tie,,ann,yes,0,
colour-3,old,new,both-bad,,bob,yes,0,
colour-0,old,new,left,,ann,yes,0,
spatial-0,old,new,right,,ann,yes,0,
elsewhere,old,new,right,,ann,yes,0,
"""


def test_people_agree_as_often_as_they_do(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(VOTES)
    people = study(file)["people"].table.set_index("task")
    assert people.loc["colour", ["agree", "disagree", "ties", "votes"]].tolist() == [1, 1, 1, 6]
    assert people.loc["all", ["agree", "disagree", "ties", "votes"]].tolist() == [2, 1, 1, 7]
    assert people.loc["all", "agreement"] == pytest.approx(2 / 3)
    assert people.loc["all", "low"] < 2 / 3 < people.loc["all", "high"]


def test_wrongly_picked_captions_are_listed() -> None:
    rows = table()
    picked = rows["measure"] == "accuracy"
    rows["because"] = None
    rows.loc[picked & (rows["value"] == 1), "because"] = "picked: a cat"
    rows.loc[picked & (rows["value"] == 0), "because"] = "picked: a dog (small) (right: a cat (right))"
    found = {a.name: a for a in analyse(Study(rows, pd.DataFrame(), Path()), None)}["picked captions"].table
    assert len(found) == 9
    assert set(zip(found["right"], found["picked"], strict=True)) == {("a cat (right)", "a dog (small)")}


def test_peoples_preferences_stand_beside_the_accuracies_of_each_task(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(VOTES)
    both = study(file)["people by task"].table.set_index(["task", "model"])
    # of five clear preferences on colour, two are for new
    assert both.loc[("colour", "new"), "people"] == pytest.approx(100 * 2 / 5)
    assert both.loc[("colour", "old"), "people"] == pytest.approx(100 * 3 / 5)
    assert both.loc[("spatial", "new"), ["people", "above_chance"]].tolist() == [100, 25]
    assert both["preferences"].tolist() == [5, 5, 1, 1]
    # over four captions; of one caption nothing is known
    columns = ["people low", "people high"]
    assert both.loc[("colour", "new"), columns].tolist() == pytest.approx([0.0931, 99.7907], abs=1e-3)
    assert both.loc[("colour", "old"), columns].tolist() == pytest.approx([0.2093, 99.9069], abs=1e-3)
    assert both.loc[("spatial", "new"), columns].tolist() == [0, 100]


SHORT = "prompt,left,right,verdict,judge\n"


def test_ties_alone_are_said_and_stop_no_analysis(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(f"{SHORT}colour-1,new,old,tie,ann\ncolour-2,old,new,both-bad,ann\nspatial-0,new,old,tie,ann\n")
    found = study(file)
    assert found["people"].table.set_index("task").loc["all", ["agree", "disagree", "ties"]].tolist() == [0, 0, 3]
    assert found["people by task"].table.empty
    assert found["people by task"].figure is None
    assert found["people by task"].summary == "All 3 preferences between the run's models are ties."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SHORT, "no answers"),
        (f"{HEAD}x,old,new,left,,a model,no,,\n", "no answers that count"),
        (f"{SHORT}x,old,new,c,ann\n", r"line 2: a preference must be left, right, tie or both-bad \(got 'c'\)"),
        (f"{SHORT}x,old,old,left,ann\n", r"two different models \(got 'old' twice\)"),
        (f"{VOTES}colour-1,old,new,right,,ann,yes,0,\n", "line 14: ann answers 'preference' twice"),
        (f"{SHORT}x,old,new,left,ann\n", "the first is about prompt 'x', models 'old' and 'new'"),
    ],
)
def test_files_of_votes_that_say_nothing_are_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(text)
    with pytest.raises(BadOption, match=said) as caught:
        study(file)
    assert "\n" not in str(caught.value)


def test_right_captions_once_each() -> None:
    one = choice("one", "a.png", "a cat", ["a dog"], "shape", "test")
    again = choice("two", "b.png", "a cat", ["a cow"], "shape", "test")
    two = pair("three", ("a.png", "b.png"), ("a mug on grass", "grass in a mug"), "test")
    found = list(right_captions([one, again, two]))
    assert [(p.id, p.text) for p in found] == [
        ("one", "a cat"), ("three", "a mug on grass"), ("three-2", "grass in a mug"),
    ]  # fmt: skip
    assert all(p.images == p.texts == () and p.answer is None for p in found)
