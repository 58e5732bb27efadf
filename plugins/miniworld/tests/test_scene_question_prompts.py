"""Scenes with questions: their contract, and that words and scenes of questions say the same."""

from __future__ import annotations

from collections import Counter

import pytest
from t2i_core.api import Prompt, VisualQuestion
from t2i_core.testing import PromptSourceContract
from t2i_miniworld.question_answers import UnreadableQuestion, _read
from t2i_miniworld.scene_question_prompts import KINDS, SCENES, choice_prompts, prompts

PROMPTS = tuple(prompts())


class TestQuestionsMini(PromptSourceContract):
    module = "t2i_miniworld.plugin"
    name = "questions-mini"


class TestTifaMini(PromptSourceContract):
    module = "t2i_miniworld.plugin"
    name = "tifa-mini"


def test_every_kind_has_as_many_prompts() -> None:
    assert Counter(prompt.facets["shows"] for prompt in PROMPTS) == dict.fromkeys(KINDS, SCENES // len(KINDS))


def test_both_sources_have_the_same_scenes() -> None:
    assert [(p.id, p.text, p.scene) for p in PROMPTS] == [(p.id, p.text, p.scene) for p in choice_prompts()]


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.id)
def test_parents_come_first_and_questions_have_scenes(prompt: Prompt) -> None:
    seen: set[str] = set()
    for question in prompt.questions:
        assert set(question.parents) <= seen
        assert question.scene is not None
        seen.add(question.id)


def test_words_of_questions_name_the_things_of_their_scenes() -> None:
    for prompt in PROMPTS:
        for question in prompt.questions:
            if prompt.facets["shows"] == "count" and question.id != "1":
                continue  # the oracle reads exact numbers only
            try:
                reading = _read(VisualQuestion(question.text).text.lower())
            except UnreadableQuestion as error:
                pytest.fail(f"{question.text}: {error}")
            assert question.scene is not None
            assert len(reading.phrases) == len(question.scene.objects)
