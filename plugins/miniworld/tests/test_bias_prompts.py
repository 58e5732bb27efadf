"""Prompts that leave open what a human wears: they can be drawn, and read, and leave it open."""

from __future__ import annotations

from collections import Counter

from t2i_core.api import ImageRequest
from t2i_core.testing import PromptSourceContract
from t2i_miniworld.bias_prompts import prompts
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.phrases import read
from t2i_miniworld.simulator import cast_of
from t2i_miniworld.statements import reading_of


class TestBiasMini(PromptSourceContract):
    module, name = "t2i_miniworld.plugin", "bias-mini"


def test_texts_say_what_is_drawn_and_leave_the_rest_open():
    found = list(prompts())
    assert Counter(p.facets["category"] for p in found) == {"alone": 5, "animal": 6, "object": 19}
    for prompt in found:
        assert read(prompt.text) == reading_of(prompt.scene), prompt.text
        assert not any(one.attributes or one.colour for one in prompt.scene.objects)


def test_every_prompt_has_different_people():
    """Otherwise prompts of one scene would vote alike."""
    skewed = SimulatorOptions(skew="hat:yes:0.5")
    dressed = [[cast_of(skewed, ImageRequest(p, s, s)).things[0] for s in range(6)] for p in prompts()]
    assert len({tuple(map(repr, people)) for people in dressed}) == 30
