"""The contracts of the metric and of the prompt source, on a benchmark that asks every capability."""

from __future__ import annotations

from typing import ClassVar

import pytest
from t2i_core.testing import MetricContract, PromptSourceContract
from t2i_yaml_benchmarks.plugin import t2i_prompt_sources

BENCHMARK = """\
summary: Every kind of question
prompts:
  - prompt: a photo of a car
    objects: [car]
    kind: one
    questions:
      - {detect: car, category: objects}
      - {text: "Which colour?", choices: [red, blue], answer: red, category: words}
  - prompt: a photo of a dog
    objects: [dog]
    kind: two
questions:
  - {text: 'Does this image show "{prompt}"?', by: probability, category: words}
  - {text: "How good?", choices: [0, 1, 2], values: [0, 0.5, 1], category: look}
  - {classify: car, classes: [car, dog], category: class}
  - {reward: "{prompt}", category: reward}
score:
  weights: {objects: 1, words: 1, look: 1, class: 1, reward: 0.01}
"""


@pytest.fixture(scope="module", autouse=True)
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("benchmark") / "bench.yaml"
    path.write_text(BENCHMARK, encoding="utf-8")
    for suite in (TestMetric, TestPrompts):
        suite.argument = str(path)
    TestMetric.prompts = f"yaml:{path}"


class TestMetric(MetricContract):
    """The contract that every metric must fulfil."""

    module = "t2i_yaml_benchmarks.plugin"
    name = "yaml"
    argument: ClassVar[str | None] = "bench.yaml"
    resolver_parts = (*MetricContract.resolver_parts, *t2i_prompt_sources())


class TestPrompts(PromptSourceContract):
    """The contract that every prompt source must fulfil."""

    module = "t2i_yaml_benchmarks.plugin"
    name = "yaml"
    argument: ClassVar[str | None] = "bench.yaml"
