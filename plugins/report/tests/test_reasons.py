"""Reasons of values: equal ones are counted together."""

from __future__ import annotations

import pytest
from t2i_core.api import Prompt
from t2i_core.api.prompt import ObjectClass, Scene, SceneObject
from t2i_report.pictures.reasons import read_words, split_reasons

PROMPTS = [
    Prompt(
        id="scene",
        text="two cars and a red fire hydrant",
        scene=Scene(
            (
                SceneObject(ObjectClass("car"), count=2),
                SceneObject(ObjectClass("fire hydrant"), colour="red"),
                SceneObject(ObjectClass("fire"), colour="turquoise"),
            )
        ),
    ),
    Prompt(id="text", text="A Giraffe on the moon."),
]


@pytest.mark.parametrize(
    ("because", "reasons"),
    [
        ("", []),
        ("no car found", ["no car found"]),
        ("no car found; fire is red, asked turquoise", ["no car found", "fire is red, asked turquoise"]),
        ('read "a; b", asked "c"; too long', ['read "a; b", asked "c"', "too long"]),
        ('read "half; open', ['read "half', "open"]),
        ("a;b", ["a;b"]),
        ("; ; a; ", ["a"]),
    ],
)
def test_reasons_are_split_at_semicolons_outside_quotes(because: str, reasons: list[str]) -> None:
    assert list(split_reasons(because)) == reasons


@pytest.mark.parametrize(
    ("prompt", "reason", "general"),
    [
        ("scene", "no fire hydrant found", "no [object] found"),
        ("scene", "counted 0 Cars, asked 2", "counted [number] [object], asked [number]"),
        ("scene", "car is turquoise, asked red", "[object] is [colour], asked [colour]"),
        ("scene", "car is left of and above fire, asked below", "[object] is [place] [object], asked [place]"),
        ("scene", "cargo in the carpet", "cargo in the carpet"),
        ("scene", "yes 0.31, no 1e-3", "yes [number], no [number]"),
        ("scene", 'read "car", asked nothing', "read [...], asked nothing"),
        ("text", "no giraffe on the moon, no moon giraffe", "no [...] on the [...], no [...]"),
        ("other", "giraffe on the moon", "giraffe on the moon"),
    ],
)
def test_words_of_the_prompt_become_placeholders(prompt: str, reason: str, general: str) -> None:
    assert read_words(PROMPTS).generalize(reason, prompt) == general


def test_a_vocabulary_of_no_prompts_has_numbers_colours_and_places() -> None:
    assert read_words([]).generalize("3 of 4 are red", "x") == "[number] of [number] are [colour]"
