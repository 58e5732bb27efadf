"""The metrics in evaluations with answers that are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PILImage
from t2i_core.api import (
    Embedding,
    Failure,
    Generated,
    GeneratorInfo,
    JudgeInfo,
    ObjectClass,
    Prompt,
    PromptQuestion,
    PromptSourceInfo,
    Query,
    QuestionAnswer,
    Scene,
    SceneObject,
    VisualQuestion,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, MetricContract, StaticResolver
from t2i_questions.plugin import t2i_metrics

INFOS = {info.name: info for info in t2i_metrics()}
Answers = Callable[[VisualQuestion, Query], QuestionAnswer | Failure]


class ScriptedJudge:
    """Answers questions by a function, and embeds texts by a table."""

    def __init__(self, answers: Answers, vectors: Mapping[str, list[float]]) -> None:
        self.answers, self.vectors = answers, vectors
        self.asked: list[str] = []

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            if capability == "embed":
                self.asked.append(f"embed {query.texts[0]}")
                yield query, Embedding(np.array(self.vectors[query.texts[0]], np.float32))
                continue
            question = VisualQuestion.of(query)
            self.asked.append(question.text)
            yield query, self.answers(question, query)


def answer_from(table: Mapping[str, str]) -> Answers:
    """Return a function that answers by the text of the question."""

    def answers(question: VisualQuestion, query: Query) -> QuestionAnswer | Failure:
        said = table.get(question.text, "no")
        if not question.choices:
            return QuestionAnswer(text=said)
        return QuestionAnswer(question.choices, question.choices.index(said) if said in question.choices else None)

    return answers


def run_metric(
    name: str,
    prompts: Iterable[Prompt],
    answers: Answers,
    out: Path,
    vectors: Mapping[str, list[float]] | None = None,
    model: Any = TEST_MODEL,
    **how: Any,
) -> tuple[Run, ScriptedJudge]:
    """Evaluate one metric with scripted answers."""
    judge = ScriptedJudge(answers, vectors or {})
    info = JudgeInfo(
        name="scripted",
        summary="Answers that are given.",
        capabilities={"answer": frozenset({"probs"}), "embed": frozenset()},
        create=lambda setup: judge,
    )
    source = PromptSourceInfo(name="asked", summary="Given.", prompts=lambda setup: iter(prompts))
    arguments = {"prompts": "asked", "seeds": 1, "judge": "scripted", **how}
    return evaluate(INFOS[name], model, out=out, resolver=StaticResolver(info, source), **arguments), judge


CHAIN = tuple(
    PromptQuestion(str(number), f"Q{number}?", parents=(str(number - 1),) if number > 1 else (), category=category)
    for number, category in enumerate(("entity", "attribute", "attribute", "relation"), 1)
)
PROMPT = Prompt("cup", "a cup", questions=CHAIN)
LOST_FIRST = answer_from({"Q2?": "yes", "Q3?": "yes", "Q4?": "yes"})
"""The first of a chain of questions is answered no, all others yes."""

CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")
ASKED = PromptSourceInfo(
    name="asked-prompts",
    summary="A car and a dog, with questions.",
    prompts=lambda setup: iter(
        Prompt(
            cls.name,
            f"a {cls.name}",
            scene=Scene((SceneObject(cls),)),
            facets={"task": "attribute"},
            questions=(
                PromptQuestion("1", f"a {cls.name}?", category="attribute", scene=Scene((SceneObject(cls),))),
                PromptQuestion("2", f"A red {cls.name}?", parents=("1",), category="attribute"),
            ),
        )
        for cls in (CAR, DOG)
    ),
)


class QuestionMetricContract(MetricContract):
    module = "t2i_questions.plugin"
    prompts = ASKED.name
    resolver_parts = (ASKED,)


class TestVqaScore(QuestionMetricContract):
    name = "vqascore"


class TestDsg(QuestionMetricContract):
    name = "dsg"


class TestDpgBench(QuestionMetricContract):
    name = "dpg-bench"


class TestTifa(QuestionMetricContract):
    name = "tifa"


class TestSoftTifa(QuestionMetricContract):
    name = "soft-tifa"


class TestCompBench(QuestionMetricContract):
    name = "t2i-compbench"


del QuestionMetricContract, MetricContract


def rows(table: pd.DataFrame, measure: str, column: str = "value") -> list[Any]:
    return table.loc[table["measure"] == measure, column].tolist()


def test_dsg_looks_at_original_answers(tmp_path: Path) -> None:
    run, _ = run_metric("dsg", [PROMPT], LOST_FIRST, tmp_path / "run")
    table = run.measurements()
    assert rows(table, "dsg") == [0.5]  # 3 and 4
    assert rows(table, "dsg-without-dependency") == [0.75]
    assert rows(table, "dsg", "because") == ["no to: Q1?; not counted: Q2? (depends on: Q1?)"]
    (shown,) = run.evidence()
    assert [each.label for each in shown.regions] == ["Q1? no (right: yes)", "Q2? yes (depends on: Q1?)"]
    assert rows(table, "valid-answer") == [0, 0, 1, 1]
    assert rows(table, "answer") == [0, 1, 1, 1]
    facets = run.results[0].facets["valid-answer"]["category"]
    assert {level: score.value for level, score in facets.items()} == {
        "entity": 0.0,
        "attribute": 0.5,
        "relation": 1.0,
    }


def test_dpg_cascades_in_the_order_of_rows(tmp_path: Path) -> None:
    backwards = Prompt("backwards", "a cup", questions=CHAIN[::-1])
    asked = (PromptQuestion("0", "Q0?"), PromptQuestion("1", "Q1?"))
    first = Prompt("first", "another cup", questions=asked, facets={"lost_question": "0"})
    options = {"metric:dpg-bench": {"variant": "reference"}}
    how = {"options": options, "seeds": 1}
    run, judge = run_metric("dpg-bench", [PROMPT, backwards, first], LOST_FIRST, tmp_path / "reference", **how)
    table = run.measurements().set_index("prompt")
    scores = table.loc[table["measure"] == "dpg-bench", "value"]
    # of the first prompt of the file only Q1 is asked; backwards, only 2 has a parent that is lost by then
    assert scores.to_dict() == {"first": 0.0, "cup": 0.0, "backwards": 0.5}
    assert "Q0?" not in judge.asked
    (variant,) = (note for note in run.results[0].notes if "variant reference" in note)
    assert "order of the rows" in variant
    assert "last picture" not in variant
    (lost,) = (note for note in run.results[0].notes if "does not read the first row" in note)
    assert lost.startswith("1 ")
    how["options"] = {"metric:dpg-bench": {"variant": "corrected"}}
    run, judge = run_metric("dpg-bench", [first, PROMPT, backwards], LOST_FIRST, tmp_path / "corrected", **how)
    table = run.measurements().set_index("prompt")
    assert table.loc[table["measure"] == "dpg-bench", "value"].to_dict() == {"first": 0, "cup": 0, "backwards": 0}
    assert "Q0?" in judge.asked
    assert any("variant corrected" in note for note in run.results[0].notes)


def test_dpg_leaves_out_images_whose_parent_was_not_read(tmp_path: Path) -> None:
    prompt = replace(PROMPT, facets={"lost_question": "1"})
    run, _ = run_metric("dpg-bench", [prompt], LOST_FIRST, tmp_path / "run", max_failed=1.0)
    assert run.results[0].n_ok == 0
    reasons = pd.read_csv(run.folder / "failures.csv")
    assert reasons["kind"].tolist() == ["excluded"]
    assert "question 2 depends on question 1, which does not exist" in reasons["reason"][0]


def test_dpg_loses_no_question_of_another_prompt(tmp_path: Path) -> None:
    """Whatever part of the file is measured, and in whatever order, a prompt has the same score."""
    answers = answer_from({"Q1?": "yes"})
    scores = []
    for number, prompts in enumerate(([PROMPT], [replace(PROMPT, id="other"), PROMPT])):
        run, _ = run_metric("dpg-bench", prompts, answers, tmp_path / str(number))
        table = run.measurements().set_index("prompt")
        scores.append(table.loc[table["measure"] == "dpg-bench", "value"]["cup"])
        assert not any("does not read" in note for note in run.results[0].notes)
    assert scores == [0.25, 0.25]


def test_dpg_leaves_out_a_prompt_without_another_question(tmp_path: Path) -> None:
    only = Prompt("only", "a cup", questions=CHAIN[:1], facets={"lost_question": "1"})
    run, _ = run_metric("dpg-bench", [only, PROMPT], answer_from({"Q1?": "yes"}), tmp_path / "run")
    assert run.results[0].score == 0.25
    reasons = pd.read_csv(run.folder / "failures.csv")
    assert reasons["kind"].tolist() == ["excluded"]
    assert "does not read the only question" in reasons["reason"][0]


def test_a_parent_that_does_not_exist_counts_as_wrong(tmp_path: Path) -> None:
    run, _ = run_metric("dsg", [Prompt("a", "a", questions=CHAIN[1:])], LOST_FIRST, tmp_path / "run")
    assert rows(run.measurements(), "valid-answer") == [0, 1, 1]
    assert any("parent does not exist" in note for note in run.results[0].notes)


def test_grids_are_cut_into_four_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "grids"
    folder.mkdir()
    pixels = np.zeros((64, 64, 3), np.uint8)
    for number, (y, x) in enumerate(((0, 0), (0, 32), (32, 0), (32, 32))):
        pixels[y : y + 32, x : x + 32] = 50 * (number + 1)
    grid = PILImage.fromarray(pixels)

    class Grids:
        def generate(self, requests: Any) -> Any:
            for request in requests:
                yield request, Generated(np.asarray(grid))

    seen = []

    def answers(question: Any, query: Any) -> QuestionAnswer:
        shade = int(query.images[0].pixels[0, 0, 0]) // 50
        assert (query.images[0].pixels // 50 == shade).all()
        seen.append((question.text, shade))
        yes = question.text == "Q1?" and shade != 4
        return QuestionAnswer(question.choices, 0 if yes else 1)

    model = GeneratorInfo(name="grids", summary="Grids.", create=lambda setup: Grids())
    prompts = [
        Prompt("grid", "grid", questions=(CHAIN[0], PromptQuestion("2", "Q2?", category="other"))),
    ]
    options = {"metric:dpg-bench": {"pictures": 4}}
    run, _ = run_metric("dpg-bench", prompts, answers, tmp_path / "run", model=model, options=options)
    table = run.measurements()
    own = table[table["prompt"] == "grid"]
    assert rows(own, "dpg-bench") == [pytest.approx(3 / 8)]
    assert rows(own, "answer") == [0, 0]  # the last picture alone
    assert set(seen) == {(f"Q{question}?", picture) for question in (1, 2) for picture in (1, 2, 3, 4)}
    assert any("categories are those of the last picture" in note for note in run.results[0].notes)
    assert "picture 4: no to: Q1?; no to: Q2?" in rows(own, "dpg-bench", "because")[0]
    labels = [each.label for each in run.evidence()[0].regions]
    assert labels[0] == "picture 1: Q2? no (right: yes)"
    assert "picture 4: Q1? no (right: yes)" in labels


def test_an_image_that_is_not_a_grid_fails(tmp_path: Path) -> None:
    class Wide:
        def generate(self, requests: Any) -> Any:
            for request in requests:
                yield request, Generated(np.arange(32 * 64 * 3, dtype=np.uint8).reshape(32, 64, 3))

    model = GeneratorInfo(name="wide", summary="Wide.", create=lambda setup: Wide())
    options = {"metric:dpg-bench": {"pictures": 4, "variant": "corrected"}}
    run, _ = run_metric(
        "dpg-bench", [PROMPT], LOST_FIRST, tmp_path / "run", model=model, options=options, max_failed=1.0
    )
    assert run.results[0].n_failed == 1
    assert "not a grid of 2 x 2" in pd.read_csv(run.folder / "failures.csv")["reason"][0]


def probabilities(*values: float) -> Any:
    def answers(question: Any, query: Any) -> QuestionAnswer:
        shares = np.array(values[: len(question.choices)])
        return QuestionAnswer(question.choices, int(np.argmax(shares)), shares)

    return answers


def test_vqascore_is_the_probability_of_yes_among_all_words(tmp_path: Path) -> None:
    run, judge = run_metric("vqascore", [Prompt("cup", "a cup")], probabilities(0.3, 0.1), tmp_path / "run")
    assert run.results[0].score == pytest.approx(0.3)
    assert judge.asked == ['Does this figure show "a cup"?']
    options = {"vqascore": {"normalise": True, "question": "{}?"}}
    run, judge = run_metric(
        "vqascore", [Prompt("cup", "a cup")], probabilities(0.3, 0.1), tmp_path / "2", options=options
    )
    assert run.results[0].score == pytest.approx(0.75)
    assert judge.asked == ["a cup?"]


@pytest.mark.parametrize(
    ("shares", "because"),
    [
        ((1.0, 0.0), ""),
        ((0.8, 0.2), ""),
        ((0.3, 0.7), "answered no"),
        ((0.5, 0.5), "yes and no are equally probable"),
    ],
)
def test_reasons_of_vqascore_have_no_numbers(shares: tuple[float, float], because: str, tmp_path: Path) -> None:
    run, _ = run_metric("vqascore", [Prompt("cup", "a cup")], probabilities(*shares), tmp_path / "run")
    reasons = run.measurements().get("because")
    assert ([] if reasons is None else reasons.dropna().tolist()) == ([because] if because else [])


def test_vqascore_without_probabilities_says_so(tmp_path: Path) -> None:
    answers = answer_from({"a cup?": "yes"})
    options = {"vqascore": {"question": "{}?"}}
    run, _ = run_metric(
        "vqascore", [Prompt("a", "a cup"), Prompt("b", "a dog")], answers, tmp_path / "r", options=options
    )
    assert run.results[0].score == 0.5
    assert any("no probabilities" in note for note in run.results[0].notes)


def test_soft_tifa_is_the_mean_of_probabilities(tmp_path: Path) -> None:
    shares = {"Q1?": 0.9, "Q2?": 0.4}

    def answers(question: Any, query: Any) -> QuestionAnswer:
        yes = shares[question.text]
        return QuestionAnswer(question.choices, int(yes < 0.5), np.array([yes, (1 - yes) / 2]))

    prompt = Prompt("a", "a", questions=CHAIN[:2])
    run, _ = run_metric("soft-tifa", [prompt], answers, tmp_path / "run")
    scores = run.results[0].scores
    assert scores["soft-tifa-am"].value == pytest.approx(0.65)
    assert scores["soft-tifa-gm"].value == pytest.approx(0.6)
    assert rows(run.measurements(), "probability") == pytest.approx([0.9, 0.4])


TIFA = Prompt(
    "cup",
    "a blue cup",
    questions=(
        PromptQuestion("1", "Which colour?", ("red", "green", "blue"), ("blue",), category="color"),
        PromptQuestion("2", "Is there a cup?", category="object"),
    ),
)
VECTORS = {
    "light blue": [0.8, 0.6, 0.0],
    "blue": [0.6, 0.8, 0.0],
    "green": [0.0, 0.6, 0.8],
    "red": [1.0, 0.0, 0.0],
}


def test_free_answers_mean_the_nearest_choice(tmp_path: Path) -> None:
    answers = answer_from({"Which colour?": "Light blue.", "Is there a cup?": "yes"})
    options = {"tifa": {"answers": "free"}}
    run, judge = run_metric("tifa", [TIFA], answers, tmp_path / "run", VECTORS, options=options)
    assert run.results[0].score == 1.0
    assert sorted(judge.asked) == sorted(
        ["Which colour?", "Is there a cup?", *(f"embed {text}" for text in VECTORS)]
    )
    assert rows(run.measurements(), "answer", "because")[0] == "light blue (blue) to: Which colour?"


def test_free_answers_without_choices_are_right_in_any_case_of_letters(tmp_path: Path) -> None:
    question = PromptQuestion("1", "Which city?", (), ("Paris.", "Paris, France"))
    options = {"tifa": {"answers": "free"}}
    answers = answer_from({"Which city?": " paris"})
    run, _ = run_metric(
        "tifa", [Prompt("a", "a", questions=(question,))], answers, tmp_path / "r", options=options
    )
    assert run.results[0].score == 1.0


def test_an_embedding_of_0_chooses_nothing(tmp_path: Path) -> None:
    answers = answer_from({"Which colour?": "Light blue.", "Is there a cup?": "yes"})
    vectors = VECTORS | {"green": [0.0, 0.0, 0.0]}
    options = {"tifa": {"answers": "free"}}
    run, _ = run_metric("tifa", [TIFA], answers, tmp_path / "run", vectors, options=options, max_failed=1.0)
    assert (run.results[0].n_ok, run.results[0].n_failed) == (0, 1)
    assert "an embedding is 0" in pd.read_csv(run.folder / "failures.csv")["reason"][0]


def test_free_answers_that_are_choices_need_no_embedding(tmp_path: Path) -> None:
    answers = answer_from({"Which colour?": "red", "Is there a cup?": "yes"})
    options = {"tifa": {"answers": "free"}}
    run, judge = run_metric("tifa", [TIFA], answers, tmp_path / "run", {}, options=options)
    assert run.results[0].score == 0.5
    assert not [text for text in judge.asked if text.startswith("embed")]
    assert rows(run.measurements(), "tifa", "because") == ["red to: Which colour? (right: blue)"]


def test_tifa_by_choice(tmp_path: Path) -> None:
    second = Prompt("dog", "a dog", questions=(PromptQuestion("1", "Is there a dog?", category="object"),))
    answers = answer_from({"Which colour?": "blue", "Is there a cup?": "yes"})
    run, _ = run_metric("tifa", [TIFA, second], answers, tmp_path / "run")
    scores = run.results[0].scores
    assert scores["tifa"].value == 0.5
    assert scores["tifa-stdev"].value == pytest.approx(np.std([1, 0], ddof=1))
    assert any("chose among the choices" in note for note in run.results[0].notes)


@pytest.mark.parametrize("metric", ["dsg", "dpg-bench", "tifa", "soft-tifa"])
def test_prompts_without_questions_are_refused(metric: str, tmp_path: Path) -> None:
    with pytest.raises(BadPrompts, match=f"^{metric}: prompt 'bare' has no questions"):
        run_metric(metric, [Prompt("bare", "a cup")], LOST_FIRST, tmp_path / "run")


def test_a_question_that_is_left_open_is_a_failure(tmp_path: Path) -> None:
    answers = answer_from({f"Q{number}?": "perhaps" for number in range(5)})
    run, _ = run_metric("dsg", [PROMPT], answers, tmp_path / "run", max_failed=1.0)
    assert (run.results[0].n_ok, run.results[0].n_failed) == (0, 1)


def test_weights_of_questions(tmp_path: Path) -> None:
    questions = (PromptQuestion("1", "Q1?", weight=3.0), PromptQuestion("2", "Q2?"))
    run, _ = run_metric("dsg", [Prompt("a", "a", questions=questions)], LOST_FIRST, tmp_path / "run")
    assert run.results[0].score == 0.25
