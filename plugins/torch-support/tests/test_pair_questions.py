"""Questions about pairs of images, and the verdicts that answers give."""

from __future__ import annotations

from typing import Any

import pytest
from t2i_torch_support.pair_questions import (
    QUESTIONS,
    TAXONOMY,
    TEMPLATE,
    check_template,
    choose_template,
    read_verdict,
    write_question,
)

A, B = {"type": "image", "image": "a"}, {"type": "image", "image": "b"}
VERDICTS = "[[A]] [[B]] [[C]] [[D]]"


def words(parts: list[dict[str, Any]]) -> str:
    """What a question says; images as <a> and <b>."""
    return "".join(part["text"] if part["type"] == "text" else f"<{part['image']}>" for part in parts)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("A is better.\n[[A]]", "first"),
        ("B is.\n\n**[[B]]**\n", "second"),
        ("Both fine: [[C]]", "tie"),
        ("[[ D ]]", "both_bad"),
        ("[[A]], that is: [[A]]", "first"),
        ("Not [[A]], but, in the end:\n[[B]]", "second"),
        ("I may say [[A]], [[B]], [[C]] or [[D]]", "unparsable"),
        ("[[A]] or [[B]]:\nI cannot say.", "unparsable"),
        ("[[E]]", "unparsable"),
        ("A", "unparsable"),
        ("I am sorry, I cannot help with that.", "unparsable"),
        ("", "unparsable"),
        ("<think>[[A]]? No.</think>[[B]]", "second"),
        ("<think>[[A]]? Wait, I am not", "unparsable"),
        ("the question opened it: [[A]]?</think>[[B]]", "second"),
        ("Maybe [[B]].</think>\nI cannot decide.", "unparsable"),
        ("<think>[[A]]</think>Hm.<think>[[B]]</think>[[C]]", "tie"),
    ],
)
def test_verdicts(answer: str, expected: str) -> None:
    assert read_verdict(answer, finished=True) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "at first sight [[B]] seems right, but looking at the lawn",
        "the question opened <think>: it may be [[A]], for",
        "<think>[[A]]?</think>It is\n[[B]]",
    ],
)
def test_an_answer_that_was_cut_off_gives_no_verdict(answer: str) -> None:
    assert read_verdict(answer, finished=False) == "unparsable"


@pytest.mark.parametrize(
    ("definitions", "said"),
    [
        ("a feline", "Prompt: a cat\nDefinition: a feline\n\nImage A:\n<a>\nImage B:\n<b>\nCompare"),
        (
            {"cat": "a feline", "lawn": "grass"},
            "Prompt: a cat\nDefinitions:\n- cat: a feline\n- lawn: grass\n\nImage A:\n<a>\nImage B:\n<b>\nCompare",
        ),
        ("", "Prompt: a cat\n\nImage A:\n<a>\nImage B:\n<b>\nCompare"),
        ({}, "Prompt: a cat\n\nImage A:\n<a>\nImage B:\n<b>\nCompare"),
    ],
)
def test_a_question_shows_prompt_definitions_and_images(definitions: Any, said: str) -> None:
    assert said in words(write_question(TEMPLATE, "a cat", definitions, A, B))


@pytest.mark.parametrize("definitions", [3, [1, 2], {"cat": 1}, None])
def test_definitions_that_are_none(definitions: Any) -> None:
    with pytest.raises(TypeError, match="definitions must be"):
        write_question(TEMPLATE, "a cat", definitions, A, B)


def test_braces_of_prompts_are_not_placeholders() -> None:
    parts = write_question("{prompt} {first}|{second} {more}", "{first} {definitions}", "", A, B)
    assert words(parts) == "{first} {definitions} <a>|<b> {more}"
    assert parts[1::2] == [A, B]


def test_a_template_may_end_with_an_image() -> None:
    assert write_question("{prompt}: {first} {second} ", "a cat", "", A, B)[-1] is B


def test_templates_that_are_taken() -> None:
    for template in (TEMPLATE, TEMPLATE.replace("{definitions}\n", ""), "{first} {second} {prompt}" + VERDICTS):
        assert check_template(template) == template


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (f"{{first}} {{second}} {VERDICTS}", "once each"),
        (f"{{prompt}} {{first}} {{first}} {{second}} {VERDICTS}", "once each"),
        (f"{{definitions}} {{prompt}} {{definitions}} {{first}} {{second}} {VERDICTS}", "at most once"),
        (f"{{prompt}} {{second}} {{first}} {VERDICTS}", "in the order asked for"),
        ("{prompt} {first} {second} [[A]] [[B]] [[C]]", "ask for a verdict"),
    ],
)
def test_templates_that_cannot_work(template: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_template(template)


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_named_question_can_be_asked(name: str) -> None:
    assert check_template(QUESTIONS[name]) == QUESTIONS[name]


def test_a_query_names_its_question_unless_the_user_replaces_it() -> None:
    own = f"{{prompt}} {{first}} {{second}} {VERDICTS}"
    assert choose_template(TEMPLATE, {}) == TEMPLATE
    assert choose_template(TEMPLATE, {"question": "taxonomy"}) == TAXONOMY
    assert choose_template(own, {"question": "taxonomy"}) == own
