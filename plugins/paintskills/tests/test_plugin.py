"""Conformance suites of every component, and the domain of the mini world."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import entry_points
from typing import ClassVar

import numpy as np
import pytest
from t2i_cli.app import app
from t2i_core import ModelRequest
from t2i_core.api import (
    Detections,
    GeneratorInfo,
    JudgeInfo,
    MetricInfo,
    Prompt,
    PromptSourceInfo,
    Relation,
    Scene,
    SceneObject,
    Setup,
)
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_core.api.options import Options
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import Request
from t2i_core.testing import MetricContract, PromptSourceContract, StaticResolver
from t2i_core.testing.parts import TEST_JUDGE
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import SYNSETS
from t2i_paintskills.options import REFERENCE
from t2i_paintskills.plugin import t2i_metrics, t2i_prompt_sources
from t2i_paintskills.skills import COLOURS, SEEDS, SHAPES, SKILLS, SkillText, items
from typer.testing import CliRunner

MODULE = "t2i_paintskills.plugin"


def test_every_component_has_its_entry_point_and_every_entry_point_its_component():
    for group, hook in (("t2i.metrics", t2i_metrics), ("t2i.prompt_sources", t2i_prompt_sources)):
        assert {e.name for e in entry_points(group=group) if e.value == MODULE} == {info.name for info in hook()}


class SeesByMean:
    """Judge that finds one to four objects, whose classes and colours depend on the image's mean colour."""

    def observe(self, capability, queries):
        for query in queries:
            rng = np.random.default_rng(int(query.images[0].pixels.sum()))
            n = int(rng.integers(1, 5))
            probs = (rng.dirichlet([0.5] * len(SHAPES), n) * 0.9).astype(np.float32)
            colours = rng.dirichlet([0.5] * len(COLOURS), n).astype(np.float32)
            corner = rng.uniform(0, 16, (n, 2)).astype(np.float32)
            boxes, classes = np.hstack([corner, corner + 8]), probs.argmax(axis=1).astype(np.int16)
            labels = tuple(SHAPES.values())
            yield query, Detections((32, 32), boxes, probs.max(axis=1), classes, labels, probs, colours, COLOURS)


SEEING = JudgeInfo(
    name="seeing",
    summary="Finds things by chance.",
    capabilities={"detect": frozenset({"class_probs", "colour"})},
    create=lambda setup: SeesByMean(),
    labels=lambda argument, options: tuple(SHAPES.values()),
)


def few(*skills):
    """Return some prompts of each skill."""
    return PromptSourceInfo(
        name="few",
        summary="Some.",
        prompts=lambda setup: [i.prompt() for skill in skills for i in list(items(skill))[:: len(SHAPES) + 2][:4]],
    )


class SkillContract(MetricContract):
    module = MODULE
    judge = SEEING
    prompts = "few"


class TestObject(SkillContract):
    name = "paintskills-object"
    options: ClassVar = {"confidence": 0.3}
    resolver_parts: ClassVar = (few("object"),)


class TestCount(SkillContract):
    name = "paintskills-count"
    options: ClassVar = {"rule": "paper"}
    resolver_parts: ClassVar = (few("count"),)


class TestColor(SkillContract):
    name = "paintskills-color"
    options: ClassVar = {"confidence": 0}
    resolver_parts: ClassVar = (few("color"),)


class TestSpatial(SkillContract):
    name = "paintskills-spatial"
    resolver_parts: ClassVar = (few("spatial"),)


class TestPaintSkills(SkillContract):
    name = "paintskills"
    options: ClassVar = {"threshold": 0.5, "clamp": False}
    resolver_parts: ClassVar = (few(*SKILLS),)


class TestByAnswers(SkillContract):
    name = "paintskills"
    judge = TEST_JUDGE
    judges = ("answer=test-mean",)
    resolver_parts: ClassVar = (few(*SKILLS),)


class TestRPrecision(MetricContract):
    module = MODULE
    name = "r-precision"
    options: ClassVar = {"candidates": 2, "repeats": 3}


class TestAllTexts(PromptSourceContract):
    module = MODULE
    name = "paintskills"


class TestSpatialTexts(PromptSourceContract):
    module = MODULE
    name = "paintskills-spatial"
    options: ClassVar = {"objects": ("dog", "fire hydrant")}


@pytest.mark.parametrize("info", t2i_metrics(), ids=lambda info: info.name)
def test_defaults(info: MetricInfo):
    assert info.measures[0].name == info.name
    if info.name.startswith("paintskills-"):
        assert info.defaults.seeds == SEEDS[info.name.removeprefix("paintskills-")]
    if info.name != "r-precision":
        assert info.defaults.prompts == info.name
        metric = info.create(Setup(None, info.options()))
        colours = {"colour"} if info.name in ("paintskills", "paintskills-color") else set()
        assert metric.needs[0].requires == {"class_probs", *colours}


@pytest.mark.parametrize(
    ("name", "options", "floor", "lower"),
    [
        ("paintskills-object", {}, 0.85, 0.8),
        ("paintskills-object", {"confidence": 0}, 0.05, 0),  # the reference asks the least confident too
        ("paintskills-color", {"confidence": 0.5}, 0.6, 0.5),
        ("paintskills-count", {}, 0.75, 0.7),
        ("paintskills-count", {"rule": "paper", "threshold": 0.4}, 0.5, 0.4),
        ("paintskills", {}, 0.75, 0.7),
        ("paintskills", {"confidence": 0.3}, 0.5, 0.3),
    ],
)
def test_a_judge_that_keeps_too_little_is_refused(name, options, floor, lower):
    forgetful = replace(SEEING, name="forgetful", floor=floor)
    model = GeneratorInfo(name="model", summary="Is never asked.", create=lambda setup: None, code=())
    skills = SKILLS if name == "paintskills" else (name.removeprefix("paintskills-"),)
    request = Request(
        metrics=(name,), models=(ModelRequest("model"),), prompts=("few",), judges=("forgetful",),
        options={name: options},
    )  # fmt: skip
    said = f"with a confidence of {lower:g} or more.*'forgetful' keeps nothing below {floor:g}"
    with pytest.raises(BadOption, match=said):
        make_plan(request, StaticResolver(model, forgetful, few(*skills), *t2i_metrics()))
    enough = StaticResolver(model, replace(forgetful, floor=lower), few(*skills), *t2i_metrics())
    assert make_plan(request, enough).jobs


class Floor(Options):
    floor: float = 0.05


def test_reference_sets_all_options_and_the_judges_floor():
    (info,) = (info for info in t2i_metrics() if info.name == "paintskills")
    options = info.options(reference=True)
    assert {name: getattr(options, name) for name in REFERENCE} == REFERENCE
    assert info.create(Setup(None, options)).needs[0].confidence == 0
    judge = replace(SEEING, name="seeing", options=Floor, floor="floor")
    model = GeneratorInfo(name="model", summary="Is never asked.", create=lambda setup: None, code=())
    for name in ("paintskills", "paintskills-spatial", "paintskills-count"):
        skills = SKILLS if name == "paintskills" else (name.removeprefix("paintskills-"),)
        resolver = StaticResolver(model, judge, few(*skills), *t2i_metrics())
        request = Request(
            metrics=(name,), models=(ModelRequest("model"),), prompts=("few",), judges=("seeing",),
            options={name: {"reference": True}},
        )  # fmt: skip
        plan = make_plan(request, resolver)
        assert plan.jobs[0].needs[0].choice.judge.options.floor == 0
        assert [note for note in plan.notes if "keeps detections down to 0" in note]
        with pytest.raises(BadOption, match=r"keeps nothing below 0\.3"):  # a floor that the user sets stays
            make_plan(replace(request, options={**request.options, "seeing": {"floor": 0.3}}), resolver)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("paintskills-object", {"confidence": 0.8}, "reference=true sets confidence to 0.0 (got 0.8)"),
        ("paintskills-count", {"rule": "paper"}, 'reference=true sets rule to "reference" (got "paper")'),
        ("paintskills", {"clamp": "false"}, "reference=true sets clamp to true (got false)"),
    ],
)
def test_options_that_contradict_the_reference_are_refused(name, options, said):
    words = [f"metric:{name}.{key}={value}" for key, value in {"reference": "true", **options}.items()]
    command = ["eval", "--metric", name, "--model", "simulator", "--dry-run"]
    done = CliRunner().invoke(app, [*command, *(part for word in words for part in ("-o", word))])
    assert done.exit_code == 6, done.output
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_options_that_agree_with_the_reference_are_fine():
    (info,) = (info for info in t2i_metrics() if info.name == "paintskills-count")
    assert info.options(reference=True, rule="reference", threshold=0.7).clamp


def test_the_mini_world_has_all_of_it():
    assert {cls.name: cls.synset for cls in SHAPES.values()}.items() <= SYNSETS.items()
    assert set(COLOURS) <= set(PAINTS)


@pytest.mark.parametrize(
    ("name", "item", "said"),
    [
        (
            "paintskills-object",
            SkillText("spatial", ("dog", "bed"), relation="left"),
            "one object and no relation",
        ),
        ("paintskills-object", SkillText("count", ("dog",), count=2), "a single object"),
        ("paintskills-count", SkillText("spatial", ("dog", "bed"), relation="left"), "one object and no relation"),
        ("paintskills-color", SkillText("object", ("dog",)), "a single object with a colour"),
        ("paintskills-spatial", SkillText("object", ("dog",)), "two objects and one relation between them"),
    ],
)
def test_prompts_of_other_skills_are_refused(name, item, said):
    (info,) = (info for info in t2i_metrics() if info.name == name)
    with pytest.raises(BadPrompts, match=f"^{name}: the prompt '{re.escape(item.id)}' must ask for {said}; use "):
        info.create(Setup(None, info.options())).check([item.prompt()])


def two(counts=(1, 1), relations=((1, "left", 0),)):
    things = tuple(SceneObject(SHAPES[s], count=c) for s, c in zip(("dog", "bed"), counts, strict=True))
    return Prompt("x", "a dog and a bed", Scene(things, tuple(Relation(*r) for r in relations)))


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (two(counts=(2, 1)), "two objects and one relation between them"),
        (two(relations=((1, "left", 0), (1, "near", 0))), "two objects and one relation between them"),
        (two(relations=((1, "near", 0),)), "one of the relations left, right, above, below"),
        (two(relations=()), "two objects and one relation between them"),
    ],
)
def test_other_scenes_of_two_are_refused(prompt, said):
    (info,) = (info for info in t2i_metrics() if info.name == "paintskills-spatial")
    metric = info.create(Setup(None, info.options()))
    metric.check([two(), two(relations=((0, "above", 1),))])
    with pytest.raises(BadPrompts, match=f"'x' must ask for {said}; use "):
        metric.check([prompt])


def test_prompts_that_expect_nothing_or_name_no_skill_are_refused():
    bare = Prompt("x", "a dog")
    by_name = {info.name: info.create(Setup(None, info.options())) for info in t2i_metrics()}
    with pytest.raises(BadPrompts, match="the prompt 'x' must have a scene"):
        by_name["paintskills-object"].check([bare])
    with pytest.raises(BadPrompts, match="the prompt 'x' does not say its skill"):
        by_name["paintskills"].check([bare])


def test_a_skill_that_is_left_out_is_said():
    (info,) = (info for info in t2i_metrics() if info.name == "paintskills")
    metric = info.create(Setup(None, info.options()))
    prompts = [item.prompt() for skill in SKILLS[:3] for item in list(items(skill))[:2]]
    with pytest.raises(BadPrompts, match="averages four skills, but no prompt tests spatial"):
        metric.check(prompts)


@pytest.mark.parametrize(("said", "meant"), [("none", None), ("simulator", "simulator"), (None, None)])
def test_no_upper_bound_can_be_said(said, meant):
    (info,) = (info for info in t2i_metrics() if info.name == "paintskills-object")
    assert info.create(Setup(None, info.options(upper=said))).upper_bound == meant
