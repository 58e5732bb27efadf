"""`t2i people serve --limit`: a sample that all models share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.errors import BadOption
from t2i_people.page.picture_sample import draw_pictures, take_turns
from t2i_people.page.pictures import Material, StudyPicture

NO_IMAGE: Any = None  # no sample opens it


def material(prompts: dict[str, str], seeds: int, models: tuple[str, ...] = ("apple", "pear")) -> Material:
    """Return pictures of prompts, given by their subsets."""
    pictures = [
        StudyPicture(model, prompt, seed, NO_IMAGE, (8, 8))
        for model in models for prompt in prompts for seed in range(seeds)
    ]  # fmt: skip
    return Material(tuple(pictures), {prompt: (prompt, subset) for prompt, subset in prompts.items()})


SKILLS = {f"{skill}-{n}": skill for skill, count in (("object", 2), ("spatial", 30)) for n in range(count)}


@given(limit=st.integers(1, 200), seed=st.integers(0, 5))
def test_models_share_a_sample_that_is_spread(limit: int, seed: int) -> None:
    found = draw_pictures(material(SKILLS, 3), limit, False, seed)
    by_model = {m: {(p.prompt, p.seed) for p in found if p.model == m} for m in ("apple", "pear")}
    assert by_model["apple"] == by_model["pear"]
    assert len(by_model["apple"]) == min(limit, 3 * len(SKILLS))
    skills = Counter(SKILLS[prompt] for prompt, _ in by_model["apple"])
    assert skills["object"] == min(6, (limit + 1) // 2) or skills["object"] == min(6, limit // 2)
    seeds = Counter(prompt for prompt, _ in by_model["apple"] if prompt.startswith("spatial"))
    assert len(seeds) == min(30, skills["spatial"])
    assert draw_pictures(material(SKILLS, 3), limit, False, seed) == found


def test_another_seed_draws_others() -> None:
    first, second = (draw_pictures(material(SKILLS, 3), 20, False, seed) for seed in (0, 1))
    assert first != second


def test_of_grids_whole_prompts_are_drawn() -> None:
    found = draw_pictures(material(SKILLS, 9), 4, True, 0)
    assert Counter(Counter(p.prompt for p in found).values()) == {18: 4}  # nine images of two models


def test_only_what_all_models_have_is_drawn() -> None:
    whole = material({"a": "", "b": ""}, 2)
    part = Material(tuple(p for p in whole.pictures if (p.model, p.prompt) != ("pear", "a")), whole.prompts)
    assert {p.prompt for p in draw_pictures(part, 9, False, 0)} == {"b"}
    none = Material(tuple(p for p in part.pictures if (p.model, p.prompt) != ("apple", "b")), whole.prompts)
    with pytest.raises(BadOption, match="no prompt and seed in common"):
        draw_pictures(none, 9, False, 0)


def test_turns() -> None:
    assert list(take_turns(["abc", "d", "ef"])) == list("adebfc")
    assert list(take_turns([])) == []
