from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

from t2i_core.testing import MetricContract, PromptSourceContract
from t2i_tiam.plugin import t2i_metrics, t2i_prompt_sources


def test_every_component_has_its_entry_point_and_every_entry_point_its_component():
    for group, hook in (("t2i.metrics", t2i_metrics), ("t2i.prompt_sources", t2i_prompt_sources)):
        entered = {e.name for e in entry_points(group=group) if e.value == "t2i_tiam.plugin"}
        assert entered == {info.name for info in hook()}


class TestTiam(MetricContract):
    module = "t2i_tiam.plugin"
    name = "tiam"
    options: ClassVar = {"confidence": 0.4}


class TestTiamByAnswers(TestTiam):
    judges = ("answer=test-mean",)


class TestObjectCosine(MetricContract):
    module = "t2i_tiam.plugin"
    name = "object-cosine"
    prompts = "tiam-5-2"
    resolver_parts = tuple(t2i_prompt_sources())
    options: ClassVar = {"text": "label"}


class TestColouredPrompts(PromptSourceContract):
    module = "t2i_tiam.plugin"
    name = "tiam-color-2"


class TestTemplate(PromptSourceContract):
    module = "t2i_tiam.plugin"
    name = "tiam-template"
    argument = str(Path(__file__).parent / "template.yaml")


def test_every_measure_is_measured_or_aggregated(world):
    info = next(info for info in t2i_metrics() if info.name == "tiam")
    image = world.strip(("car", 0.9, {"red": 9}))
    measured = {r.measure for r in world.rows(world.prompt("red car"), *image)}
    assert {m.name for m in info.measures} == measured | {"binding_per_prompt"}
    assert info.measures[0].name == info.name
    assert info.defaults.prompts in {s.name for s in t2i_prompt_sources()}
