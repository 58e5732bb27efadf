from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

import numpy as np
from t2i_core.api import Generated, SelfJudgingInfo, TextAttention
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


class Reader:
    """Draws grey, and answers with vectors that depend on the words alone."""

    def generate(self, requests):
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 90, np.uint8))

    def observe(self, capability, queries):
        for query in queries:
            rng = np.random.default_rng([*"".join(query.texts).encode()])
            yield query, TextAttention.sample(query, rng.normal(size=3).astype(np.float32), ())


READER = SelfJudgingInfo(
    name="reader", summary="Reads.", create=lambda setup: Reader(), capabilities=frozenset({"attention"})
)


class TestObjectAttention(MetricContract):
    module = "t2i_tiam.plugin"
    name = "object-attention"
    model = READER
    prompts = "tiam-5-2"
    resolver_parts = tuple(t2i_prompt_sources())
    options: ClassVar = {"tokens": "last"}


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
