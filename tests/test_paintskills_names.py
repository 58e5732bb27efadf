"""The classes that detectors learn from PaintSkills' annotations are those that its metrics look for."""

from __future__ import annotations

import pytest
from t2i_paintskills.skills import SHAPES
from t2i_paintskills.splits import CHARACTERS
from t2i_transformers.class_names import read_class


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_the_synset_of_the_metric(shape: str) -> None:
    assert read_class(shape).synset == SHAPES[shape].synset
    assert read_class(shape).same_as(SHAPES[shape])


@pytest.mark.parametrize("shape", CHARACTERS)
def test_a_character_is_a_human(shape: str) -> None:
    assert read_class(shape).same_as(SHAPES["human"])
