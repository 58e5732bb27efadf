from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api import Study
from t2i_core.api.errors import BadOption
from t2i_core.statistics import mean_interval
from t2i_core.testing.figures import check_figure
from t2i_paintskills.analyses import analyse
from t2i_paintskills.answers import majorities
from t2i_paintskills.people_comparison import average_independent

BOUND = "upper bound (simulator)"


def rows(metric, measure, *cells):
    """Rows as a run's table has them: model, prompt, seed, value and facets."""
    return pd.DataFrame(
        [
            {"metric": metric, "measure": measure, "model": m, "prompt": p, "seed": s, "value": float(v), **facets}
            for m, p, s, v, facets in cells
        ]
    )


OBJECT = rows(
    "paintskills-object", "paintskills-object",
    ("a", "object-dog", 0, 1, {"object": "dog"}), ("a", "object-dog", 1, 0, {"object": "dog"}),
    ("a", "object-bed", 0, 1, {"object": "bed"}), ("b", "object-dog", 0, 0, {"object": "dog"}),
    (BOUND, "object-dog", 0, 1, {"object": "dog"}), (BOUND, "object-bed", 0, 1, {"object": "bed"}),
)  # fmt: skip
COUNT = rows(
    "paintskills-count", "paintskills-count",
    ("a", "count-2-dog", 0, 0, {"object": "dog", "count": "2"}),
    ("b", "count-2-dog", 0, 1, {"object": "dog", "count": "2"}),
    (BOUND, "count-2-dog", 0, 1, {"object": "dog", "count": "2"}),
)  # fmt: skip
NUMBER = rows("paintskills-count", "number", ("a", "count-2-dog", 0, 1, {"object": "dog", "count": "2"}))


def study(tmp_path, own, *others):
    beside = pd.concat(others) if others else None
    table = own.drop(columns="metric").dropna(axis="columns", how="all")
    return Study(table, pd.DataFrame(), tmp_path, beside)


def found(tmp_path, metric, answers, own, *others):
    return {a.name: a for a in analyse(study(tmp_path, own, *others), metric, answers)}


def test_the_first_of_several_skills_says_the_table_of_all(tmp_path):
    said = found(tmp_path, "paintskills-object", None, OBJECT, COUNT, NUMBER)
    table = said["skills"].table
    named = [name for name in table.columns if not name.endswith((" low", " high"))]
    assert named == ["model", "object", "count", "average", "images object", "images count"]
    assert table[["images object", "images count"]].to_numpy().tolist() == [[3, 1], [1, 1], [2, 1]]
    assert list(table["model"]) == ["a", "b", BOUND]  # the bound last
    np.testing.assert_allclose(table["object"], [2 / 3, 0, 1])
    np.testing.assert_allclose(table["count"], [0, 1, 1])
    np.testing.assert_allclose(table["average"], [1 / 3, 1 / 2, 1])
    assert "skills" not in found(tmp_path, "paintskills-count", None, pd.concat([COUNT, NUMBER]), OBJECT)


def test_one_skill_alone_has_no_average(tmp_path):
    table = found(tmp_path, "paintskills-count", None, pd.concat([COUNT, NUMBER]))["skills"].table
    assert list(table.columns) == ["model", "count", "count low", "count high", "images count"]
    assert list(table["count"]) == [0, 1, 1]  # `number` is left out


def test_figures_have_the_intervals_of_the_runs_question(tmp_path):
    said = found(tmp_path, "paintskills-object", None, OBJECT, COUNT)
    data = said["skills"].figure.data.set_index(["skill", "model"])
    own = OBJECT[OBJECT["model"] == "a"]
    expected = mean_interval(own["value"], own["prompt"], own["seed"], low=0, high=1)
    assert list(data.loc[("object", "a"), ["accuracy", "low", "high"]]) == [
        expected.value,
        expected.lo,
        expected.hi,
    ]
    assert ((data["low"] <= data["accuracy"]) & (data["accuracy"] <= data["high"])).all()


def test_accuracy_by_facet(tmp_path):
    said = found(tmp_path, "paintskills-object", None, OBJECT)
    table = said["objects"].table.set_index("object")
    assert [n for n in table.columns if not n.endswith((" low", " high"))] == ["a", "b", BOUND, "images"]
    assert table.loc["dog", ["a", "b", BOUND, "images"]].tolist() == [0.5, 0, 1, 2]
    assert table.loc["dog", "a low"] < 0.5 < table.loc["dog", "a high"]
    assert table.loc["bed", ["a", BOUND, "images"]].tolist() == [1, 1, 1]
    assert math.isnan(table.loc["bed", "b"])
    counts = found(tmp_path, "paintskills-count", None, COUNT)
    assert set(counts) == {"skills", "objects", "counts"}


def test_all_four_in_one_metric(tmp_path):
    parts = [
        rows("paintskills", skill, ("a", f"{skill}-dog", 0, v, {"object": "dog", "skill": skill, **facets}))
        for skill, v, facets in (
            ("object", 1, {}), ("count", 0, {"count": "2"}), ("color", 1, {"colour": "red"}),
            ("spatial", 0, {"object_2": "bed", "relation": "left"}),
        )
    ]  # fmt: skip
    said = found(tmp_path, "paintskills", None, pd.concat(parts))
    columns = ["model", "object", "count", "color", "spatial", "average"]
    assert said["skills"].table.loc[0, columns].tolist() == ["a", 1, 0, 1, 0, 0.5]
    assert {"object: objects", "count: counts", "color: colours", "spatial: relations"} <= set(said)
    assert {"spatial: objects A", "spatial: objects B"} <= set(said)
    assert said["spatial: objects B"].table["object_2"].tolist() == ["bed"]


def test_the_average_has_an_interval_over_the_prompts_of_each_skill(tmp_path):
    rng = np.random.default_rng(0)
    right = {"object": 0.9, "count": 0.4}
    parts = [
        rows(f"paintskills-{skill}", f"paintskills-{skill}",
             *(("a", f"{skill}-{n}", s, rng.random() < share, {"object": "dog", "count": "1"})
               for n in range(30) for s in (0, 1)))
        for skill, share in right.items()
    ]  # fmt: skip
    line = found(tmp_path, "paintskills-object", None, *parts)["skills"].table.loc[0]
    alone = [line[f"{skill} high"] - line[f"{skill} low"] for skill in right]
    width = line["average high"] - line["average low"]
    assert line["average low"] < line["average"] < line["average high"]
    assert 0.9 < width / (math.hypot(*alone) / 2) < 1.5  # the mean of two means, with two seeds in common


def test_a_run_without_values_has_no_analyses(tmp_path):
    assert found(tmp_path, "paintskills-object", None, OBJECT[:0]) == {}


# people -------------------------------------------------------------------------------------------------------

HEAD = "model,prompt,seed,annotator,answer"


def write(tmp_path, *lines):
    path = tmp_path / "answers.csv"
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


def votes(model, prompt, seed, answers):
    return [f"{model},{prompt},{seed},p{n},{'yes' if said else 'no'}" for n, said in enumerate(answers)]


def test_people_and_metric(tmp_path):
    path = write(
        tmp_path,
        *votes("a", "object-dog", 0, [1, 1, 1, 0, 0]),  # the metric says so too
        *votes("a", "object-dog", 1, [0, 0, 0, 0, 1]),  # and here that it is wrong
        *votes("a", "object-bed", 0, [0, 0, 0, 1, 1]),  # here people say no, the metric yes
        *votes("b", "object-dog", 0, [1, 0]),  # a tie
        *votes("b", "object-bus", 0, [1]),  # not of this run
    )
    said = found(tmp_path, "paintskills-object", path, OBJECT)["people"]
    table = said.table.set_index(["model", "skill"])
    row = table.loc[("a", "object")]
    assert row["people"] == pytest.approx(1 / 3)
    assert row["metric"] == pytest.approx(2 / 3)
    assert row["agreement"] == pytest.approx(2 / 3)
    assert row["phi"] == pytest.approx(0.5)  # (1 x 1 - 0 x 1) / sqrt(1 x 2 x 2 x 1)
    assert math.isnan(row["phi low"])  # without either prompt one side is constant
    assert (row["images"], row["ties"], row["annotators"]) == (3, 0, 5)
    assert table.loc[("b", "object"), ["images", "ties"]].tolist() == [0, 1]
    assert "without 1 that the metric does not decide" in said.summary


def test_rows_have_the_order_of_the_run_and_of_the_skills(tmp_path):
    """DALL-Eval's Tables 4 and 5: zero-shot before fine-tuned models, object before count; the bound last."""
    metric = {"color": (1, 0) * 4, "count": (1, 0, 1, 1), "object": (1, 1, 1, 0, 0, 0)}
    people = {
        "color": {"fine-tuned": (1,) * 8, "zero-shot": (0,) * 8, BOUND: (1,) * 8},
        "count": {"fine-tuned": (1, 0, 1, 0), "zero-shot": (1, 0, 1, 1), BOUND: (1, 1, 1, 1)},
        "object": {"fine-tuned": (1, 1, 1, 0, 0, 0), "zero-shot": (0, 1, 1, 0, 0, 0), BOUND: (1,) * 6},
    }
    parts = make_parts(metric, ("zero-shot", "fine-tuned", BOUND))
    path = write_one(tmp_path, people)
    said = found(tmp_path, "paintskills-object", path, parts["object"], parts["color"], parts["count"])
    table = said["people"].table
    skills = ["object", "count", "color", "average"]
    assert table[["model", "skill"]].to_numpy().tolist() == [
        [model, skill] for model in ("zero-shot", "fine-tuned", BOUND) for skill in skills
    ]
    assert table.set_index(["model", "skill"])["people"][BOUND, "average"] == 1
    # means of the skills, which have 6, 4 and 8 images, not of all images
    tuned = table.set_index(["model", "skill"]).loc["fine-tuned"]
    for column, of_skills in (
        ("people", (3 / 6, 2 / 4, 8 / 8)), ("metric", (3 / 6, 3 / 4, 4 / 8)), ("agreement", (6 / 6, 3 / 4, 4 / 8)),
    ):  # fmt: skip
        np.testing.assert_allclose(tuned[column], [*of_skills, np.mean(of_skills)])
    over_models = said["phi by skill"].table.set_index("skill")
    assert list(over_models.index) == skills
    expected = [
        (5 * 6 - 0 * 1) / math.sqrt(5 * 7 * 6 * 6),  # 5 right for both, 6 wrong for both, 1 for the metric alone
        (5 * 2 - 0 * 1) / math.sqrt(5 * 3 * 6 * 2),
        0,
    ]
    np.testing.assert_allclose(over_models["phi"], [*expected, np.mean(expected)], atol=1e-12)
    assert over_models.loc["object", ["models", "prompts", "images"]].tolist() == [2, 6, 12]
    assert over_models.loc["average", ["models", "prompts", "images"]].tolist() == [2, 18, 36]
    line = over_models.loc["average"]
    assert line["phi low"] < np.mean(expected) < line["phi high"]


def make_parts(metric, models):
    """The metric's rows of each skill: its decisions about an image of each prompt, the same for all models."""
    facets = {"object": "dog", "count": "1", "colour": "red"}
    return {
        skill: rows(
            f"paintskills-{skill}", f"paintskills-{skill}",
            *((model, f"{skill}-{n}", 0, right, facets) for model in models for n, right in enumerate(decisions))
        )
        for skill, decisions in metric.items()
    }  # fmt: skip


def write_one(tmp_path, people):
    """Answers of one person by skill, model and prompt; None for a tie of two."""
    lines = [
        line
        for skill, by_model in people.items()
        for model, answers in by_model.items()
        for n, right in enumerate(answers)
        for line in votes(model, f"{skill}-{n}", 0, [1, 0] if right is None else [right])
    ]
    return write(tmp_path, *lines)


@pytest.mark.parametrize("count", [(None, None), ()], ids=["ties", "no answers"])
def test_a_model_without_a_majority_in_every_skill_has_no_average(tmp_path, count):
    parts = make_parts({"object": (1, 0), "count": (1, 0)}, ("a", "b"))
    path = write_one(tmp_path, {"object": {"a": (1, 0), "b": (1, 0)}, "count": {"a": (1, 0), "b": count}})
    said = found(tmp_path, "paintskills-object", path, parts["object"], parts["count"])
    averages = said["people"].table.set_index(["skill", "model"]).loc["average"]
    assert averages.loc["a", ["people", "metric", "agreement"]].tolist() == [1 / 2, 1 / 2, 1]
    assert averages.loc["b", ["people", "people low", "metric", "agreement"]].isna().all()
    assert averages.loc["b", ["images", "ties"]].tolist() == [2, len(count)]
    drawn = said["people"].figure.data
    assert ("b", "average") not in set(zip(drawn["model"], drawn["skill"], strict=True))


@pytest.mark.long
def test_phi_has_no_average_without_a_majority_in_every_skill(tmp_path):
    parts = make_parts({"object": (1, 0), "count": (1, 0)}, ("a",))
    path = write_one(tmp_path, {"object": {"a": (1, 0)}, "count": {"a": (None, None)}})
    said = found(tmp_path, "paintskills-object", path, parts["object"], parts["count"])["phi by skill"]
    table = said.table.set_index("skill")
    assert table.loc["object", "phi"] == 1
    assert table.loc[["count", "average"], "phi"].isna().all()
    check_figure(said)


def test_phi_is_over_the_models_that_people_saw(tmp_path):
    """DALL-Eval's Table 5 is over the fine-tuned models of a run that has others, too."""
    parts = make_parts({"object": (1, 0, 1)}, ("zero-shot", "tuned"))
    path = write_one(tmp_path, {"object": {"tuned": (1, 0, 0)}})
    line = found(tmp_path, "paintskills-object", path, parts["object"])["phi by skill"].table.iloc[0]
    assert (line["models"], line["images"], line["phi"]) == (1, 3, pytest.approx(0.5))


def test_the_interval_of_an_average_follows_from_those_of_its_parts():
    same = average_independent(np.array([[0.2, 0.5, 0.7]] * 4))
    assert same == pytest.approx((0.5, 0.5 - 0.3 / 2, 0.5 + 0.2 / 2))  # half as wide as one of four
    certain = average_independent(np.array([[-1, 1, 1], [0.5, 0.6, 0.7]]))
    assert certain == pytest.approx((0.8, 0.8 - math.hypot(2, 0.1) / 2, 0.8 + 0.05))
    assert all(map(math.isnan, average_independent(np.array([[math.nan] * 3, [0, 0.1, 0.2]]))))


@pytest.mark.parametrize("wrong", [0, 3])
def test_phi_has_an_interval_over_prompts(tmp_path, wrong):
    cells = [("a", f"object-{n}", seed, n % 2, {"object": "dog"}) for n in range(20) for seed in (0, 1)]
    path = write(tmp_path, *(f"a,object-{n},{s},ann,{'yes' if n % 2 != (n < wrong) else 'no'}"
                             for n in range(20) for s in (0, 1)))  # fmt: skip
    table = found(tmp_path, "paintskills-object", path, rows("paintskills-object", "paintskills-object", *cells))
    row = table["people"].table.set_index("model").loc["a"]
    if wrong:
        assert -1 < row["phi low"] < row["phi"] < row["phi high"] < 1
    else:  # 20 prompts, not 40 images
        assert (row["phi"], row["phi high"]) == (1, 1)
        assert row["phi low"] == pytest.approx(1 - (1 - 0.025 ** (1 / 20)) / 0.5)


def test_figures_are_drawn(tmp_path):
    path = write(tmp_path, *votes("a", "object-dog", 0, [1, 1, 0]))
    for analysis in found(tmp_path, "paintskills-object", path, OBJECT).values():
        assert ("phi" if analysis.name == "phi by skill" else "accuracy: ") in check_figure(analysis)


@settings(max_examples=25)
@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_the_majority_is_more_than_half(said):
    answers = pd.DataFrame(
        {"model": "a", "prompt": "p", "seed": 0, "answer": ["yes" if one else "no" for one in said]}
    )
    (row,) = majorities(answers).itertuples()
    expected = math.nan if 2 * sum(said) == len(said) else float(2 * sum(said) > len(said))
    assert row.majority == expected or (math.isnan(row.majority) and math.isnan(expected))
    assert row.people == len(said)


COMPONENTS = "rater,question,answer,prompt,left,seed\n"


@pytest.mark.parametrize(
    ("skill", "facets", "said", "right"),
    [
        ("object", {"object": "dog"}, {"object": "Dog"}, 1),
        ("object", {"object": "dog"}, {"object": "none"}, 0),
        ("count", {"object": "dog", "count": 2}, {"object": "dog", "number": "2"}, 1),
        ("count", {"object": "dog", "count": 2}, {"object": "dog", "number": "3"}, 0),
        ("color", {"object": "dog", "colour": "red"}, {"object": "dog", "colour": "red"}, 1),
        ("color", {"object": "dog", "colour": "red"}, {"object": "dog", "colour": "blue"}, 0),
        ("spatial", {"object": "dog", "object_2": "bed", "relation": "left"},
         {"object A": "bed", "object B": "dog", "relation": "right"}, 1),
        ("spatial", {"object": "dog", "object_2": "bed", "relation": "left"},
         {"object A": "dog", "object B": "bed", "relation": "right"}, 0),
    ],
)  # fmt: skip
def test_components_decide(tmp_path, skill, facets, said, right):
    path = tmp_path / "answers.csv"
    path.write_text(COMPONENTS + "".join(f"ann,{name},{answer},p,a,0\n" for name, answer in said.items()))
    table = rows(f"paintskills-{skill}", f"paintskills-{skill}", ("a", "p", 0, 1, facets))
    line = found(tmp_path, f"paintskills-{skill}", path, table)["people"].table.set_index("model").loc["a"]
    assert (line["people"], line["images"]) == (right, 1)


def test_a_file_without_answers_about_skills_is_refused(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(COMPONENTS + "ann,human,yes,p,a,0\n")
    with pytest.raises(BadOption) as caught:
        found(tmp_path, "paintskills-object", path, OBJECT)
    assert "\n" not in str(caught.value)


def test_answers_about_another_run_are_refused(tmp_path):
    path = write(tmp_path, *votes("z", "object-dog", 0, [1]))
    with pytest.raises(
        BadOption, match=r"none of the answers is about an image of the run; the first is about model 'z'"
    ):
        found(tmp_path, "paintskills-object", path, OBJECT)
