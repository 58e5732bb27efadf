from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError
from t2i_core.api import Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import Relation
from t2i_core.engine.prompt_selection import limit_prompts
from t2i_paintskills.options import SourceOptions
from t2i_paintskills.scene_file import of_scenes
from t2i_paintskills.skills import SHAPES, SKILLS
from t2i_paintskills.sources import prompts_of
from t2i_paintskills.splits import draw_split


def prompts(*skills, **options):
    return list(prompts_of(skills, Setup(None, SourceOptions(**options))))


@pytest.mark.parametrize(("skill", "number"), [("object", 21), ("count", 84), ("color", 126), ("spatial", 1764)])
def test_the_distinct_texts(skill, number):
    found = prompts(skill)
    assert len(found) == len({p.text for p in found}) == len({p.id for p in found}) == number
    assert all(p.facets["skill"] == skill for p in found)


def test_all_four():
    assert [p.id for p in prompts(*SKILLS)] == [p.id for skill in SKILLS for p in prompts(skill)]
    assert len({p.id for p in prompts(*SKILLS)}) == 1995
    sample = Counter(p.facets["skill"] for p in limit_prompts([prompts(*SKILLS)], 16))
    assert sample == dict.fromkeys(SKILLS, 4)


@pytest.mark.parametrize(
    ("skill", "at", "text", "id_", "facets"),
    [
        ("object", 8, "a photo of fire hydrant", "object-fire-hydrant", {"object": "fire hydrant"}),
        ("count", 21, "a photo of 2 human", "count-2-human", {"object": "human", "count": 2}),
        ("color", 126 - 1, "a photo of green potted plant", "color-green-potted-plant",
         {"object": "potted plant", "colour": "green"}),
        ("spatial", 1, "a photo of human and airplane; airplane is left to human", "spatial-human+airplane-left",
         {"object": "human", "object_2": "airplane", "relation": "left"}),
        ("spatial", 1763, "a photo of potted plant and potted plant; potted plant is below potted plant",
         "spatial-potted-plant+potted-plant-below",
         {"object": "potted plant", "object_2": "potted plant", "relation": "below"}),
    ],
)  # fmt: skip
def test_texts_ids_and_facets(skill, at, text, id_, facets):
    prompt = prompts(skill)[at]
    assert (prompt.text, prompt.id, dict(prompt.facets)) == (text, id_, {"skill": skill, **facets})


def test_scenes_say_what_an_image_must_show():
    (count,) = [p for p in prompts("count") if p.id == "count-3-dog"]
    assert [(o.cls, o.count) for o in count.scene.objects] == [(SHAPES["dog"], 3)]
    (color,) = [p for p in prompts("color") if p.id == "color-red-bed"]
    assert [(o.cls.name, o.colour) for o in color.scene.objects] == [("bed", "red")]
    spatial = next(p for p in prompts("spatial") if p.id == "spatial-dog+bed-above")
    assert [o.cls.name for o in spatial.scene.objects] == ["dog", "bed"]
    assert spatial.scene.relations == (Relation(1, "above", 0),)  # the bed is above the dog


def test_only_some_objects():
    assert len(prompts("spatial", objects=("dog", "bed"))) == 16
    with pytest.raises(ValidationError, match="PaintSkills has no object 'dgo': did you mean 'dog'"):
        SourceOptions(objects=("dgo",))


@pytest.fixture
def file(tmp_path):
    def write(scenes):
        path = tmp_path / "scenes.json"
        path.write_text(of_scenes(scenes).to_text())
        return path

    return write


@pytest.mark.parametrize("skill", SKILLS)
def test_a_scene_files_texts_are_the_skills(skill, file):
    texts = len(prompts(skill))
    path = file([dict(scene.data) for scene in draw_split(skill, "val").scenes[: texts + 5]])  # some stand twice
    assert prompts(skill, scenes=path) == prompts(skill)
    assert [p.id for p in prompts(*SKILLS, scenes=path)] == [p.id for p in prompts(skill)]
    dogs = prompts(skill, scenes=path, objects=("dog",))
    assert dogs == prompts(skill, objects=("dog",))


def test_a_scene_files_own_words_are_sent(file):
    scene = dict(draw_split("object", "val").scenes[4].data)
    (prompt,) = prompts("object", scenes=file([{**scene, "text": "one dog"}]))
    assert (prompt.text, prompt.id, prompt.scene) == ("one dog", "object-one-dog", prompts("object")[4].scene)


def test_a_file_of_another_skill_is_refused(file):
    path = file([dict(draw_split("object", "val").scenes[0].data)])
    said = (
        r"scenes.json: scene 0 \('object_val_00000'\): skill: must be count \(got 'object'\); "
        r"use --prompts paintskills-ob"
    )
    with pytest.raises(BadPrompts, match=said):
        prompts("count", scenes=path)
    with pytest.raises(BadPrompts, match="no scene shows dog"):
        prompts("object", scenes=path, objects=("dog",))


def test_one_text_that_shows_two_things_is_refused(file):
    human, airplane = (dict(scene.data) for scene in draw_split("object", "val").scenes[:2])
    path = file([{**scene, "text": "one thing"} for scene in (human, airplane)])
    with pytest.raises(BadPrompts, match=r"scene 1 .*: text: an earlier scene with the same text shows something"):
        prompts("object", scenes=path)
