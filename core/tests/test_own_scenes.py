"""Scenes of users' prompts: read from texts with `--scenes`, or given in short form in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import (
    Domain,
    ExistingImagesInfo,
    GeneratorInfo,
    JudgeInfo,
    MetricInfo,
    Need,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    Relation,
    Scene,
    SceneObject,
)
from t2i_core.api.errors import BadOption, BadPrompts, UnknownName
from t2i_core.api.metric import Metric
from t2i_core.api.metric_output import Measure
from t2i_core.engine.plan import Plan, make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.io.prompt_file import read_prompts
from t2i_core.testing import StaticResolver

DOG, CAR = ObjectClass("dog", "dog.n.01"), ObjectClass("car", "car.n.01")
PERSON, MAN = ObjectClass("person", "person.n.01"), ObjectClass("man", "person.n.01")


def _no(*_: Any) -> Any:
    raise AssertionError("nothing is created for a plan")


class _Counts(Metric):
    needs = (Need("objects", "detect", knows=True),)


TEXTS = ["a dog and two red cars", "a big dog", "a man"]
PARTS = (
    PromptSourceInfo(
        name="own",
        summary="Texts, and a prompt with a scene.",
        prompts=lambda setup: [Prompt(str(n), text) for n, text in enumerate(TEXTS)],
    ),
    PromptSourceInfo(name="names", summary="Classes.", prompts=_no, labels=lambda *_: (DOG, CAR, PERSON, MAN)),
    JudgeInfo(
        name="eye",
        summary="Knows dogs and cars.",
        capabilities={"detect": frozenset()},
        create=_no,
        labels=lambda *_: (DOG, CAR),
    ),
    GeneratorInfo(name="hand", summary="Draws.", create=_no, domain=Domain("d", "D.", judges={"detect": "eye"})),
    GeneratorInfo(name="other", summary="Draws.", create=_no),
    ExistingImagesInfo(
        name="album",
        summary="Has.",
        create=_no,
        prompts=lambda setup: [Prompt("x", "two dogs")],
        seeds=lambda s: [0],
    ),
    MetricInfo(name="counts", summary="Counts.", create=_Counts, measures=(Measure("counts", "Counts."),)),
)


def plan(scenes: str | None, model: str = "hand", metrics: Iterable[str] = (), prompts: Any = ("own",)) -> Plan:
    request = Request(tuple(metrics), (ModelRequest(model),), prompts, scenes=scenes)
    return make_plan(request, StaticResolver(*PARTS))


def scenes(found: Plan) -> list[Scene | None]:
    return [prompt.scene for prompt in found.sample_sets[0].prompts]


BOTH = Scene((SceneObject(DOG), SceneObject(CAR, "red", 2)))


def test_texts_are_read_with_the_classes_of_a_prompt_source() -> None:
    found = plan("names")
    assert scenes(found) == [BOTH, None, Scene((SceneObject(PERSON),))]
    assert found.digest != plan(None).digest
    (unread,) = [note for note in found.notes if "'a big dog'" in note]
    assert "'big'" in unread
    assert any("2 of 3" in note for note in found.notes)


@pytest.mark.parametrize("name", ["eye", "hand"])
def test_a_judge_or_a_models_domain_has_classes_too(name: str) -> None:
    found = plan(name)
    assert scenes(found) == [BOTH, None, None]
    assert len([note for note in found.notes if "no scene" in note]) == 2


def test_classes_of_ones_own_are_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("name,synset\nbig dog,\ndog,dog.n.01\ncar,car.n.01\n")
    found = plan(str(tmp_path / "c.csv"))
    assert scenes(found) == [BOTH, Scene((SceneObject(ObjectClass("big dog")),)), None]
    (tmp_path / "bad.csv").write_text("class\ndog\n")
    with pytest.raises(BadOption):
        plan(str(tmp_path / "bad.csv"))
    with pytest.raises(BadOption):
        plan(str(tmp_path / "gone.csv"))


def test_prompts_of_existing_images_are_read_too() -> None:
    assert scenes(plan("names", model="album", prompts=())) == [Scene((SceneObject(DOG, count=2),))]


def test_a_scene_that_a_prompt_has_stays_but_its_classes_get_synsets(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"prompt": "a woman walks two dogs", "objects": ["man", "2 dogs", "kite"]}))
    (scene,) = scenes(plan("names", prompts=(str(file),)))
    assert scene == Scene((SceneObject(PERSON), SceneObject(DOG, count=2), SceneObject(ObjectClass("kite"))))


def test_a_metric_that_needs_scenes_refuses_and_names_each_text(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BadPrompts) as caught:
        plan("eye", metrics=["counts"])
    assert "'big'" in str(caught.value)
    assert "2 of 3 prompts" in str(caught.value)
    assert [text in caplog.text for text in TEXTS] == [False, True, True]
    with pytest.raises(BadPrompts, match=r"--scenes eye.*\"objects\""):
        plan(None, metrics=["counts"])


def test_names_that_have_no_classes_are_refused() -> None:
    with pytest.raises(BadOption, match="declares no classes"):
        plan("other")
    with pytest.raises(UnknownName, match="did you mean 'names'"):
        plan("name")


def _read(tmp_path: Path, **fields: Any) -> Prompt:
    (tmp_path / "p.jsonl").write_text(json.dumps(fields))
    (prompt,) = read_prompts(tmp_path / "p.jsonl")
    return prompt


def test_short_forms_are_scenes(tmp_path: Path) -> None:
    objects = ["a dog", "red car", {"name": "cat", "count": 2, "color": "gray", "synset": "cat.n.01"}]
    relations = [["dog", "to the left of", "red car"], [2, "above", 0]]
    prompt = _read(tmp_path, prompt="p", objects=objects, relations=relations, style="photo")
    assert prompt.scene == Scene(
        (
            SceneObject(ObjectClass("dog")),
            SceneObject(ObjectClass("car"), "red"),
            SceneObject(ObjectClass("cat", "cat.n.01"), "gray", 2),
        ),
        (Relation(0, "left", 1), Relation(2, "above", 0)),
    )
    assert prompt.facets == {"style": "photo"}


def test_csv_has_short_forms_too(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text('prompt,objects\np,dog; two red cars\nq,"[""dog"", {""name"": ""skis""}]"\n')
    first, second = read_prompts(tmp_path / "p.csv")
    assert first.scene == Scene((SceneObject(ObjectClass("dog")), SceneObject(ObjectClass("car"), "red", 2)))
    assert second.scene == Scene((SceneObject(ObjectClass("dog")), SceneObject(ObjectClass("skis"))))


def test_objects_without_a_text_are_written_as_one(tmp_path: Path) -> None:
    prompt = _read(tmp_path, objects=["red dog", "3 knives"], relations=[["knife", "above", "dog"]])
    assert prompt.text == "a photo of a red dog and three knives; three knives are above a red dog"
    assert prompt.scene is not None
    assert prompt.id


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"objects": []}, "objects: lists no objects"),
        ({"objects": "dog", "scene": BOTH.to_json()}, "objects: the record has a scene too"),
        ({"objects": [3]}, "objects: object 0"),
        ({"objects": ["dog", {"name": "cat", "number": 2}]}, "object 1: unknown field 'number'"),
        ({"objects": [{"name": "cat", "count": 0}]}, "object 0: count"),
        ({"objects": [{"name": "cat", "colour": 3}]}, "object 0: colour"),
        ({"objects": ["two"]}, "object 0: 'two'"),
        ({"objects": {"dog": 2}}, "objects must be a list"),
        ({"objects": "[1"}, "objects is not JSON"),
        ({"objects": ["dog"], "relations": [["dog", "inside", "dog"]]}, "relation 0: 'inside'"),
        ({"objects": ["dog", "dog"], "relations": [["dog", "left of", 1]]}, "relation 0: 'dog': several"),
        ({"objects": ["dog"], "relations": [["dog", "left of", 3]]}, "relation 0: 3: no object"),
        ({"objects": ["dog"], "relations": ["dog"]}, "relation 0 must be"),
        ({"relations": [[0, "left", 1]]}, "relations: needs objects"),
    ],
)
def test_a_wrong_short_form_is_told_with_its_line(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadPrompts) as caught:
        _read(tmp_path, prompt="p", **fields)
    assert said in str(caught.value)
    assert "p.jsonl, line 1: " in str(caught.value)
    assert "\n" not in str(caught.value)
