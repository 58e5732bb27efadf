"""Questions of prompts: their checks, plain form, files, and part in a run's identity."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import ObjectClass, Prompt, PromptQuestion, Scene, SceneObject, VisualQuestion
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt_question import parse_questions
from t2i_core.engine.prompt_selection import check_prompts
from t2i_core.engine.run_identity import _identify_prompt
from t2i_core.io.prompt_file import read_prompts, write_prompts
from t2i_core.testing import sample_images

CUP = PromptQuestion("1", "Is there a cup?", category="entity", scene=Scene((SceneObject(ObjectClass("cup")),)))
FULL = PromptQuestion(
    "what",
    "What is in it?",
    ("tea", "milk", "air"),
    ("tea", "milk"),
    ("1",),
    "attribute",
    "attribute - other",
    2.5,
)
FREE = PromptQuestion("3", "Which colour?", (), ("blue", "light blue"))
PROMPT = Prompt("cup", "a blue cup with tea", questions=(CUP, FULL, FREE))


def test_a_text_is_a_question_whose_right_answer_is_yes() -> None:
    first, second = parse_questions(["Is there a cup?", {"text": "Is it blue?", "parents": 1, "answer": "no"}])
    assert first == PromptQuestion("1", "Is there a cup?", ("yes", "no"), ("yes",))
    assert second == PromptQuestion("2", "Is it blue?", ("yes", "no"), ("no",), ("1",))


@pytest.mark.parametrize("question", PROMPT.questions)
def test_plain_data_gives_the_question_back(question: PromptQuestion) -> None:
    data = json.loads(json.dumps(question.to_json()))
    assert PromptQuestion.from_json(data) == question


def test_defaults_are_left_out_of_plain_data() -> None:
    assert PromptQuestion("1", "Is there a cup?").to_json() == {"id": "1", "text": "Is there a cup?"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("Is it?", "must be a list"),
        ([1], "question 1: must be a text or an object"),
        ([{"id": "1"}], "question 1: text: is missing"),
        ([" "], "question 1: text: is blank"),
        ([{"text": "?", "answr": "yes"}], "question 1: unknown field 'answr'"),
        ([{"text": "?", "choices": ["a"]}], "question 1: choices: "),
        ([{"text": "?", "choices": ["a", "a"], "answers": ["a"]}], "question 1: choices: "),
        ([{"text": "?", "choices": ["a", "b"]}], "question 1: answers: 'yes' is not among the choices a, b"),
        ([{"text": "?", "choices": [], "answers": []}], "question 1: answers: is empty"),
        ([{"text": "?", "answer": "yes", "answers": ["no"]}], "question 1: answer: "),
        ([{"text": "?", "parents": ["1"]}], "question 1: parents: the question '1' is its own parent"),
        ([{"text": "?", "parents": [None]}], "question 1: parents: must be a list of texts"),
        (["?", {"text": "??", "weight": 0}], "question 2: weight: must be a number above 0"),
        ([{"text": "?", "weight": float("nan")}], "question 1: weight: "),
        ([{"text": "?", "category": 3}], "question 1: category: must be a text"),
        ([{"text": "?", "scene": {}}], "question 1: scene: the field 'objects' is missing"),
        ([{"text": "?", "choices": [], "answers": ["a"], "scene": {"objects": []}}], "question 1: scene: "),
        ([{"text": "?", "id": "a"}, {"text": "?", "id": "a"}], "two questions have the id 'a'"),
    ],
)
def test_a_wrong_question_is_told_by_its_number(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        parse_questions(data)


def test_files_have_questions(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in write_prompts([PROMPT])), encoding="utf-8")
    assert read_prompts(file) == [PROMPT]


@pytest.mark.parametrize("cell", ["Is there a cup?; Is it blue?", '"[""Is there a cup?"", ""Is it blue?""]"'])
def test_tables_have_questions(tmp_path: Path, cell: str) -> None:
    file = tmp_path / "prompts.csv"
    file.write_text(f"prompt,questions\na blue cup,{cell}\n", encoding="utf-8")
    (prompt,) = read_prompts(file)
    assert [question.text for question in prompt.questions] == ["Is there a cup?", "Is it blue?"]
    assert prompt.facets == {}


@pytest.mark.parametrize(
    ("field", "message"), [('[{"text": ""}]', "question 1: text"), ('"[1"', "Expecting"), ("3", "must be a list")]
)
def test_a_wrong_question_in_a_file_is_told_in_one_line(tmp_path: Path, field: str, message: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(f'{{"prompt": "a cup", "questions": {field}}}\n', encoding="utf-8")
    with pytest.raises(BadPrompts) as caught:
        read_prompts(file)
    assert f"{file}, line 1: questions: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_prompts_of_one_text_with_other_questions_stay_apart(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "a", "questions": ["A?"]}\n{"prompt": "a", "questions": ["B?"]}\n', "utf-8")
    assert [prompt.id for prompt in read_prompts(file)] == ["a", "a-2"]


def test_questions_distinguish_prompts_in_the_identity_of_a_run() -> None:
    variants = [
        PROMPT,
        replace(PROMPT, questions=()),
        replace(PROMPT, questions=(), references=("a cup",)),
        replace(PROMPT, references=("a cup",)),
        replace(PROMPT, questions=(CUP,)),
        replace(PROMPT, questions=(replace(CUP, parents=("9",)),)),
    ]
    assert len({_identify_prompt(each) for each in variants}) == len(variants)


@pytest.mark.parametrize("questions", [[CUP], ("Is there a cup?",), (CUP, replace(FREE, id="1"))])
def test_questions_of_a_source_are_checked(questions: Any) -> None:
    with pytest.raises(BadPrompts, match="questions of 'cup'"):
        check_prompts([replace(PROMPT, questions=questions)], "mine")


def test_a_question_is_a_query_about_an_image(tmp_path: Path) -> None:
    image = next(iter(sample_images(tmp_path)))
    query = CUP.about(image)
    assert query.images == (image,)
    asked = VisualQuestion.of(query)
    assert (asked.text, asked.choices, asked.scene) == (CUP.text, CUP.choices, CUP.scene)
