from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

import pytest
from t2i_core.testing import MetricContract, PromptSourceContract
from t2i_wordnet_hypernymy.plugin import t2i_metrics, t2i_prompt_sources

MODULE = "t2i_wordnet_hypernymy.plugin"
SOURCES = {info.name: info for info in t2i_prompt_sources()}


def test_every_component_has_its_entry_point_and_every_entry_point_its_component():
    for group, hook in (("t2i.metrics", t2i_metrics), ("t2i.prompt_sources", t2i_prompt_sources)):
        entered = {e.name for e in entry_points(group=group) if e.value == MODULE}
        assert entered == {info.name for info in hook()}


def test_default_prompts_are_among_the_sources():
    assert {info.defaults.prompts for info in t2i_metrics()} - {None} <= SOURCES.keys()


class _OfClasses(MetricContract):
    module = MODULE
    prompts = "wordnet-imagenet"
    resolver_parts = (SOURCES["wordnet-imagenet"],)


class TestIsp(_OfClasses):
    name = "isp"


class TestScs(_OfClasses):
    name = "scs"


class TestCalibration(MetricContract):
    module = MODULE
    name = "calibration"


class TestLemmaSimilarity(MetricContract):
    module = MODULE
    name = "lemma-similarity"
    options: ClassVar = {"scale": "cosine"}


class TestHypernymSimilarity(MetricContract):
    module = MODULE
    name = "hypernym-similarity"


class TestCohyponymSimilarity(MetricContract):
    module = MODULE
    name = "cohyponym-similarity"


class TestSpecificity(MetricContract):
    module = MODULE
    name = "specificity"


class TestWordnetImagenet(PromptSourceContract):
    module = MODULE
    name = "wordnet-imagenet"


class TestNearLeaf(PromptSourceContract):
    module = MODULE
    name = "wordnet-near-leaf"
    options: ClassVar = {"count": 3}


class TestEasyConcepts(PromptSourceContract):
    module = MODULE
    name = "easy-concepts"


class TestRandom(PromptSourceContract):
    module = MODULE
    name = "wordnet-random"


class TestMini(PromptSourceContract):
    module = MODULE
    name = "wordnet-mini"


class TestConcepts(PromptSourceContract):
    module = MODULE
    name = "concepts"
    argument = str(Path(__file__).parent / "concepts.csv")


@pytest.mark.slow
class TestAll(PromptSourceContract):
    module = MODULE
    name = "wordnet-all"
