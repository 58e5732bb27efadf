"""Questions with choices and free text, to a server on this machine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from t2i_core.api import Failure, QuestionAnswer, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.testing import sample_images
from t2i_core.testing.parts import settle
from t2i_openai.plugin import t2i_judges

IS_IT = VisualQuestion("Is it bright?", YES_NO)


@pytest.fixture
def images(tmp_path):
    return sample_images(tmp_path, 4)


@pytest.fixture
def ask(server):
    def ask(query, **options):
        component = settle(t2i_judges()[0], {**server.options, **options}, "test-model")
        ((_, answer),) = component.info.create(component.setup()).observe("answer", iter([query]))
        return answer

    return ask


def logprobs(*tokens):
    """Log probabilities as a server gives them: for each token its alternatives with their probabilities."""
    return {
        "content": [
            {
                "token": max(each, key=each.get),
                "logprob": math.log(max(each.values())),
                "top_logprobs": [{"token": token, "logprob": math.log(p)} for token, p in each.items()],
            }
            for each in tokens
        ]
    }


def texts(server):
    return [part.get("text", "<image>") for part in server.log[-1].body["messages"][0]["content"]]


def test_choices_are_letters(server, ask, images):
    server.script.append(server.say("B"))
    assert ask(IS_IT.about(images[0])) == QuestionAnswer(YES_NO, 1)
    assert texts(server) == [
        "<image>",
        "Is it bright?\nThe choices:\nA. yes\nB. no\nAnswer with the letter of your choice and nothing else.",
    ]
    assert "logprobs" not in server.log[-1].body


def test_two_images_and_two_grids_are_told_apart(server, ask, images):
    which = ("the first", "the second")
    ask(VisualQuestion("Which is better?", which).about(*images[:2]))
    assert texts(server)[:-1] == ["First image:\n", "<image>", "Second image:\n", "<image>"]
    ask(VisualQuestion("Which is more diverse?", which, grids=(1, 3)).about(*images))
    groups = ["First group of images:\n", "<image>", "Second group of images:\n", *["<image>"] * 3]
    assert texts(server)[:-1] == groups


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        ("A", 0),
        (" b. ", 1),
        ("[[B]]", 1),
        ("A. yes", 0),
        ("No.", 1),
        ("<think>A?</think>B", 1),
        ("C", None),
        ("A or B", None),
        ("I cannot tell.", None),
        ("A dog is there, so yes", None),
    ],
)
def test_which_choice_an_answer_names(server, ask, images, said, chosen):
    server.script.append(server.say(said))
    found = ask(IS_IT.about(images[0]))
    assert found == QuestionAnswer(YES_NO, chosen, text="" if chosen is not None else said)


def test_an_answer_that_was_cut_off_names_no_choice(server, ask, images):
    server.script.append(server.say("A", "length"))
    assert ask(IS_IT.about(images[0])).chosen is None


def test_probabilities_are_those_of_the_letters(server, ask, images):
    server.logprobs = logprobs({" ": 1.0}, {"A": 0.5, " a": 0.1, "B": 0.3, "Well": 0.1})
    server.script.append(server.say("A", logprobs=server.logprobs))
    found = ask(IS_IT.about(images[0]), probabilities=True)
    np.testing.assert_allclose(found.probs, [0.6, 0.3])
    assert found.choice == "yes"
    assert server.log[-1].body["top_logprobs"] == 20


PEOPLE = VisualQuestion("What is it?", ("a photo of a woman", "a photo of a man"))


@pytest.mark.parametrize(
    ("said", "tokens", "probs"),
    [
        ("<think>A?</think>B", ["<think>", "A", "?", "</think>", {"B": 0.8, "A": 0.2}], [0.2, 0.8]),
        (
            "<think>A?</think>\n\nB.",
            ["<think>A", "?</think>", "\n\n", {"B": 0.7, "A": 0.2}, ".", "</s>"],
            [0.2, 0.7],
        ),
        ("B. a photo of a man", [{"B": 0.9, "A": 0.1}, ". ", "a", " photo of", " a", " man"], [0.1, 0.9]),
        ("**B**", ["**", {"B": 0.9, "A": 0.1}, "**", "<|im_end|>"], [0.1, 0.9]),
        ("a photo of a man", [{"a": 0.9, "b": 0.1}, " photo of", " a", " man"], None),
        ("B", ["A", " thought", ", ", {"B": 0.9, "A": 0.1}], None),
        ("**B**", ["**B**"], None),
    ],
)
def test_probabilities_are_read_where_the_letter_of_the_choice_is(server, ask, images, said, tokens, probs):
    given = logprobs(*(each if isinstance(each, dict) else {each: 1.0} for each in tokens))
    server.script.append(server.say(said, logprobs=given))
    found = ask(PEOPLE.about(images[0]), probabilities=True)
    assert found.chosen == 1
    if probs is None:
        assert found.probs is None
    else:
        np.testing.assert_allclose(found.probs, probs)


@pytest.mark.parametrize("given", [None, {"content": None}, {"tokens": ["A"]}, [], "no"])
def test_a_server_without_probabilities_gives_none(server, ask, images, given):
    server.script.append(server.say("A", logprobs=given))
    assert ask(IS_IT.about(images[0]), probabilities=True) == QuestionAnswer(YES_NO, 0)


def test_free_text(server, ask, images):
    server.script.append(server.say("A red car."))
    assert ask(VisualQuestion("What is it?").about(images[0])) == QuestionAnswer(text="A red car.")


def test_a_refusal_is_not_a_choice(server, ask, images):
    for _ in range(2):
        server.script.append(server.say(None, refusal="I will not."))
    assert ask(IS_IT.about(images[0])) == QuestionAnswer(YES_NO, text="refused: I will not.")
    assert isinstance(ask(VisualQuestion("What is it?").about(images[0])), Failure)


def test_more_choices_than_letters_are_a_failure(ask, images):
    many = VisualQuestion("Which?", tuple(map(str, range(27))))
    assert ask(many.about(images[0])) == Failure("a question may have at most 26 choices (got 27)")
