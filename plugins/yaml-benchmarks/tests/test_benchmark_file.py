"""Benchmarks in YAML files: what they say, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_yaml_benchmarks.benchmark_file import read_benchmark
from t2i_yaml_benchmarks.metric_measures import list_measures, number_version
from t2i_yaml_benchmarks.question_fields import AskedQuestion, DetectQuestion

GOOD = """\
summary: Are the things there?
prompts:
  - prompt: a photo of a red car
    objects: [red car]
    kind: [colour, single]
    questions:
      - Is there a car?
      - {text: "Is the car red?", parents: 1, category: colour}
  - two dogs
questions:
  - text: Does this image show "{prompt}"?
    id: all
    category: whole
    answer: yes
"""


def write(folder: Path, text: str) -> str:
    """Write a benchmark, and return its path."""
    path = folder / "bench.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_prompts_and_questions_are_read(tmp_path: Path) -> None:
    file = read_benchmark(write(tmp_path, GOOD))
    assert file.prompts is not None
    car, dogs = file.prompts
    assert (car.text, car.id, car.facets) == (
        "a photo of a red car",
        "a-photo-of-a-red-car",
        {"kind": "colour | single"},
    )
    assert car.scene is not None
    assert car.scene.objects[0].colour == "red"
    first, second, every = file.questions[car.id, car.text]
    assert isinstance(every, AskedQuestion)
    assert every.text == 'Does this image show "a photo of a red car"?'
    assert every.right == ("yes",)  # in YAML, yes is a truth value
    assert [question.id for question in (first, second, every)] == ["1", "2", "all"]
    assert isinstance(second, AskedQuestion)
    assert [question.category for question in file.questions[dogs.id, dogs.text]] == ["whole"]


def test_numbers_of_parents_are_those_of_their_own_list(tmp_path: Path) -> None:
    text = """\
summary: s
prompts: [{prompt: a, questions: [one, {text: two, parents: [1, whole]}]}]
questions: [{text: three, id: whole}, {text: four, parents: 1}, {text: five, parents: 2}]
"""
    (questions,) = read_benchmark(write(tmp_path, text)).questions.values()
    assert [(question.id, question.parents) for question in questions] == [
        ("1", ()),
        ("2", ("1", "whole")),
        ("whole", ()),
        ("every-2", ("whole",)),
        ("every-3", ("every-2",)),
    ]


def test_measures_are_the_score_and_the_categories(tmp_path: Path) -> None:
    score, *categories = list_measures(read_benchmark(write(tmp_path, GOOD)))
    assert (score.name, score.low, score.high, score.facets) == ("score", 0, 1, ("*",))
    assert [measure.name for measure in categories] == ["whole", "colour"]


RATED = """\
summary: Ratings
prompts: [a dog]
questions:
  - {text: 'How good?', choices: [1, 2, 3], values: [1, 2, 3], category: look}
"""


def test_a_rating_bounds_the_score_by_its_values(tmp_path: Path) -> None:
    (score, _) = list_measures(read_benchmark(write(tmp_path, RATED)))
    assert (score.low, score.high) == (1, 3)


def test_rewards_have_no_bounds_but_their_share_has(tmp_path: Path) -> None:
    text = "summary: s\nprompts: [a dog]\nquestions: [{reward: '{prompt}'}]\n"
    (score,) = list_measures(read_benchmark(write(tmp_path, text)))
    assert (score.low, score.high) == (None, None)
    (share,) = list_measures(read_benchmark(write(tmp_path, f"{text}score: {{at_least: 0.3}}\n")))
    assert (share.low, share.high) == (0, 1)


def test_the_version_follows_the_rules_alone(tmp_path: Path) -> None:
    version = number_version(read_benchmark(write(tmp_path, GOOD)))
    assert number_version(read_benchmark(write(tmp_path, f"{GOOD}seeds: 3\ncitation: someone\n"))) == version
    for changed in (f"{GOOD}score: all\n", GOOD.replace("Is there a car?", "Is there any car?")):
        assert number_version(read_benchmark(write(tmp_path, changed))) != version


def test_prompts_may_be_in_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "a dog", "animal": "dog"}\n')
    text = "summary: s\nprompts: prompts.jsonl\nquestions: ['Is there a {animal}?']\n"
    file = read_benchmark(write(tmp_path, text))
    assert file.prompts is not None
    (question,) = file.questions["a-dog", "a dog"]
    assert isinstance(question, AskedQuestion)
    assert question.text == "Is there a dog?"


def test_questions_of_a_prompt_file_are_asked(tmp_path: Path) -> None:
    first, second = (
        '{"text": "Is it {red}?", "category": "colour"}',
        '{"text": "t", "choices": ["a", "b"], "answer": "b"}',
    )
    asked = f"[{first}, {second}]"
    (tmp_path / "prompts.jsonl").write_text(f'{{"prompt": "a dog", "questions": {asked}}}\n')
    file = read_benchmark(write(tmp_path, "summary: s\nprompts: prompts.jsonl\n"))
    one, two = file.questions["a-dog", "a dog"]
    assert isinstance(one, AskedQuestion)
    assert isinstance(two, AskedQuestion)
    assert (one.text, one.category, two.right) == ("Is it {red}?", "colour", ("b",))
    (tmp_path / "prompts.jsonl").write_text(
        '{"prompt": "a dog", "questions": [{"text": "t", "choices": [], "answer": "x"}]}'
    )
    with pytest.raises(BadOption, match="prompts: 'a-dog': question '1': its answer is free text"):
        read_benchmark(write(tmp_path, "summary: s\nprompts: prompts.jsonl\n"))


def test_prompts_carry_their_questions_for_other_metrics(tmp_path: Path) -> None:
    file = read_benchmark(write(tmp_path, GOOD))
    assert file.prompts is not None
    first, second = file.prompts[0].questions
    assert (first.text, second.text, second.parents, second.answers) == (
        "Is there a car?",
        "Is the car red?",
        ("1",),
        ("yes",),
    )
    assert file.prompts[1].questions == ()


def test_a_source_brings_prompts_that_the_file_does_not_know(tmp_path: Path) -> None:
    file = read_benchmark(write(tmp_path, "summary: s\nprompts: tiam-5-1\nquestions: [{detect: dog}]\n"))
    assert file.prompts is None
    (question,) = file.all_questions
    assert isinstance(question, DetectQuestion)


START = "summary: s\nprompts: [a]\n"
ASKED = START + "questions:\n"

FAULTS = {
    START + "": "line 2, prompts.0.questions: there are no questions; add some here",
    "summary: s\nprompts: []\nquestions: [a]\n": "line 2, prompts: must have an item",
    "prompts: [a]\nquestions: [a]\n": "summary: is missing; add it",
    START + "question: [a]\n": "line 3, question: is unknown",
    ASKED + "  - {text: t, choices: [a, b]}\n": "line 4, questions.0.answer: is missing",
    ASKED + "  - {text: t, answer: maybe}\n": (
        "line 4, questions.0.answer: 'maybe' is not among the choices yes, no"
    ),
    ASKED + "  - {text: t, values: [1]}\n": (
        "line 4, questions.0.values: there must be one for each of the 2 choices"
    ),
    ASKED + "  - {texts: t}\n": "line 4, questions.0",
    ASKED + "  - {category: c}\n": (
        "line 4, questions.0: a question has one of the fields text, detect, classify, reward; add one"
    ),
    ASKED + "  - Is it {colour}?\n": (
        "line 4, questions.0.text: 'Is it {colour}?': the prompt has no field 'colour'; the fields are prompt"
    ),
    ASKED + "  - 'Is it {?'\n": "line 4, questions.0.text: 'Is it {?': ",
    ASKED + "  - {detekt: dog}\n": "bench.yaml: line 4, questions.0.detekt: is unknown: did you mean 'detect'",
    "summary: s\nprompts:\n  - prompt: a\n    questions:\n      - b\n      - {text: t,\n         parents: 7}\n": (
        "line 7, prompts.0.questions.1.parents: question '2': no question has the id '7' of its parent"
    ),
    ASKED + "  - {text: Is it?, id: a}\n": "; put quotes around a text with a question mark",
    ASKED + "  - {text: t, parents: 2}\n": (
        "line 4, questions.0.parents: question 'every-1': no question has the id '2' of its parent"
    ),
    START + "questions: [{reward: r}]\nscore: all\n": (
        "line 3, questions.0: the rule all needs right and wrong answers"
    ),
    START + "questions: [{reward: r}, t]\n": "score: rewards and answers have different scales",
    START + "questions: [{text: t, category: c}]\nscore:\n  weights: {d: 1}\n": (
        "line 5, score.weights.d: no question has the category 'd'"
    ),
    START + "questions: [{text: t, category: score}]\n": "questions.0.category: 'score' is the name",
    "summary: s\nprompts:\n  - {prompt: a, objects: [3 4]}\nquestions: [t]\n": "line 3, prompts.0: objects: ",
    START + "facets: [kind]\nquestions: [t]\n": "line 3, facets.0: no prompt has the field 'kind'",
    START + "summary: t\n": "line 3: duplicate key 'summary'; keep one of them",
    "summary: s\nprompts: gone.jsonl\nquestions: [t]\n": "no such file",
    'summary: s\nprompts:\n  - prompt: a\n    questions: [{text: "b?", answer: c}]\n': (
        "line 4, prompts.0.questions.0.answer: 'c' is not among the choices yes, no"
    ),
    ASKED + "  - {reward: r, parents: 2, category: r}\n  - {text: t, category: t}\n": (
        "line 4, questions.0.parents: a reward has no lowest value to count when a parent is wrong; delete them"
    ),
    ASKED + "  - {text: q, scene: {objects: 5}}\n": "line 4, questions.0.scene: is not a scene (",
    ASKED + "  - {text: q, scene: {}}\n": "line 4, questions.0.scene: the field 'objects' is missing; add it",
    ASKED + "  - {text: q, scene: {objects: [dog]}}\n": "line 4, questions.0.scene: ",
    ASKED + "  - {text: q, scene: {objects: [{cls: {name: dog}, count: 0}]}}\n": "line 4, questions.0.scene: ",
    "summary: s\nprompts:\n  - prompt: a\n    questions: [{text: q, scene: {objects: 5}}]\n": (
        "line 4, prompts.0.questions.0.scene: "
    ),
    "summary: s\nprompts:\n  - prompt: a\n    questions: [' ']\n": "prompts.0.questions.0.text: must not be blank",
    "summary: s\nprompts: [{prompt: a, x: ''}]\nquestions: ['{x}']\n": (
        "line 3, questions.0.text: must not be empty"
    ),
    "summary: s\nprompts:\n  - prompt: a\n    x: b\n"
    "    questions: [{text: t, choices: ['{x}', b], values: [0, 1]}]\n": (
        "line 5, prompts.0.questions.0.choices: two are the same"
    ),
    ASKED + "  - {detect: dog, confidence: true}\n": (
        "line 4, questions.0.confidence: must be a number (got True)"
    ),
    ASKED + "  - {detect: dog, count: true}\n": "line 4, questions.0.count: must be a whole number (got True)",
    ASKED + "  - {text: t, values: [true, 0]}\n": "line 4, questions.0.values.0: must be a number (got True)",
    ASKED + "  - {text: t, weight: true}\n": "line 4, questions.0.weight: must be a number (got True)",
    START + "questions: [{text: t, category: a b}]\nscore:\n  weights: {a b: true}\n": (
        "line 5, score.weights.a b: must be a number (got True)"
    ),
    START + "questions: [t]\nseeds: true\n": "line 4, seeds: must be a whole number (got True)",
    START + "questions: [t]\njudges: {foo: bar}\n": (
        "line 4, judges.foo: 'foo' is not a capability that questions ask for; "
        "write one of answer, detect, classify, reward"
    ),
    START + "questions: [t]\njudges: {anwser: bar}\n": "did you mean 'answer'?",
    START + "questions: [t]\nscore: {at_least: 2}\n": (
        "line 4, score.at_least: must be at most 1, the highest score (got 2)"
    ),
    START + "questions: [t]\nscore: {at_least: 0}\n": (
        "line 4, score.at_least: must be above 0, the lowest score (got 0)"
    ),
    START + "questions: [t]\nscore: {at_least: true}\n": "line 4, score.at_least: must be a number (got True)",
    "[]": "must contain the fields summary, prompts and questions",
}


def test_whole_numbers_are_numbers(tmp_path: Path) -> None:
    text = "summary: s\nprompts: [a]\nquestions: [{detect: dog, confidence: 1, weight: 2}]\nscore: {at_least: 1}\n"
    (question,) = read_benchmark(write(tmp_path, text)).benchmark.questions
    assert isinstance(question, DetectQuestion)
    assert (question.confidence, question.weight) == (1.0, 2.0)


@pytest.mark.parametrize("text", FAULTS)
def test_a_mistake_names_file_line_and_field(tmp_path: Path, text: str) -> None:
    with pytest.raises((BadOption, BadPrompts)) as error:
        read_benchmark(write(tmp_path, text))
    assert FAULTS[text] in str(error.value)
    assert str(error.value).startswith(str(tmp_path))
    assert "\n" not in str(error.value)


def test_one_mistake_is_named_once(tmp_path: Path) -> None:
    text = 'summary: s\nprompts:\n  - prompt: a\n    questions: [{text: "b?", answer: c}]\n'
    with pytest.raises(BadOption) as error:
        read_benchmark(write(tmp_path, text))
    said = "line 4, prompts.0.questions.0.answer: 'c' is not among the choices yes, no"
    assert str(error.value) == f"{tmp_path}/bench.yaml: {said}"


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    text = ASKED + "  - {text: t, answer: x}\n  - {detect: d, cuont: 1}\n"
    with pytest.raises(BadOption, match=r"line 4, questions.0.answer: .*; line 5, questions.1.cuont: is unknown"):
        read_benchmark(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"gone.yaml: no such file"):
        read_benchmark(str(tmp_path / "gone.yaml"))
