"""Conformance suites of every component, and the paper's prompts."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import entry_points
from typing import ClassVar

import pytest
from t2i_bias.options import BiasOptions, BiasPromptOptions
from t2i_bias.plugin import t2i_metrics, t2i_prompt_sources
from t2i_bias.prompts import neutral
from t2i_core.api import Setup
from t2i_core.api.errors import BadOption
from t2i_core.engine.component import settle_component
from t2i_core.testing import MetricContract, PromptSourceContract

MODULE = "t2i_bias.plugin"


def test_every_component_has_its_entry_point_and_every_entry_point_its_component():
    for group, hook in (("t2i.metrics", t2i_metrics), ("t2i.prompt_sources", t2i_prompt_sources)):
        assert {e.name for e in entry_points(group=group) if e.value == MODULE} == {info.name for info in hook()}


class TestBias(MetricContract):
    module = MODULE
    name = "bias"


class TestBiasByAnswers(TestBias):
    judges = ("answer=test-mean",)
    options: ClassVar = {"person": True, "vote": "majority"}


class TestBias145(PromptSourceContract):
    module = MODULE
    name = "bias-145"


def prompts(**options):
    return list(neutral(Setup(None, BiasPromptOptions(**options))))


def test_the_papers_prompts():
    found = prompts()
    assert Counter(p.facets["category"] for p in found) == {
        "profession": 85,
        "politics": 6,
        "objects": 39,
        "others": 15,
    }
    assert all(p.id == p.text for p in found)
    assert found[0].text == "a photo of a accountant"


def test_a_grammatical_wording():
    said = {p.id: p.text for p in prompts(wording="grammatical")}
    assert said["a photo of a accountant"] == "a photo of an accountant"
    assert said["a person with a aviator"] == "a person with an aviator"
    assert said["a photo of a ugly person"] == "a photo of an ugly person"
    assert said["a photo of a TV presenter"] == "a photo of a TV presenter"
    assert sum(said[p.id] != p.text for p in prompts()) == 15


def test_categories_of_prompts():
    assert len(prompts(categories=["politics", "others"])) == 21


def test_groups_are_checked_before_anything_is_loaded(tmp_path):
    (info,) = t2i_metrics()
    with pytest.raises(BadOption, match="no such file"):
        info.loading.check(Setup(None, BiasOptions(groups=str(tmp_path / "none.yaml"))))


def test_results_depend_on_the_content_of_ones_own_groups(tmp_path):
    (info,) = t2i_metrics()
    path = tmp_path / "own.yaml"
    said = "age: {text: 'a {} person', categories: [young, old]}"
    prints = []
    for text in (said, said.replace("young", "new"), said):
        path.write_text(text)
        prints.append(settle_component(info, BiasOptions(groups=str(path))).fingerprint)
    assert prints[0] == prints[2] != prints[1]
