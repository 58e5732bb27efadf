"""Checks that every prompt source must pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..api.prompt import RESERVED, ObjectClass, Prompt, find_invalid_facet
from ..engine.component import Component
from .answer_comparison import CHANCES, disturb_chance
from .components import ComponentContract
from .other_process import HASH_SEEDS, answer_in_another_process
from .parts import CLASSES


class PromptSourceContract(ComponentContract):
    """Checks for every prompt source."""

    kind = "prompt_source"

    @pytest.fixture
    def prompts(self, component: Component[Any]) -> list[Prompt]:
        """The prompts; if they depend on the judge's labels, for the classes of the test judge."""
        disturb_chance(CHANCES[0])
        return _read_prompts(component)

    def test_has_prompts_with_ids_of_their_own(self, prompts: list[Prompt]) -> None:
        """There are prompts, and each has its own id."""
        assert prompts
        assert all(isinstance(p, Prompt) for p in prompts)
        assert len({p.id for p in prompts}) == len(prompts)

    def test_is_the_same_each_time(self, component: Component[Any], prompts: list[Prompt]) -> None:
        """The list does not depend on randomness."""
        for chance in CHANCES[1:]:
            disturb_chance(chance)
            assert _read_prompts(component) == prompts, "asked again, the prompts differ"

    def test_another_process_has_the_same(self, component: Component[Any], prompts: list[Prompt]) -> None:
        """The list does not depend on `hash` or on the order of a set, which differ from process to process."""
        for hash_seed in HASH_SEEDS:
            there = answer_in_another_process(component, self.module, _get_labels(component), hash_seed)
            assert there == prompts, f"asked with PYTHONHASHSEED={hash_seed}, the prompts differ"

    def test_facets_and_scenes_are_plain_data(self, prompts: list[Prompt]) -> None:
        """Facets are texts and numbers, under names that tables do not use; scenes survive JSON."""
        for prompt in prompts:
            assert find_invalid_facet(prompt.facets) is None, prompt
            assert not RESERVED & prompt.facets.keys(), prompt
            if prompt.scene is not None:
                data = json.loads(json.dumps(prompt.scene.to_json()))
                assert type(prompt.scene).from_json(data) == prompt.scene


def _read_prompts(component: Component[Any]) -> list[Prompt]:
    return list(component.info.prompts(component.setup(labels=_get_labels(component))))


def _get_labels(component: Component[Any]) -> tuple[ObjectClass, ...] | None:
    return CLASSES if component.info.reads_labels else None
